// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// opener has no fast path on this platform.
type opener struct{ dir *os.Root }

func newOpener(dir string) (opener, error) {
	fi, err := os.Stat(dir)
	if err != nil {
		return opener{}, err
	}
	if !fi.IsDir() {
		return opener{}, &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	r, err := os.OpenRoot(dir)
	return opener{r}, err
}

func (o opener) root() (*os.Root, error)                       { return o.dir, nil }
func (opener) open(string) (f File, ok bool, err error)        { return nil, false, nil }
func (opener) openUnlinked(string) File                        { return nil }
func (opener) stat(string) (s Stat, ok bool, err error)        { return s, false, nil }
func (opener) openDir(string) (f *os.File, ok bool, err error) { return nil, false, nil }
func (opener) openDirect(string) (fd int, ok bool)             { return 0, false }
func (opener) isUnlinked(string) bool                          { return false }
func (opener) create(string) (f File, ok bool, err error)      { return nil, false, nil }
func (opener) mkdir(string) (ok bool, err error)               { return false, nil }
func (opener) touch(string, int64) (ok bool, err error)        { return false, nil }
func (opener) rename(from, to string) (ok bool, err error)     { return false, nil }
func (opener) link(from, to string) (s Stat, ok bool, err error) {
	return s, false, nil
}
func (opener) readlink(string) (to string, ok bool, err error) { return "", false, nil }
func (o opener) close() error                                  { return o.dir.Close() }

func makeDir(dir string) error             { return os.Mkdir(dir, 0o777) }
func openTop(dir string) (*os.File, error) { return os.Open(dir) }

// readDirBatch is the number of entries that are read at once. A huge directory is never
// in memory as a whole.
const readDirBatch = 512

// readDir reads the next entries of the open directory name.
func (r *Root) readDir(f *os.File, _ string) ([]fs.DirEntry, error) { return f.ReadDir(readDirBatch) }

// Stat implements [File].
func (f osFile) Stat() (Stat, error) {
	fi, err := f.File.Stat()
	if err != nil {
		return Stat{}, err
	}
	return StatOf(fi), nil
}

// Sync implements [File]. Windows has no sync of directories.
func (f osFile) Sync() error {
	if runtime.GOOS == "windows" {
		if fi, err := f.File.Stat(); err == nil && fi.IsDir() {
			return nil
		}
	}
	return f.File.Sync()
}

// copyRange copies nothing on this platform. The caller copies all bytes.
func copyRange(*os.File, File, int64, int64) (done int64) { return 0 }

// share is not available on this platform.
func share(*os.File, File) error { return errors.ErrUnsupported }

// isFile reports whether a path of this machine is a regular file, or a link to one.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
