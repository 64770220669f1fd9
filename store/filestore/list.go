// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// List implements [store.Lister]. Without versions sizes are -1, because a size would
// cost a system call for each file. It also yields empty directories, which only other
// programs leave. A deep listing follows symbolic links to directories. A link below
// another link is an error, because a few such links make more keys than can be listed.
// Links that are broken, absolute, or lead out of the store or to a directory above
// cannot be used.
func (s *files) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for item, err := range vfs.Walk(ctx, s.fs, dirOf(dir), how&store.Deep != 0, fate) {
			e := store.Entry{Name: below(dir, item.Name), Dir: item.Dir, Size: -1, Unusable: item.Odd}
			if err == nil && item.Odd == "" && how&store.WithVersions != 0 {
				if err = describeEntry(item, &e); vfs.Missing(err) {
					continue
				}
			}
			if err != nil {
				yield(store.Entry{}, fail("listing", dir.String(), err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// describeEntry adds size and version to the entry of a value. The error is
// [fs.ErrNotExist] if the value was deleted since it was listed.
func describeEntry(item vfs.Item, e *store.Entry) error {
	if item.Dir {
		return nil
	}
	st, err := item.Stat()
	if err == nil {
		err = checkRegular(st) // a directory may have replaced the file
	}
	if err == nil {
		info := describe(st)
		e.Size, e.Version, e.Modified, e.FileTime = info.Size, info.Version, info.Modified, info.FileTime
	}
	return err
}

// below returns a name below dir relative to dir.
func below(dir store.Path, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, dir.String()), "/")
}

// fate hides the files that the driver needs for itself. A directory with such a name is
// not its own, nor is a file that only begins like a temporary one: they are not hidden,
// but the store cannot use them.
func fate(name string, dir bool) vfs.Fate {
	switch base := path.Base(name); {
	case !isOwn(name):
		if _, err := nameOf(store.MustKey(name)); err != nil {
			return vfs.Refuse // Windows has such names, and does not open them by these
		}
		return vfs.Take
	case dir && base != own.Writers && own.IsFile(base), !dir && strings.HasPrefix(base, own.Temporary) && !own.IsTemporary(base):
		return vfs.Refuse
	}
	return vfs.Hide
}

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

// CheckKey implements [store.Describer]. A file system may hold fewer names.
func (s *files) CheckKey(key store.Key) error {
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
