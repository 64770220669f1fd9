// Package own has the names that Varve keeps for itself below a node and in attributes.
//
// Every other name that begins with two underscores is an ordinary name of a node in
// format 2. Format 3 reserves the prefix (zarr-specs v3 core, "Node names"): such nodes
// are read, copied and converted, because zarr-python writes them, and are not created.
package own

import "strings"

// The names.
const (
	// Dir is the directory below a node of journals, of reservations, and of chunks put
	// aside.
	Dir = "__varve"
	// Pending is the file in that directory that says which change of several nodes this
	// one is part of, or which reservation it has.
	Pending = "pending.json"
	// Lock is the file that a writer of a node locks.
	Lock = "__varve.lock"
	// Publish is the file that a conditional write of a value beside it locks for a
	// moment.
	Publish = "__varve.publish"
	// Temporary begins the name of a value that is being written.
	Temporary = "__tmp-"
)

// GrowthAttribute is the attribute with the policy by which the chunks of an array grow.
const GrowthAttribute = "varve:growth"

// reserved is what all names begin with that format 3 reserves.
const reserved = "__"

// Is reports whether Varve keeps a name, one segment of a key, for itself.
func Is(name string) bool {
	return strings.HasPrefix(name, reserved) &&
		(name == Dir || name == Lock || name == Publish || strings.HasPrefix(name, Temporary))
}

// Reserved reports whether format 3 reserves a name, one segment of a path.
func Reserved(name string) bool { return strings.HasPrefix(name, reserved) }
