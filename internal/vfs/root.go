package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Root is a directory of this machine, reached through [os.Root]: no name leads out of it,
// and symbolic links are followed only where they stay inside.
type Root struct {
	root *os.Root
	fast opener
}

// OpenRoot opens the directory dir.
func OpenRoot(dir string) (*Root, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	fast, err := newOpener(r)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &Root{r, fast}, nil
}

// MakeRoot opens the directory dir after it made it, and the directories above it, durably where they were missing.
func MakeRoot(dir string) (*Root, error) {
	if err := makeDurable(filepath.Clean(dir)); err != nil {
		return nil, err
	}
	return OpenRoot(dir)
}

func makeDurable(dir string) error {
	parent := filepath.Dir(dir)
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrNotExist) && parent != dir {
		if err := makeDurable(parent); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o777)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	f, err := os.Open(parent)
	if err != nil {
		return err
	}
	return errors.Join(osFile{f}.Sync(), f.Close())
}

// Open implements [FS].
func (r *Root) Open(name string) (File, error) {
	if f, ok, err := r.fast.open(name); ok {
		return f, err
	}
	return r.openPlain(name)
}

// openPlain is Open on every platform; the fast way falls back on it.
func (r *Root) openPlain(name string) (File, error) {
	f, err := r.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Create implements [FS].
func (r *Root) Create(name string) (File, error) {
	f, err := r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Stat implements [Tree].
func (r *Root) Stat(name string) (Stat, error) {
	fi, err := r.root.Stat(name)
	if err != nil {
		return Stat{}, err
	}
	return StatOf(fi), nil
}

// readDirBatch is how many entries are read at once, so that a huge directory is never held whole.
const readDirBatch = 512

// ReadDir implements [Tree].
func (r *Root) ReadDir(name string) iter.Seq2[fs.DirEntry, error] {
	return func(yield func(fs.DirEntry, error) bool) {
		f, err := r.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		for {
			entries, err := f.ReadDir(readDirBatch)
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				if err != io.EOF {
					yield(nil, err)
				}
				return
			}
		}
	}
}

// Mkdir implements [FS].
func (r *Root) Mkdir(name string) error { return r.root.Mkdir(name, 0o777) }

// Touch implements [FS].
func (r *Root) Touch(name string, mtime int64) error {
	return r.root.Chtimes(name, time.Time{}, time.Unix(0, mtime))
}

// Rename implements [FS].
func (r *Root) Rename(from, to string) error { return r.root.Rename(from, to) }

// Remove implements [FS].
func (r *Root) Remove(name string) error { return r.root.Remove(name) }

// RemoveDir implements [FS].
func (r *Root) RemoveDir(name string) error { return removeDir(r.root, name) }

// TryLock implements [FS]. What is locked may be moved or removed before the lock is had, so it is looked up again.
func (r *Root) TryLock(name string) (unlock func() error, err error) {
	f, target, err := openLockable(r.root, name)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	held, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	now, err := r.root.Stat(target)
	if err != nil || !os.SameFile(held, now) {
		return nil, errors.Join(fmt.Errorf("%w: %s was replaced", ErrLocked, name), f.Close())
	}
	return f.Close, nil
}

// Close implements [FS].
func (r *Root) Close() error { return errors.Join(r.fast.close(), r.root.Close()) }

// osFile is a file of package os.
type osFile struct{ *os.File }

// CopyFrom implements [File]. What the kernel does not copy is copied plainly, which also tells why it could not be.
func (f osFile) CopyFrom(src File, off, n int64) error {
	done := copyRange(f.File, src, off, n)
	return copyPlain(f.File, src, off+done, n-done)
}

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
