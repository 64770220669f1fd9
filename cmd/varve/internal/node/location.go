// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"path/filepath"
	"strings"

	"varve.dev/zarr"
)

// RootOf returns the location of the store's root, given array a at a location.
func RootOf(location string, a *zarr.Array) string {
	return strings.TrimSuffix(Clean(location), "/"+a.Path())
}

// LocalPath returns the path of a location in the file system.
func LocalPath(location string) string {
	if path, err := filepath.Abs(strings.TrimPrefix(location, "file://")); err == nil {
		return path
	}
	return location
}

// Exists reports whether a file or folder exists.
func Exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// IsLocation reports whether a source of values is an array rather than a file of
// elements: a URL, a folder, an archive, references or a file of another format, or a
// path in one of these.
func IsLocation(source string) bool {
	if source == "" || source == "-" {
		return false
	}
	if strings.Contains(source, "://") {
		return true
	}
	if IsForeign(source) {
		return true
	}
	if info, err := os.Stat(source); err == nil {
		return info.IsDir() || strings.EqualFold(filepath.Ext(source), ".zip")
	}
	return strings.Contains(source, ".zip/") || isBelowReferences(source)
}

// Clean returns a location without trailing slashes, so that equal locations compare
// equal.
func Clean(location string) string { return strings.TrimRight(location, "/") }

// Beside returns the location of the coordinate name beside a node. A name with a slash
// is a location itself.
func Beside(location, name string) string {
	if strings.Contains(name, "/") {
		return Clean(name)
	}
	location = Clean(location)
	return location[:strings.LastIndexByte(location, '/')+1] + name
}
