// SPDX-License-Identifier: Apache-2.0

//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package vfs

import (
	"io/fs"
	"path"
)

// direct fails with [ErrLinked] if a symbolic link is on the way to a directory. This
// platform cannot open directories without following links, so direct examines each one.
// A directory that is replaced by a link after that is followed, but never out of the
// tree.
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

// remove removes what is at name.
func (r *Root) remove(name string, onlyDir bool) error {
	root, err := r.plain()
	if err == nil {
		err = r.direct(path.Dir(name))
	}
	if err != nil {
		return err
	}
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
