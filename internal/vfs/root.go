// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Root is a directory of this machine, accessed as by [os.Root]: no name leads out of it,
// and symbolic links are followed only if they stay inside.
type Root struct {
	fast opener

	mu   sync.Mutex // held while root is opened or closed
	root atomic.Pointer[os.Root]
}

// OpenRoot opens the directory dir. It does not block if dir is something else, such as a
// named pipe.
func OpenRoot(dir string) (*Root, error) {
	fast, err := newOpener(dir)
	if err != nil {
		return nil, err
	}
	return &Root{fast: fast}, nil
}

// plain returns the directory as an [os.Root]. It is opened at the first use, because
// readers rarely need it.
func (r *Root) plain() (*os.Root, error) {
	if root := r.root.Load(); root != nil {
		return root, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// Another goroutine may have opened it while this one waited.
	if root := r.root.Load(); root != nil {
		return root, nil
	}
	root, err := r.fast.root()
	if err != nil {
		return nil, err
	}
	r.root.Store(root)
	return root, nil
}

// usePlain calls do with the directory as an [os.Root].
func (r *Root) usePlain(do func(*os.Root) error) error {
	root, err := r.plain()
	if err != nil {
		return err
	}
	return do(root)
}

// MakeRoot opens the directory dir. It first makes dir and the directories above it,
// durably, if they are missing.
func MakeRoot(dir string) (*Root, error) {
	if err := makeDurable(filepath.Clean(dir)); err != nil {
		return nil, err
	}
	return OpenRoot(dir)
}

func makeDurable(dir string) error {
	parent := filepath.Dir(dir)
	err := makeDir(dir)
	// Make the directory above first, so that no durable name depends on one that is not.
	if errors.Is(err, fs.ErrNotExist) && parent != dir {
		if err := makeDurable(parent); err != nil {
			return err
		}
		err = makeDir(dir)
	}
	switch {
	// It exists, or another program has just made it.
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	f, err := openTop(parent) // the new name is durable once its directory is synced
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

// OpenUnlinked opens the file name if no symbolic link leads to it. It returns nil if it
// cannot, for whatever reason; then [Root.Open] decides.
func (r *Root) OpenUnlinked(name string) File { return r.fast.openUnlinked(name) }

// openPlain is Open without the fast path.
func (r *Root) openPlain(name string) (File, error) { return r.openFile(name, os.O_RDONLY|nonblock) }

func (r *Root) openFile(name string, flag int) (File, error) {
	root, err := r.plain()
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, flag, 0o666)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Create implements [FS].
func (r *Root) Create(name string) (File, error) {
	if f, ok, err := r.fast.create(name); ok {
		return f, err
	}
	return r.createPlain(name)
}

// createPlain is Create without the fast path.
func (r *Root) createPlain(name string) (File, error) {
	// os.Root follows links that stay inside the tree. Changes must not follow any.
	if err := r.direct(path.Dir(name)); err != nil {
		return nil, err
	}
	return r.openFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
}

// Stat implements [Tree].
func (r *Root) Stat(name string) (Stat, error) {
	if s, ok, err := r.fast.stat(name); ok {
		return s, err
	}
	return r.statPlain(name)
}

// statPlain is Stat without the fast path.
func (r *Root) statPlain(name string) (Stat, error) {
	root, err := r.plain()
	if err != nil {
		return Stat{}, err
	}
	fi, err := root.Stat(name)
	if err != nil {
		return Stat{}, err
	}
	return StatOf(fi), nil
}

// Info describes a name as package os does, with an identity that [os.SameFile] knows on
// every platform.
func (r *Root) Info(name string) (fs.FileInfo, error) {
	root, err := r.plain()
	if err != nil {
		return nil, err
	}
	return root.Stat(name)
}

// ReadDir implements [Tree].
func (r *Root) ReadDir(name string) iter.Seq2[fs.DirEntry, error] {
	return func(yield func(fs.DirEntry, error) bool) {
		f, err := r.openDir(name)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		for {
			entries, err := r.readDir(f, name)
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

// openDir opens a directory for listing. A directory opened by [os.Root] would stat every
// entry again.
func (r *Root) openDir(name string) (*os.File, error) {
	if f, ok, err := r.fast.openDir(name); ok {
		return f, err
	}
	root, err := r.plain()
	if err != nil {
		return nil, err
	}
	return root.OpenFile(name, os.O_RDONLY|nonblock, 0)
}

// Mkdir implements [FS].
func (r *Root) Mkdir(name string) error {
	if ok, err := r.fast.mkdir(name); ok {
		return err
	}
	return r.mkdirPlain(name)
}

// mkdirPlain is Mkdir without the fast path.
func (r *Root) mkdirPlain(name string) error {
	if err := r.direct(path.Dir(name)); err != nil {
		return err
	}
	return r.usePlain(func(root *os.Root) error { return root.Mkdir(name, 0o777) })
}

// Touch implements [FS].
func (r *Root) Touch(name string, mtime int64) error {
	if ok, err := r.fast.touch(name, mtime); ok {
		return err
	}
	return r.usePlain(func(root *os.Root) error { return root.Chtimes(name, time.Time{}, time.Unix(0, mtime)) })
}

// Rename implements [FS].
func (r *Root) Rename(from, to string) error {
	if ok, err := r.fast.rename(from, to); ok {
		return err
	}
	return r.renamePlain(from, to)
}

// renamePlain is Rename without the fast path.
func (r *Root) renamePlain(from, to string) error {
	// os.Root would follow links on the way to either name.
	if err := cmp.Or(r.direct(path.Dir(from)), r.direct(path.Dir(to))); err != nil {
		return err
	}
	return r.usePlain(func(root *os.Root) error { return root.Rename(from, to) })
}

// Link implements [FS].
func (r *Root) Link(from, to string) (Stat, error) {
	if s, ok, err := r.fast.link(from, to); ok {
		return s, err
	}
	return r.linkPlain(from, to)
}

// linkPlain is Link without the fast path.
func (r *Root) linkPlain(from, to string) (s Stat, err error) {
	if err := r.direct(path.Dir(to)); err != nil {
		return Stat{}, err
	}
	err = r.usePlain(func(root *os.Root) error {
		if err := root.Link(from, to); err != nil {
			return err
		}
		fi, err := root.Lstat(to)
		if err != nil {
			// The caller cannot compare versions without a status, so undo the link.
			return errors.Join(err, root.Remove(to))
		}
		s = StatOf(fi)
		return nil
	})
	return s, err
}

// Remove implements [FS].
func (r *Root) Remove(name string) error { return r.remove(name, false) }

// RemoveDir implements [FS].
func (r *Root) RemoveDir(name string) error { return r.remove(name, true) }

// Unlinked reports that something has this name, and that no symbolic link leads to it.
// It costs less than to look at each segment. false may also mean that this is unknown.
func (r *Root) Unlinked(name string) bool { return r.fast.isUnlinked(name) }

// Readlink implements [FS].
func (r *Root) Readlink(name string) (target string, err error) {
	if target, ok, err := r.fast.readlink(name); ok {
		return target, err
	}
	err = r.usePlain(func(root *os.Root) error {
		target, err = root.Readlink(name)
		return err
	})
	return filepath.ToSlash(target), err
}

// TryLock implements [FS].
func (r *Root) TryLock(name string) (File, error) { return r.tryLock(name, lock) }

func (r *Root) tryLock(name string, lock func(*os.File) error) (File, error) {
	f, made, err := r.openLock(name)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		if made && errors.Is(err, errors.ErrUnsupported) {
			_ = r.Remove(name) // no program can lock it, so a file that stays is harmless
		}
		return nil, errors.Join(err, f.Close())
	}
	// The previous holder may have removed the file between open and lock. Then another
	// writer can lock a new file of this name, and the lock here excludes nothing.
	switch at, err := r.isAt(f, name); {
	case err != nil:
		return nil, errors.Join(err, f.Close())
	case !at:
		return nil, errors.Join(fmt.Errorf("%w: %s was replaced", ErrLocked, name), f.Close())
	}
	return osFile{f}, nil
}

// isAt reports whether an open file still has the given name.
func (r *Root) isAt(f *os.File, name string) (bool, error) {
	if runtime.GOOS != "windows" {
		held, err := osFile{f}.Stat()
		current, lost := r.Stat(name)
		if !Missing(lost) {
			err = cmp.Or(err, lost) // not ErrLocked: the lock may be free
		}
		return lost == nil && held.SameFile(current), err
	}
	held, err := f.Stat() // only package os can compare files on Windows
	root, rootErr := r.plain()
	if err = errors.Join(err, rootErr); err != nil {
		return false, err
	}
	current, missing := root.Stat(name)
	return missing == nil && os.SameFile(held, current), nil
}

// Close implements [FS].
func (r *Root) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.fast.close()
	if root := r.root.Load(); root != nil {
		err = errors.Join(err, root.Close())
	}
	return err
}

// osFile is a file of package os.
type osFile struct{ *os.File }

// Share implements [File].
func (f osFile) Share(src File) error { return share(f.File, src) }

// CopyFrom implements [File]. The kernel copies what it can. This process copies the
// rest, and meets the error that stopped the kernel.
func (f osFile) CopyFrom(src File, off, n int64) error {
	done := copyRange(f.File, src, off, n)
	return copyPlain(f, src, off+done, n-done)
}

// copyBuffer is the size of the buffer of a plain copy, in bytes.
const copyBuffer = 256 << 10

// copyPlain writes n bytes of src, starting at offset off, to dst through a buffer.
func copyPlain(dst io.Writer, src io.ReaderAt, off, n int64) error {
	if n <= 0 {
		return nil
	}
	// Hide the type of the writer, so that io.CopyBuffer does not call its ReadFrom.
	w, buf := struct{ io.Writer }{dst}, make([]byte, min(n, copyBuffer))
	m, err := io.CopyBuffer(w, io.NewSectionReader(src, off, n), buf)
	if err == nil && m < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}
