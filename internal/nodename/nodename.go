// SPDX-License-Identifier: Apache-2.0

// Package nodename has the rules for the segments of keys and for the names of nodes, and
// the names of the metadata documents. Packages store and metadata share it.
package nodename

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
)

// The names of the metadata documents of a node.
const (
	V3Node         = "zarr.json"
	V2Array        = ".zarray"
	V2Group        = ".zgroup"
	V2Attributes   = ".zattrs"
	V2Consolidated = ".zmetadata"
)

// IsDocument reports whether name is that of a metadata document of either format.
func IsDocument(name string) bool {
	switch name {
	case V3Node, V2Array, V2Group, V2Attributes, V2Consolidated:
		return true
	}
	return false
}

// CheckSegment returns an error if seg is not legal between two slashes of a key. A legal
// segment cannot leave its directory. Other programs store values under any such name,
// also one that is no text; a driver refuses what its place cannot hold.
func CheckSegment(seg string) error {
	switch {
	case seg == "":
		return errors.New("empty segment (a slash too many)")
	case seg == "." || seg == "..":
		return fmt.Errorf("segment %q leads out of its directory", seg)
	case strings.Contains(seg, "\x00"):
		return fmt.Errorf("segment %q has a zero byte", seg)
	}
	return nil
}

// IsPlain reports whether all segments of key consist only of letters, digits, '_', '-'
// and, after the first byte, '.'. These are always legal. Most keys are of this form, and
// this check is fast.
func IsPlain(key string) bool {
	length := 0 // of the segment
	for i := range len(key) {
		switch c := key[i]; {
		case plain[c], c == '.' && length > 0:
			length++
		case c == '/' && length > 0:
			length = 0
		default:
			return false
		}
	}
	return length > 0
}

// plain has the bytes that are legal anywhere in a segment.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = isLetter(byte(c)) || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	return t
}()

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// CheckPath returns an error if name, one segment of a key, cannot be that of a node that
// somebody has stored. A legal name is also a legal segment.
func CheckPath(name string) error {
	if name == own.Dir {
		return fmt.Errorf("node name %q is reserved by Varve", name)
	}
	return CheckSegment(name)
}

// CheckListed returns an error if name must not be that of a node in consolidated
// metadata. That comes from anywhere and is no listing of what is stored, so a name that
// would lead out of its directory on Windows is refused on every system.
func CheckListed(name string) error {
	if strings.Trim(name, ".") == "" || name == V3Node {
		return CheckNew(name)
	}
	if LeadsOut(name) {
		return fmt.Errorf("node name %q leads out of its directory where a backslash separates names", name)
	}
	return CheckPath(name)
}

// LeadsOut reports whether a program for Windows, where a backslash separates names too
// and c: is a drive, may take a name of one or more segments for a place outside the
// directory that the name is in, or for that of another name.
func LeadsOut(name string) bool {
	parts := strings.Split(strings.ReplaceAll(name, `\`, "/"), "/")
	for i, part := range parts {
		drive := i == 0 && len(parts) > 1 && len(part) == 2 && part[1] == ':' && isLetter(part[0])
		if part == "" || part == "." || part == ".." || drive {
			return true
		}
	}
	return false
}

// CheckNew returns an error if a new node must not have the name: it is no legal name of
// a node (zarr-specs v3 core, "Node names"), Varve reserves it, or it is no text that a
// terminal shows and that every place can hold.
func CheckNew(name string) error {
	switch {
	case name == "":
		return errors.New("a node name must not be empty; there is a slash too many")
	case strings.Trim(name, ".") == "":
		return fmt.Errorf("node name %q is made of periods only", name)
	case own.IsReserved(name):
		return fmt.Errorf("node name %q is reserved by Varve", name)
	case name == V3Node:
		return fmt.Errorf("a node must not be named %q", name)
	case !utf8.ValidString(name):
		return fmt.Errorf("node name %q is not valid UTF-8", name)
	case strings.Contains(name, "/"):
		return fmt.Errorf("node name %q has a slash", name)
	// A backslash separates names on Windows.
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '\\' }):
		return fmt.Errorf("node name %q has a control character or a backslash", name)
	}
	return CheckPath(name)
}

// Limits for the path of a node and the number of names in it. A path becomes part of
// keys, whose length stores limit.
const (
	maxPathLength = 4096 // as of files; object stores have shorter ones
	maxPathNames  = 64
)

// ErrUnusable is the error for a path that may be that of a stored node, but that this
// library does not use: the library reserves a name in the path, or the path has no text
// in JSON.
var ErrUnusable = errors.New("metadata: path cannot be used")

type unusable struct{ error }

func (unusable) Is(target error) bool { return target == ErrUnusable }

// CheckBelow returns an error if path is not a legal path of a node relative to a group:
// names separated by single slashes. No name in it can lead out of the group. Any
// name under which a program can store a node is legal here, if JSON can hold the name.
func CheckBelow(path string) error {
	err := checkBelow(path)
	if err != nil && isKey(path) {
		err = unusable{err}
	}
	return err
}

func checkBelow(path string) error {
	switch {
	case path == "":
		return errors.New("the path of a node below the group must not be empty")
	case len(path) > maxPathLength:
		return fmt.Errorf("path of %s, at most %d are allowed", quantity.Count(len(path), "bytes"), maxPathLength)
	// Walks over the tree recurse once for each name.
	case strings.Count(path, "/") >= maxPathNames:
		return fmt.Errorf("path of more than %s", quantity.Count(maxPathNames, "names"))
	case !utf8.ValidString(path):
		return errors.New("path is not valid UTF-8")
	}
	for name := range strings.SplitSeq(path, "/") {
		if err := CheckListed(name); err != nil {
			return err
		}
	}
	return nil
}

// isKey reports whether something can be stored at a path, on every system.
func isKey(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if CheckSegment(name) != nil || LeadsOut(name) {
			return false
		}
	}
	return true
}
