// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/internal/nodename"
)

// Limits for the path of a node and the number of names in it. A path becomes part of
// keys, whose length stores limit.
const (
	maxPathLength = 4096 // as of files; object stores have shorter ones
	maxPathNames  = 64
)

// checkPath returns an error if path is not a legal path of a node relative to a group:
// names separated by single slashes. Nothing in it can lead out of the group. Whatever
// name a node has that somebody stored is legal here, if JSON can hold it.
func checkPath(path string) error {
	switch {
	case path == "":
		return errors.New("the path of a node below the group must not be empty")
	case len(path) > maxPathLength:
		return fmt.Errorf("path of %d bytes, at most %d are allowed", len(path), maxPathLength)
	// Walks over the tree recurse once for each name.
	case strings.Count(path, "/") >= maxPathNames:
		return fmt.Errorf("path of more than %d names", maxPathNames)
	case !utf8.ValidString(path):
		return errors.New("path is not valid UTF-8")
	}
	for name := range strings.SplitSeq(path, "/") {
		if err := nodename.CheckListed(name); err != nil {
			return err
		}
	}
	return nil
}

// ErrUnusable is the error of an entry of consolidated metadata whose path may be that of
// a node that somebody has stored, but that this library does not use: it reserves a name
// in it, or the path has no text in JSON.
var ErrUnusable = errors.New("metadata: path cannot be used")

type unusable struct{ error }

func (unusable) Is(target error) bool { return target == ErrUnusable }

// CheckPath returns the error with which [NewConsolidated] refuses a path of a node.
func CheckPath(path string) error {
	err := checkPath(path)
	if err != nil && isKey(path) {
		err = unusable{err}
	}
	return err
}

// isKey reports whether something can be stored at a path, on every system.
func isKey(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if nodename.CheckSegment(name) != nil || nodename.LeadsOut(name) {
			return false
		}
	}
	return true
}

// comparePaths orders paths as in a walk over the tree: each node is followed by all
// nodes below it.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return treeOrder(a[i]) - treeOrder(b[i])
		}
	}
	return len(a) - len(b)
}

// treeOrder orders bytes with the slash before all others.
func treeOrder(c byte) int {
	if c == '/' {
		return -1
	}
	return int(c)
}

// below reports whether path lies below the node parent.
func below(path, parent string) bool {
	return len(path) > len(parent) && path[len(parent)] == '/' && path[:len(parent)] == parent
}
