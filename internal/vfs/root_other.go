// SPDX-License-Identifier: Apache-2.0

//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package vfs

import (
	"io/fs"
	"path"
	"runtime"
)

// direct fails with [ErrLinked] if dir, or a directory above it, is a symbolic link. This
// platform cannot open directories without following links, so direct examines each one.
// If a link replaces a directory after that, it is followed, but never out of the tree.
func (r *Root) direct(dir string) error {
	root, err := r.plain()
	if err != nil {
		return err
	}
	for ; dir != "."; dir = path.Dir(dir) {
		fi, err := root.Lstat(dir)
		if err != nil {
			return err
		}
		if fi.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 { // a junction of Windows is irregular
			return &fs.PathError{Op: "open", Path: dir, Err: ErrLinked}
		}
	}
	return nil
}

// remove removes the file, symbolic link or empty directory at name. With onlyDir it
// removes only directories.
func (r *Root) remove(name string, onlyDir bool) error {
	root, err := r.plain()
	if err == nil {
		err = r.direct(path.Dir(name))
	}
	if err != nil {
		return err
	}
	// os.Root.Remove also removes files, so check the type first.
	if onlyDir {
		fi, err := root.Lstat(name)
		if err != nil {
			return err
		}
		if !fi.IsDir() {
			return &fs.PathError{Op: "rmdir", Path: name, Err: fs.ErrInvalid}
		}
	}
	return root.Remove(name)
}

// Boot identifies the running kernel. It is unknown on this platform.
func Boot() string { return "" }

// Local implements [FS]. On Windows, servers keep the locks, so they hold for all
// machines.
func (r *Root) Local() bool { return runtime.GOOS == "windows" }
