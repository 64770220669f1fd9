// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"bytes"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// listBytes is the number of bytes of a directory that are read at once. A huge directory
// is never in memory as a whole.
const listBytes = 16 << 10

var listBuffers = sync.Pool{New: func() any { return new([listBytes]byte) }}

// listed is an entry of a directory.
type listed struct {
	root *Root
	dir  string
	open syscall.RawConn // of the directory
	name string
	mode fs.FileMode
}

func (e *listed) Name() string      { return e.name }
func (e *listed) IsDir() bool       { return e.mode.IsDir() }
func (e *listed) Type() fs.FileMode { return e.mode }

// Info implements [fs.DirEntry]. It describes the present file of that name.
func (e *listed) Info() (fs.FileInfo, error) {
	root, err := e.root.plain()
	if err != nil {
		return nil, err
	}
	return root.Lstat(path.Join(e.dir, e.name))
}

// stat describes the entry, and does not follow a symbolic link. It fails once the
// directory is closed.
func (e *listed) stat() (s Stat, err error) {
	closed := e.open.Control(func(dir uintptr) {
		var t unix.Stat_t
		_, err = retried(func() (int, error) { return 0, unix.Fstatat(int(dir), e.name, &t, unix.AT_SYMLINK_NOFOLLOW) })
		s = statOf(&t)
	})
	if closed != nil {
		err = fs.ErrClosed
	}
	return s, err
}

// readDir reads the next entries of the open directory name, and returns [io.EOF] at its
// end. It does not use package os, which repeats an interrupted call forever.
func (r *Root) readDir(f *os.File, name string) (entries []fs.DirEntry, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	buf := listBuffers.Get().(*[listBytes]byte)
	defer listBuffers.Put(buf)
	err = osFile{f}.control("readdirent", func(fd int) error {
		n, err := retried(func() (int, error) { return unix.ReadDirent(fd, buf[:]) })
		// No bytes mean the end of the directory.
		if err == nil && n == 0 {
			err = io.EOF
		}
		for b := buf[:max(n, 0)]; err == nil && len(b) > 0; {
			var e *listed
			if e, b, err = parseEntry(fd, b); e != nil {
				e.root, e.dir, e.open = r, name, conn
				entries = append(entries, e)
			}
		}
		return err
	})
	return entries, err
}

// Offsets of fields in an entry (linux_dirent64): inode, offset, length, type, and the
// name with a zero byte after it.
const (
	entryLength = 16
	entryType   = 18
	entryName   = 19
)

// parseEntry parses the first entry of a directory from b. e is nil if the entry is to be
// skipped.
func parseEntry(dir int, b []byte) (e *listed, rest []byte, err error) {
	// Check all lengths: file systems in user space may return anything.
	if len(b) < entryName {
		return nil, nil, io.ErrUnexpectedEOF
	}
	n := int(binary.NativeEndian.Uint16(b[entryLength:]))
	if n < entryName || n > len(b) {
		return nil, nil, io.ErrUnexpectedEOF
	}
	name, _, _ := bytes.Cut(b[entryName:n], []byte{0})
	gone := binary.NativeEndian.Uint64(b) == 0 // inode 0 marks a deleted entry
	if e = (&listed{name: string(name)}); gone || e.name == "." || e.name == ".." {
		return nil, b[n:], nil
	}
	e.mode, err = entryMode(dir, e.name, b[entryType])
	if err == unix.ENOENT { // a concurrent deletion removed it
		return nil, b[n:], nil
	}
	return e, b[n:], err
}

// entryMode returns the type of an entry. It asks for the type if the file system does
// not report it with the name.
func entryMode(dir int, name string, kind byte) (fs.FileMode, error) {
	if kind == unix.DT_UNKNOWN {
		var t unix.Stat_t
		_, err := retried(func() (int, error) { return 0, unix.Fstatat(dir, name, &t, unix.AT_SYMLINK_NOFOLLOW) })
		if err != nil {
			return 0, err
		}
		kind = byte((uint32(t.Mode) & unix.S_IFMT) >> 12) // as the kernel's IFTODT
	}
	switch kind {
	case unix.DT_REG:
		return 0, nil
	case unix.DT_DIR:
		return fs.ModeDir, nil
	case unix.DT_LNK:
		return fs.ModeSymlink, nil
	case unix.DT_FIFO:
		return fs.ModeNamedPipe, nil
	case unix.DT_SOCK:
		return fs.ModeSocket, nil
	case unix.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice, nil
	case unix.DT_BLK:
		return fs.ModeDevice, nil
	}
	return fs.ModeIrregular, nil
}
