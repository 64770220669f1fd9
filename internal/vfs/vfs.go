// SPDX-License-Identifier: Apache-2.0

// Package vfs is the interface between the file store and the file system. It has so few
// operations that a test can stop or fail each of them.
//
// [OpenRoot] opens a directory of this machine. [Disk] is a disk in memory that knows
// what a power cut may leave. [Hook] runs a function before every operation of another
// [FS].
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// ErrLocked means that another holder has the lock, or that the locked file was replaced.
// Try again.
var ErrLocked = errors.New("vfs: locked by another holder")

// ErrLinked means that a directory in a name is a symbolic link, and that the operation
// follows no links.
var ErrLinked = errors.New("vfs: a directory in the path is a symbolic link")

// FS is one directory tree. Names are relative and separated by '/'; "." is the top. No
// operation leaves the tree. Errors match those of package os with errors.Is.
type FS interface {
	Tree
	// Open opens a file or a directory, to read or to sync it. It never blocks, not even
	// on a named pipe.
	Open(name string) (File, error)
	// Create makes a new file for writing. If name exists, the error is [fs.ErrExist]. If
	// a directory in name is a symbolic link, the error is [ErrLinked]. The same holds
	// for Mkdir, Rename, the new name of Link, Remove and RemoveDir.
	Create(name string) (File, error)
	// Mkdir makes one directory.
	Mkdir(name string) error
	// Touch sets the modification time, in nanoseconds since 1970.
	Touch(name string, mtime int64) error
	// Rename moves a file within the tree. It replaces a file or a symbolic link that has
	// the new name. If both are names of one file (see Link), it does nothing.
	Rename(from, to string) error
	// Link gives the file from a second name, to, and returns its status. It follows
	// symbolic links on the way to from, but not one that has that name: then to is a
	// symbolic link too, and its status shows that. If to exists, the error is
	// [fs.ErrExist]. A platform or a file system may refuse with any error.
	Link(from, to string) (Stat, error)
	// Remove removes a file, a symbolic link itself, or an empty directory.
	Remove(name string) error
	// RemoveDir removes an empty directory. It never removes a file or a symbolic link.
	RemoveDir(name string) error
	// Readlink returns the text that the symbolic link at name contains, with '/' between
	// segments. It fails if name is not a link.
	Readlink(name string) (string, error)
	// TryLock opens the file name and locks it. It excludes every other TryLock, in this
	// process and in others. If the file is locked, it fails at once with [ErrLocked]. If
	// the file is missing, TryLock makes it; only users who may write in its directory
	// can open it. Closing the file ends the lock. Writes begin at the start of the file.
	// If the platform or the file system has no locks, the error is
	// [errors.ErrUnsupported].
	TryLock(name string) (File, error)
	// Local reports whether locks exclude all programs on all machines that can reach the
	// tree. This holds unless it is a network file system whose server keeps no locks.
	Local() bool
	// Close releases the tree.
	Close() error
}

// Tree is the part of [FS] that reads names.
type Tree interface {
	// Stat describes the file or directory at name. It follows symbolic links that stay
	// inside the tree.
	Stat(name string) (Stat, error)
	// ReadDir yields the entries of a directory, in no order. An error ends the sequence.
	ReadDir(name string) iter.Seq2[fs.DirEntry, error]
}

// File is an open file or directory. A directory has neither ReadAt nor Write; its Sync
// makes its names durable.
type File interface {
	io.ReaderAt
	io.Writer
	// CopyFrom writes n bytes of src, a file of the same tree, from offset off on, as
	// Write does. If possible, the bytes do not pass through this process. If src ends
	// early, the error is [io.ErrUnexpectedEOF]. After an error, some bytes may be
	// written.
	CopyFrom(src File, off, n int64) error
	// Share gives this new, empty file the content of src, a file of the same tree,
	// without moving bytes: until one is written, both share them on disk. If the file
	// system cannot do that, the error is [errors.ErrUnsupported] or another one, and the
	// file is still empty.
	Share(src File) error
	Stat() (Stat, error)
	Sync() error
	Close() error
}

// HasFile reports whether a directory of this machine has a regular file, or a link to
// one, with one of the names.
func HasFile(dir string, names ...string) bool {
	if !os.IsPathSeparator(dir[len(dir)-1]) {
		dir += string(os.PathSeparator)
	}
	return slices.ContainsFunc(names, func(name string) bool { return isFile(dir + name) })
}

// Missing reports whether err means that nothing exists at a name, or that the name leads
// through a file.
func Missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Stat describes a file at one time. Times are in nanoseconds since 1970. Fields that the
// platform does not provide are zero.
type Stat struct {
	Mode  fs.FileMode
	Size  int64 // bytes
	Dev   uint64
	Ino   uint64
	Ctime int64
	Mtime int64
}

// StatOf converts fi. It sets identity and change time only if fi is from the operating
// system.
func StatOf(fi fs.FileInfo) Stat {
	s := Stat{Mode: fi.Mode(), Size: fi.Size()}
	if t := fi.ModTime(); !t.IsZero() {
		s.Mtime = t.UnixNano()
	}
	identify(&s, fi.Sys())
	return s
}

// SameFile reports whether s and o describe the same file or directory, possibly at
// different times. It returns false if the platform provides no inode.
func (s Stat) SameFile(o Stat) bool { return s.Ino != 0 && s.Ino == o.Ino && s.Dev == o.Dev }

// SameData reports whether s and o describe the same content, with no write in between.
// It ignores the change time, because a rename or a new link changes that too.
func (s Stat) SameData(o Stat) bool {
	return s.Size == o.Size && s.Mtime == o.Mtime && s.Ino == o.Ino && s.Dev == o.Dev
}

// Modified returns when the file got its content, or the zero time if that is unknown.
//
// It is the later of modification time and change time. The modification time can be much
// too early: a copy may keep the time of its source, and a rename does not change it. The
// change time is that of the copy or the rename, and programs cannot set it. On a network
// file system it may come from the server's clock.
func (s Stat) Modified() time.Time {
	t := max(s.Mtime, s.Ctime)
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(0, t)
}

// FileTime returns the modification time, which a copy may keep, or the zero time.
func (s Stat) FileTime() time.Time {
	if s.Mtime == 0 {
		return time.Time{}
	}
	return time.Unix(0, s.Mtime)
}

// Version returns all of s but its mode as a short text. It returns "" if the platform
// provides nothing that distinguishes versions. If both times are whole seconds, the file
// system keeps no others (ext3, FAT, HFS+), and a later write in place may have the same
// version: then the text is that of a weak version; see [store.Version.IsWeak].
func (s Stat) Version() string {
	if s.Mtime == 0 && s.Ino == 0 {
		return ""
	}
	var a [80]byte
	b := a[:0]
	if s.Ctime != 0 && s.Ctime%1e9 == 0 && s.Mtime%1e9 == 0 {
		b = append(b, "W/"...)
	}
	b = strconv.AppendUint(b, s.Dev, 36)
	b = strconv.AppendUint(append(b, '-'), s.Ino, 36)
	b = strconv.AppendInt(append(b, '-'), s.Ctime, 36)
	b = strconv.AppendInt(append(b, '-'), s.Mtime, 36)
	b = strconv.AppendInt(append(b, '-'), s.Size, 36)
	return string(b)
}
