// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
)

// nameOf returns the file name of key, with '/' on every platform. Outside of Windows any
// key is a file name; a file system that does not hold one says so.
func nameOf(key store.Key) (string, error) {
	name := key.String()
	switch {
	case name == "":
		return "", fmt.Errorf("%w: the zero key is no file name", store.ErrInvalidKey)
	case isOwn(name):
		return "", fmt.Errorf("%w: the file store reserves this name", store.ErrInvalidKey)
	case runtime.GOOS == "windows":
		if _, err := filepath.Localize(name); err != nil {
			return "", fmt.Errorf("%w: this platform has no such file name", store.ErrInvalidKey)
		}
		return name, checkWindows(name)
	}
	return name, nil
}

// CheckKey implements [store.KeyChecker]. A file system may hold fewer names.
func (s *Store) CheckKey(key store.Key) error {
	_, err := nameOf(key)
	return err
}

// isOwn reports whether a segment of name belongs to the driver.
func isOwn(name string) bool {
	// Fast path: nearly all names end here.
	if !strings.Contains(name, "__") {
		return false
	}
	for seg := range strings.SplitSeq(name, "/") {
		if own.IsFile(seg) {
			return true
		}
	}
	return false
}

// checkWindows refuses names that Windows would silently change or treat as patterns.
func checkWindows(name string) error {
	for seg := range strings.SplitSeq(name, "/") {
		if strings.HasSuffix(seg, ".") || strings.HasSuffix(seg, " ") || strings.ContainsAny(seg, `<>:"|?*`) {
			return fmt.Errorf("%w: segment %q is not a Windows file name", store.ErrInvalidKey, seg)
		}
	}
	return nil
}

// dirOf returns the file name of a directory.
func dirOf(p store.Path) string {
	if p.IsRoot() {
		return "."
	}
	return p.String()
}

// tooLong converts the error of a name that is too long to [store.ErrInvalidKey].
func tooLong(err error) error {
	if errors.Is(err, syscall.ENAMETOOLONG) {
		return fmt.Errorf("%w: too long for this file system", store.ErrInvalidKey)
	}
	return err
}

// parents yields dir and the directories above it, without the top, deepest first.
func parents(dir string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for ; dir != "."; dir = path.Dir(dir) {
			if !yield(dir) {
				return
			}
		}
	}
}
