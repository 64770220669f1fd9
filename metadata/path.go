package metadata

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/internal/own"
)

// Limits for the path of a node and the number of names in it. A path becomes part of
// keys, whose length stores limit.
const (
	maxPathLength = 1000
	maxPathNames  = 64
)

// checkPath returns an error if path is not a legal path of a node relative to a group:
// names separated by single slashes (zarr-specs v3.1 core, "Node names"). It also refuses
// whatever could lead out of the group on any store.
func checkPath(path string) error {
	switch {
	case path == "":
		return errors.New("the path of a node below the group must not be empty")
	case len(path) > maxPathLength:
		return fmt.Errorf("path of %d bytes, at most %d are allowed", len(path), maxPathLength)
	case strings.Count(path, "/") >= maxPathNames:
		return fmt.Errorf("path of more than %d names", maxPathNames)
	case !utf8.ValidString(path):
		return errors.New("path is not valid UTF-8")
	}
	for name := range strings.SplitSeq(path, "/") {
		if err := checkName(name); err != nil {
			return err
		}
	}
	return nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("a node name must not be empty; there is a slash too many")
	// The name .. would lead out of the group.
	case strings.Trim(name, ".") == "":
		return fmt.Errorf("node name %q is made of periods only", name)
	case own.Is(name):
		return fmt.Errorf("node name %q is reserved: Varve keeps it for itself", name)
	case name == "zarr.json":
		return fmt.Errorf("a node must not be named %q", name)
	// On Windows a path that begins with C: leads to another drive.
	case len(name) >= 2 && name[1] == ':' && isLetter(name[0]):
		return fmt.Errorf("node name %q looks like a drive", name)
	case strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\\' }):
		return fmt.Errorf("node name %q has a control character or a backslash", name)
	}
	return nil
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

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
