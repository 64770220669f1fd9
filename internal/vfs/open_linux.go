// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonblock keeps an open from waiting for the other end of a named pipe.
const nonblock = unix.O_NONBLOCK

// opener opens a file with one openat2 call, where os.Root needs one call for every
// segment of the name. The guarantee is the same: with RESOLVE_BENEATH the kernel refuses
// names and links that lead outside.
type opener struct {
	path string // of the directory, when it was opened
	dir  *os.File
	conn syscall.RawConn
}

const openFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_LARGEFILE

// Arguments of openat2 to read, describe, find a link or list, to make a file, and to
// find or change a directory. toMake and toChange follow no symbolic links.
var (
	toRead   = beneath(openFlags | unix.O_NONBLOCK)
	toLook   = beneath(unix.O_PATH | unix.O_CLOEXEC)
	toLink   = beneath(unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC)
	toList   = beneath(openFlags | unix.O_DIRECTORY)
	toMake   = made(unlinked(beneath(unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC | unix.O_LARGEFILE)))
	toFind   = beneath(unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC)
	toChange = unlinked(beneath(unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC))
)

func unlinked(how *unix.OpenHow) *unix.OpenHow {
	how.Resolve |= unix.RESOLVE_NO_SYMLINKS
	return how
}

func made(how *unix.OpenHow) *unix.OpenHow {
	how.Mode = 0o666
	return how
}

func beneath(flags uint64) *unix.OpenHow {
	return &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
}

// newOpener opens a directory with one call.
func newOpener(dir string) (opener, error) {
	f, err := openTop(dir)
	if err != nil {
		return opener{}, err
	}
	conn, err := f.SyscallConn()
	return opener{dir, f, conn}, err
}

