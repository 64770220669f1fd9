// SPDX-License-Identifier: Apache-2.0

// Package own has the names that Varve reserves for itself, in directories and in
// attributes. No other package spells them.
//
// Every other name that begins with two underscores is an ordinary node name in format 2.
// Format 3 reserves the prefix (zarr-specs v3 core, "Node names"). Varve reads, copies
// and converts such nodes, because zarr-python writes them, but does not create them.
package own

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The names of files and directories.
const (
	// Dir is the directory below a node that holds journals, reservations and chunks set
	// aside.
	Dir = "__varve"
	// Pending is the pointer: the file in Dir that names the journal of an unfinished
	// change, or the reservation of the node.
	Pending = "pending.json"
	// Statistics is the array below a node that says what each of its chunks holds
	// (docs/statistics.md).
	Statistics = Dir + "/" + statistics
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

// ManifestSuffix ends the name of the folder of a manifest of references.
const ManifestSuffix = ".vz"

// ManifestDocument is the key of the document of a manifest of references, in its folder.
const ManifestDocument = "manifest.json"

// Archives are the endings of the names of zip archives: of any, and of those of OME-Zarr
// (RFC-9).
var Archives = []string{".zip", OMEArchive}

// OMEArchive ends the name of an archive with one hierarchy of OME-Zarr.
const OMEArchive = ".ozx"

// IsArchive reports whether a name ends as that of an archive.
func IsArchive(name string) bool { return EndsIn(name, Archives...) }

// EndsIn reports whether a name ends in one of some suffixes, in capitals or not, and has
// something before.
func EndsIn(name string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool {
		before := len(name) - len(s)
		return before > 0 && strings.EqualFold(name[before:], s)
	})
}

// reserved is the prefix that format 3 reserves.
const reserved = "__"

// IsReserved reports whether Varve reserves name, one segment of a key.
func IsReserved(name string) bool { return name == Dir || IsFile(name) }

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

// directories and files are the names that Varve writes directly in Dir. Names of
// journals begin with together.
var (
	directories = []string{"aside", "converting", "filter", "follow", "grids", "merged", "parts", "regrid", "scratch", statistics}
	files       = []string{Pending, "pyramid.json", "regrid.json", "unfinished.json"}
	documents   = []string{".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json"}
)

const (
	together   = "together-"
	statistics = "statistics"
)

// Foreign is why something in a directory of Varve cannot be used that Varve has not
// written, such as a node of another program.
const Foreign = "it is of another program, in a directory that Varve reserves"

// IsForeign reports whether key, which has a slash at its end if it is that of a
// directory, lies in a directory named Dir and is of another program: Dir is an ordinary
// name of a node in format 2.
func IsForeign(key string) bool {
	if !IsBelow(key) {
		return false
	}
	_, rest, _ := strings.Cut("/"+key, "/"+Dir+"/")
	first, _, isDir := strings.Cut(rest, "/")
	switch {
	case rest == "" || rest == statistics+"/zarr.json":
		return false
	case slices.Contains(documents, path.Base(rest)):
		return true
	case isDir:
		return !slices.Contains(directories, first)
	}
	return !slices.Contains(files, first) && !strings.HasPrefix(first, together)
}

// randomDigits is the number of digits of [Random].
const randomDigits = 13

// Random returns a random name that [IsTemporary] tells from a word: the first of its 13
// digits of base 36 is at most 3, because all of them are 64 bits.
func Random() string {
	return fmt.Sprintf("%0*s", randomDigits, strconv.FormatUint(rand.Uint64(), 36))
}

// IsTemporary reports whether name is one that the stores of this module give to a file
// that is being written, or to the lock of such a file: Temporary and Random, and then
// maybe the number of a file of this writer, or a suffix after a period. Other programs
// have files whose names only begin with Temporary.
func IsTemporary(name string) bool {
	id, ok := strings.CutPrefix(name, Temporary)
	if !ok || len(id) < randomDigits || !isBase36(id[:randomDigits]) {
		return false
	}
	rest := id[randomDigits:]
	number, numbered := strings.CutPrefix(rest, "-")
	return rest == "" || rest == ZipLock || numbered && number != "" && isBase36(number)
}

// ZipLock ends the name of the file that the writer of an archive locks.
const ZipLock = ".zip-lock"

// isBase36 reports whether text is a number of 64 bits.
func isBase36(text string) bool {
	_, err := strconv.ParseUint(text, 36, 64)
	return err == nil && strings.ToLower(text) == text && text[0] != '+'
}

// Reserved reports whether format 3 reserves name, one segment of a path.
func Reserved(name string) bool { return strings.HasPrefix(name, reserved) }

// BytesByField is the name of a codec like "bytes" for structs whose fields have
// different byte orders, which format 2 allows. Its member "endian" lists the byte
// orders. The codec does not exist in format 3 and never appears in a document.
const BytesByField = "varve.bytes_by_field"
