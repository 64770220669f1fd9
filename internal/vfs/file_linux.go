// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// The methods of osFile in this file make the system calls that package os makes. Package
// os repeats an interrupted call forever, so no signal could end a program on a file
// system that interrupts every call.

// on calls do with the descriptor of a file, and adds the name of the file to errors.
func (f osFile) on(op string, do func(fd int) error) error {
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
	err = f.on("read", func(fd int) error {
		n, err = readAt(unix.Pread, fd, p, off)
		return err
	})
	return n, err
}

// Write implements [io.Writer].
func (f osFile) Write(p []byte) (n int, err error) {
	err = f.on("write", func(fd int) error {
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
	err = f.on("stat", func(fd int) error {
		s, err = rawFile(fd).Stat()
		return err
	})
	return s, err
}

// Sync implements [File].
func (f osFile) Sync() error {
	return f.on("sync", func(fd int) error { return rawFile(fd).Sync() })
}
