//go:build !linux

package vfs

import (
	"io/fs"
	"os"
	"syscall"
)

// opener has no faster ways than those of os.Root here.
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
func (opener) stat(string) (s Stat, ok bool, err error)        { return s, false, nil }
func (opener) openDir(string) (f *os.File, ok bool, err error) { return nil, false, nil }
func (opener) openDirect(string) (fd int, ok bool)             { return 0, false }
func (o opener) close() error                                  { return o.dir.Close() }
