// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// The methods of osFile in this file make the system calls that package os makes. Package
// os repeats an interrupted call forever, so no signal could end a program on a file
// system that interrupts every call.

// control calls do with the descriptor of a file, and adds the name of the file to
// errors.
func (f osFile) control(op string, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if closed := conn.Control(func(fd uintptr) { err = do(int(fd)) }); closed != nil {
		err = fs.ErrClosed
	}
	if err == nil || err == io.EOF {
		return err
	}
	return &fs.PathError{Op: op, Path: f.Name(), Err: err}
}

// ReadAt implements [io.ReaderAt].
func (f osFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.control("read", func(fd int) error {
		n, err = readAt(unix.Pread, fd, p, off)
		return err
	})
	return n, err
}

// Write implements [io.Writer].
func (f osFile) Write(p []byte) (n int, err error) {
	err = f.control("write", func(fd int) error {
		n, err = writeAll(unix.Write, fd, p)
		return err
	})
	return n, err
}

// writeAll writes p with as many calls as needed.
func writeAll(write func(fd int, p []byte) (int, error), fd int, p []byte) (n int, err error) {
	for n < len(p) {
		m, err := retried(func() (int, error) { return write(fd, p[n:]) })
		switch {
		case err != nil:
			return n, err
		case m == 0:
			// Without an error, the loop would never end.
			return n, io.ErrUnexpectedEOF
		}
		n += m
	}
	return n, nil
}

// Stat implements [File].
func (f osFile) Stat() (s Stat, err error) {
	err = f.control("stat", func(fd int) error {
		s, err = rawFile(fd).Stat()
		return err
	})
	return s, err
}

// Sync implements [File].
func (f osFile) Sync() error {
	return f.control("sync", func(fd int) error { return rawFile(fd).Sync() })
}

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
		// Progress resets the count, so a long read may be interrupted many times.
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

// copyMost is the largest number of bytes that one system call copies.
const copyMost = 1 << 30

// copyRange asks the kernel to copy bytes of src to dst, and returns how many it copied.
// On Btrfs, XFS and NFS, the files may then share the bytes on disk. The kernel may
// refuse: an old kernel, a file system without support, a sandbox. The caller copies the
// rest.
func copyRange(dst *os.File, src File, off, n int64) (done int64) {
	to, err := dst.SyscallConn()
	if err != nil {
		return 0
	}
	_ = descriptor(src, func(from int) {
		_ = to.Control(func(fd uintptr) {
			for done < n {
				m, err := retried(func() (int, error) {
					at := off + done
					return unix.CopyFileRange(from, &at, int(fd), nil, int(min(n-done, copyMost)), 0)
				})
				// After an error or an early end, the caller copies the rest and finds
				// the cause.
				if err != nil || m == 0 {
					return
				}
				done += int64(m)
			}
		})
	})
	return done
}

// share makes dst share the bytes of src, as Btrfs and XFS can.
func share(dst *os.File, src File) error {
	to, err := dst.SyscallConn()
	if err != nil {
		return err
	}
	err = errors.ErrUnsupported
	closed := descriptor(src, func(from int) {
		err = cmp.Or(to.Control(func(fd uintptr) {
			_, err = retried(func() (int, error) { return 0, unix.IoctlFileClone(int(fd), from) })
		}), err)
	})
	return cmp.Or(closed, failed("ficlone", dst.Name(), err))
}

// descriptor calls use with the file descriptor of an open file, if it has one.
func descriptor(f File, use func(fd int)) error {
	switch f := f.(type) {
	case rawFile:
		use(int(f))
	case osFile:
		c, err := f.SyscallConn()
		if err != nil {
			return err
		}
		return c.Control(func(fd uintptr) { use(int(fd)) })
	}
	return nil
}

// isFile reports whether a path of this machine is a regular file, or a link to one. In
// contrast to [os.Stat], it allocates nothing.
func isFile(path string) bool {
	var t unix.Stat_t
	_, err := retried(func() (int, error) { return 0, unix.Stat(path, &t) })
	return err == nil && t.Mode&unix.S_IFMT == unix.S_IFREG
}
