package vfs

import (
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonblock keeps an open from waiting for the other end of a named pipe.
const nonblock = unix.O_NONBLOCK

// opener opens files by one openat2 call, where os.Root makes one call for every segment of the name.
// The kernel keeps the same promise: RESOLVE_BENEATH refuses each name and each link that leads outside.
type opener struct {
	dir  *os.File
	conn syscall.RawConn
}

var beneath = unix.OpenHow{
	Flags:   unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_LARGEFILE,
	Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
}

func newOpener(r *os.Root) (opener, error) {
	dir, err := r.Open(".")
	if err != nil {
		return opener{}, err
	}
	conn, err := dir.SyscallConn()
	return opener{dir, conn}, err
}

// open reports ok where the kernel's answer is final: the file, or that there is none.
// Every other answer (an old kernel, a race with a rename, an escape) is left to os.Root and its messages.
func (o opener) open(name string) (f File, ok bool, err error) {
	var fd int
	closed := o.conn.Control(func(dir uintptr) { fd, err = openBeneath(int(dir), name) })
	switch {
	case closed != nil:
		return nil, true, &fs.PathError{Op: "openat2", Path: name, Err: fs.ErrClosed}
	case err == nil:
		return rawFile(fd), true, nil
	case err == unix.ENOENT:
		return nil, true, &fs.PathError{Op: "openat2", Path: name, Err: err}
	}
	return nil, false, nil
}

func openBeneath(dir int, name string) (fd int, err error) {
	for {
		fd, err = unix.Openat2(dir, name, &beneath)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func (o opener) close() error { return o.dir.Close() }

// rawFile is a file descriptor to read from. It has one user, who closes it last and once.
type rawFile int

// ReadAt implements [io.ReaderAt].
func (f rawFile) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		m, err := unix.Pread(int(f), p[n:], off+int64(n))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, err
		case m == 0:
			return n, io.EOF
		default:
			n += m
		}
	}
	return n, nil
}

// Write implements [io.Writer]; the descriptor is for reading.
func (f rawFile) Write([]byte) (int, error) { return 0, unix.EBADF }

// CopyFrom implements [File]; the descriptor is for reading.
func (f rawFile) CopyFrom(File, int64, int64) error { return unix.EBADF }

// Stat implements [File].
func (f rawFile) Stat() (Stat, error) {
	var t unix.Stat_t
	if err := unix.Fstat(int(f), &t); err != nil {
		return Stat{}, err
	}
	return Stat{
		Mode: fileMode(t.Mode), Size: t.Size,
		Dev: uint64(t.Dev), Ino: t.Ino, Ctime: t.Ctim.Nano(), Mtime: t.Mtim.Nano(),
	}, nil
}

// fileMode translates the type and the permissions, which is all that the driver asks for.
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
	for {
		if err := unix.Fsync(int(f)); err != unix.EINTR {
			return err
		}
	}
}

// Close implements [io.Closer].
func (f rawFile) Close() error { return unix.Close(int(f)) }