// openTop opens a directory by its path.
func openTop(dir string) (*os.File, error) {
	fd, err := retried(func() (int, error) { return unix.Open(dir, openFlags|unix.O_DIRECTORY, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	return os.NewFile(uintptr(fd), dir), nil
}

// root opens the directory again, for package os. It opens the descriptor through
// /proc, which also finds a directory that was moved. If /proc is not mounted, it opens
// the path.
func (o opener) root() (*os.Root, error) {
	was, err := o.dir.Stat()
	if err != nil {
		return nil, err
	}
	through := ""
	if err := o.conn.Control(func(fd uintptr) { through = "/proc/self/fd/" + strconv.Itoa(int(fd)) }); err != nil {
		return nil, err
	}
	switch r, err := identified(was, through, o.path); {
	case r != nil || err != nil:
		return r, err
	}
	return nil, fmt.Errorf("vfs: the directory %s was moved or replaced since it was opened; open it again: %w", o.path, fs.ErrNotExist)
}

// identified opens the directory that was describes, by the first of names that leads to
// it. It returns nil if none does. The error is that of a name that exists but could not
// be opened.
func identified(was fs.FileInfo, names ...string) (found *os.Root, err error) {
	for _, name := range names {
		r, openErr := os.OpenRoot(name)
		if openErr != nil {
			if !Missing(openErr) {
				err = openErr
			}
			continue
		}
		// The path may lead to another directory by now.
		if is, err := r.Stat("."); err == nil && os.SameFile(is, was) {
			return r, nil
		}
		_ = r.Close()
	}
	return nil, err
}

// open opens a file. ok means that the kernel's answer is final, such as a descriptor or
// that the file does not exist. Otherwise (an old kernel, a race with a rename, a name
// that leads outside) the caller falls back on os.Root and its error messages.
func (o opener) open(name string) (f File, ok bool, err error) {
	fd, ok, err := o.at(name, toRead)
	if !ok || err != nil {
		return nil, ok, err
	}
	return rawFile(fd), true, nil
}

// stat describes the file or directory at name without opening it. ok is as for open.
func (o opener) stat(name string) (s Stat, ok bool, err error) {
	fd, ok, err := o.at(name, toLook)
	if !ok || err != nil {
		return Stat{}, ok, err
	}
	f := rawFile(fd)
	s, err = f.Stat()
	return s, true, errors.Join(err, f.Close())
}

// openDir opens a directory for listing. ok is as for open.
func (o opener) openDir(name string) (f *os.File, ok bool, err error) {
	fd, ok, err := o.at(name, toList)
	if !ok || err != nil {
		return nil, ok, err
	}
	return os.NewFile(uintptr(fd), name), true, nil
}

// openDirect opens a directory without following any link. If ok is false, the caller
// opens it segment by segment, which also tells the reason of a failure.
func (o opener) openDirect(dir string) (fd int, ok bool) {
	fd, ok, err := o.at(dir, toChange)
	return fd, ok && err == nil
}

// at calls openat2. ok is as for open.
func (o opener) at(name string, how *unix.OpenHow) (fd int, ok bool, err error) {
	a := asking.Get().(*ask)
	a.name, a.how = name, how
	closed := o.conn.Control(a.run)
	fd, err = a.fd, a.err
	// Do not keep the name alive in the pool.
	a.name = ""
	asking.Put(a)
	switch {
	case closed != nil:
		return 0, true, &fs.PathError{Op: "openat2", Path: name, Err: fs.ErrClosed}
	case err == nil:
		return fd, true, nil
	case err == unix.ENOENT, err == unix.EMFILE, err == unix.ENFILE, err == unix.EINTR:
		// EINTR is final too: package os would repeat the call forever.
		return 0, true, &fs.PathError{Op: "openat2", Path: name, Err: err}
	case err == unix.ELOOP && how.Resolve&unix.RESOLVE_NO_SYMLINKS != 0:
		return 0, true, &fs.PathError{Op: "openat2", Path: name, Err: ErrLinked}
	}
	// Any other error may come from an old kernel or a race with a rename. os.Root
	// decides.
	return 0, false, nil
}

// ask holds the arguments and results of one openat2 call. Values are pooled, because
// making a closure for each call costs as much as the call.
type ask struct {
	name string
	how  *unix.OpenHow
	fd   int
	err  error
	run  func(dir uintptr)
}

var asking = sync.Pool{New: func() any {
	a := new(ask)
	a.run = func(dir uintptr) {
		a.fd, a.err = retried(func() (int, error) { return unix.Openat2(int(dir), a.name, a.how) })
	}
	return a
}}

func (o opener) close() error { return o.dir.Close() }

// rawFile is a file descriptor for reading. Only one goroutine may use it, and Close must
// be its last call.
type rawFile int

// ReadAt implements [io.ReaderAt].
func (f rawFile) ReadAt(p []byte, off int64) (n int, err error) {
	return readAt(unix.Pread, int(f), p, off)
}

// readAt fills p with as many calls as needed.
func readAt(pread func(fd int, p []byte, off int64) (int, error), fd int, p []byte, off int64) (n int, err error) {
	interrupts := 0
	for n < len(p) {
		m, err := pread(fd, p[n:], off+int64(n))
		switch {
		case err == unix.EINTR && interrupts < mostInterrupts:
			interrupts++
		case err != nil:
			return n, err
		case m == 0:
			return n, io.EOF
		default:
			n, interrupts = n+m, 0
		}
	}
	return n, nil
}

// Write implements [io.Writer]. The descriptor is for reading.
func (f rawFile) Write([]byte) (int, error) { return 0, unix.EBADF }

// CopyFrom implements [File]. The descriptor is for reading.
func (f rawFile) CopyFrom(File, int64, int64) error { return unix.EBADF }

// Share implements [File]. The descriptor is for reading.
func (f rawFile) Share(File) error { return unix.EBADF }

// Stat implements [File].
func (f rawFile) Stat() (Stat, error) {
	var t unix.Stat_t
	if _, err := retried(func() (int, error) { return 0, unix.Fstat(int(f), &t) }); err != nil {
		return Stat{}, err
	}
	return statOf(&t), nil
}

func statOf(t *unix.Stat_t) Stat {
	return Stat{
		Mode: fileMode(t.Mode), Size: t.Size,
		Dev: uint64(t.Dev), Ino: t.Ino, Ctime: t.Ctim.Nano(), Mtime: t.Mtim.Nano(),
	}
}

// fileMode converts the permissions and the types that the file store distinguishes.
func fileMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFREG:
		return mode
	case unix.S_IFDIR:
		return mode | fs.ModeDir
	}
	return mode | fs.ModeIrregular
}

// Sync implements [File].
func (f rawFile) Sync() error {
	_, err := retried(func() (int, error) { return 0, unix.Fsync(int(f)) })
	return err
}

// Close implements [io.Closer].
func (f rawFile) Close() error { return unix.Close(int(f)) }
