// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"io/fs"
	"iter"
	"sync/atomic"
)

// Op is one operation of an [FS] or of one of its files: the method in lower case, and
// the name of the file.
type Op struct{ Kind, Name string }

// Hook returns an FS that calls before, then the operation of f. If before fails, the
// operation returns that error without calling f. Close always calls f, so that nothing
// leaks.
func Hook(f FS, before func(Op) error) FS { return hooked{f, before} }

// ErrStopped is the error of every operation after the power cut of [StopAt].
var ErrStopped = errors.New("vfs: the machine has stopped")

// StopAt returns a function for [Hook] that fails operation n, counted from 0, and
// all later ones with [ErrStopped]. stopped reports whether operation n was
// reached.
func StopAt(n int64) (before func(Op) error, stopped func() bool) {
	var seen atomic.Int64
	before = func(Op) error {
		if seen.Add(1) > n {
			return ErrStopped
		}
		return nil
	}
	return before, func() bool { return seen.Load() > n }
}

// FailAt returns a function for [Hook] that fails only operation n, counted from 0, with
// err. failed reports whether operation n was reached.
func FailAt(n int64, err error) (before func(Op) error, failed func() bool) {
	var seen atomic.Int64
	before = func(Op) error {
		if seen.Add(1) == n+1 {
			return err
		}
		return nil
	}
	return before, func() bool { return seen.Load() > n }
}

type hooked struct {
	fs     FS
	before func(Op) error
}

func (h hooked) Open(name string) (File, error)   { return h.file("open", name, h.fs.Open) }
func (h hooked) Create(name string) (File, error) { return h.file("create", name, h.fs.Create) }

func (h hooked) file(kind, name string, open func(string) (File, error)) (File, error) {
	if err := h.before(Op{kind, name}); err != nil {
		return nil, err
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	return hookedFile{f, name, h.before}, nil
}

// run calls do, unless before fails.
func (h hooked) run(kind, name string, do func() error) error {
	if err := h.before(Op{kind, name}); err != nil {
		return err
	}
	return do()
}

func (h hooked) Stat(name string) (s Stat, err error) {
	err = h.run("stat", name, func() error { s, err = h.fs.Stat(name); return err })
	return s, err
}

func (h hooked) Readlink(name string) (target string, err error) {
	err = h.run("readlink", name, func() error { target, err = h.fs.Readlink(name); return err })
	return target, err
}

func (h hooked) ReadDir(name string) iter.Seq2[fs.DirEntry, error] {
	if err := h.before(Op{"readdir", name}); err != nil {
		return func(yield func(fs.DirEntry, error) bool) { yield(nil, err) }
	}
	return h.fs.ReadDir(name)
}

func (h hooked) Mkdir(name string) error {
	return h.run("mkdir", name, func() error { return h.fs.Mkdir(name) })
}

func (h hooked) Touch(name string, mtime int64) error {
	return h.run("touch", name, func() error { return h.fs.Touch(name, mtime) })
}

func (h hooked) Rename(from, to string) error {
	return h.run("rename", to, func() error { return h.fs.Rename(from, to) })
}

func (h hooked) Link(from, to string) (s Stat, err error) {
	err = h.run("link", to, func() error { s, err = h.fs.Link(from, to); return err })
	return s, err
}

func (h hooked) Remove(name string) error {
	return h.run("remove", name, func() error { return h.fs.Remove(name) })
}

func (h hooked) RemoveDir(name string) error {
	return h.run("removedir", name, func() error { return h.fs.RemoveDir(name) })
}

func (h hooked) TryLock(name string) (File, error) { return h.file("lock", name, h.fs.TryLock) }

func (h hooked) Local() bool { return h.fs.Local() }

func (h hooked) Close() error { return h.fs.Close() }

type hookedFile struct {
	file   File
	name   string
	before func(Op) error
}

func (f hookedFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.before(Op{"read", f.name}); err != nil {
		return 0, err
	}
	return f.file.ReadAt(p, off)
}

// Write writes half of p if before fails, as a full disk does.
func (f hookedFile) Write(p []byte) (int, error) {
	if err := f.before(Op{"write", f.name}); err != nil {
		// Leave a torn file behind, which callers must not publish.
		n, _ := f.file.Write(p[:len(p)/2])
		return n, err
	}
	return f.file.Write(p)
}

func (f hookedFile) Share(src File) error {
	if err := f.before(Op{"share", f.name}); err != nil {
		return err
	}
	return f.file.Share(unhooked(src))
}

// unhooked returns the file below the hooks.
func unhooked(f File) File {
	if h, ok := f.(hookedFile); ok {
		return h.file
	}
	return f
}

// CopyFrom copies half of the bytes if before fails.
func (f hookedFile) CopyFrom(src File, off, n int64) error {
	// The file below knows only files of its own kind.
	src = unhooked(src)
	if err := f.before(Op{"copy", f.name}); err != nil {
		_ = f.file.CopyFrom(src, off, n/2)
		return err
	}
	return f.file.CopyFrom(src, off, n)
}

func (f hookedFile) Stat() (Stat, error) {
	if err := f.before(Op{"fstat", f.name}); err != nil {
		return Stat{}, err
	}
	return f.file.Stat()
}

func (f hookedFile) Sync() error {
	if err := f.before(Op{"sync", f.name}); err != nil {
		return err
	}
	return f.file.Sync()
}

func (f hookedFile) Close() error { return f.file.Close() }
