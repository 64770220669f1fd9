// SPDX-License-Identifier: Apache-2.0

// Package nodename has the rules for the segments of keys and for the names of nodes, and
// the names of the metadata documents. Packages store and metadata share it.
package nodename

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"varve.dev/zarr/internal/own"
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
// segment cannot leave its directory on any store or operating system.
func CheckSegment(seg string) error {
	switch {
	case seg == "":
		return errors.New("empty segment (a slash too many)")
	case seg == "." || seg == "..":
		return fmt.Errorf("segment %q leads out of its directory", seg)
	// On Windows, C: leads to another drive.
	case len(seg) >= 2 && seg[1] == ':' && isLetter(seg[0]):
		return fmt.Errorf("segment %q looks like a drive", seg)
	case strings.ContainsFunc(seg, isIllegal):
		return fmt.Errorf("segment %q has a control character or a backslash", seg)
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

// isIllegal reports whether r is illegal in keys. A backslash separates names on Windows.
func isIllegal(r rune) bool { return unicode.IsControl(r) || r == '\\' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// Check returns an error if name is not a legal name of a node (zarr-specs v3 core, "Node
// names"), or if Varve reserves it. A legal name is also a legal segment.
func Check(name string) error {
	switch {
	case name == "":
		return errors.New("a node name must not be empty; there is a slash too many")
	case strings.Trim(name, ".") == "":
		return fmt.Errorf("node name %q is made of periods only", name)
	case own.Is(name):
		return fmt.Errorf("node name %q is reserved by Varve", name)
	case name == V3Node:
		return fmt.Errorf("a node must not be named %q", name)
	}
	return CheckSegment(name)
}
