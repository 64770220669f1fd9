// SPDX-License-Identifier: Apache-2.0

// Package own has the names that Varve reserves for itself, in directories and in
// attributes. No other package spells them.
//
// Every other name that begins with two underscores is an ordinary node name in format 2.
// Format 3 reserves the prefix (zarr-specs v3 core, "Node names"). Varve reads, copies
// and converts such nodes, because zarr-python writes them, but does not create them.
package own

import "strings"

// The names of files and directories.
const (
	// Dir is the directory below a node that holds journals, reservations and chunks set
	// aside.
	Dir = "__varve"
	// Pending is the pointer: the file in Dir that names the journal of an unfinished
	// change, or the reservation of the node.
	Pending = "pending.json"
	// Lock is the file that a writer of a node locks during a change.
	Lock = "__varve.lock"
	// Publish is the file that a conditional write locks, in the directory of the key,
	// while it checks the condition and changes the value.
	Publish = "__varve.publish"
	// Temporary begins the name of a value that is being written.
	Temporary = "__tmp-"
	// Writers is the directory that has one locked file for each running writer.
	Writers = Temporary + "writers"
)

// Growth is the attribute that has the growth policy of an array.
const Growth = Attributes + "growth"

// Follow is the attribute of an array that follows another one. It names the record of
// what the array was made from.
const Follow = Attributes + "follow"

// Pyramid is the attribute of a level of a pyramid that says how it was made.
const Pyramid = Attributes + "pyramid"

// Attributes begins the names of the attributes of Varve.
const Attributes = "varve:"

// reserved is the prefix that format 3 reserves.
const reserved = "__"

// Is reports whether Varve reserves name, one segment of a key.
func Is(name string) bool { return name == Dir || IsFile(name) }

// IsFile reports whether name, one segment of a key, belongs to the file store: such a
// name is never that of a value.
func IsFile(name string) bool {
	return strings.HasPrefix(name, reserved) &&
		(name == Lock || name == Publish || strings.HasPrefix(name, Temporary))
}

// IsBelow reports whether key lies in a directory named Dir.
func IsBelow(key string) bool {
	return strings.HasPrefix(key, Dir+"/") || strings.Contains(key, "/"+Dir+"/")
}

// Reserved reports whether format 3 reserves name, one segment of a path.
func Reserved(name string) bool { return strings.HasPrefix(name, reserved) }
