// Package vfs is the seam between the local driver and the file system: few enough
// operations that a test can stop, fail or lose each of them.
//
// [OpenRoot] is a directory of this machine, [Disk] a disk in memory that knows what a
// power cut may leave of it, and [Hook] runs a function before every operation of another
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

// ErrLocked says that somebody else holds the lock, or that what was locked is no longer
// at its name. Try again.
var ErrLocked = errors.New("vfs: locked by another holder")

// ErrLinked says that a name leads through a symbolic link where none is followed.
var ErrLinked = errors.New("vfs: a symbolic link is on the way")

// FS is one directory tree. Names are relative and separated by '/'; "." is the top. No
// operation leaves the tree. Errors are found with errors.Is as those of package os are.
type FS interface {
	Tree
	// Open opens a file or a directory, to read or to sync it. It never waits, not even
	// for a named pipe.
	Open(name string) (File, error)
	// Create makes a new file to write to. A name that exists is [fs.ErrExist]. A
	// symbolic link among the directories on the way is not followed and fails with
	// [ErrLinked]; so it does for Mkdir, Rename, Remove and RemoveDir.
	Create(name string) (File, error)
	// Mkdir makes one directory.
	Mkdir(name string) error
	// Touch sets the modification time, in nanoseconds since 1970.
	Touch(name string, mtime int64) error
	// Rename moves a file within the tree and replaces the file or the symbolic link that
	// is at the new name.
	Rename(from, to string) error
	// Remove removes a file, a symbolic link or an empty directory. A link at name goes
	// itself.
	Remove(name string) error
	// RemoveDir removes an empty directory, and never a file or a symbolic link.
	RemoveDir(name string) error
	// Readlink returns where the symbolic link at name leads, as it is spelled but for
	// '/' between segments. It fails where name is no link.
	Readlink(name string) (string, error)
	// TryLock locks the file name against every other TryLock, in this process and in
	// others, or fails at once with [ErrLocked]. It makes a file that is missing, which
	// those can open who may write in its directory. The lock is held until the file is
	// closed; what is written to it stands at its beginning. A file system without locks
	// is [errors.ErrUnsupported].
	TryLock(name string) (File, error)
	// Local reports whether the locks tell of all programs that can reach the tree, on
	// whatever machine they are: it is no network file system, or one whose server keeps
	// the locks.
	Local() bool
	// Close releases the tree.
	Close() error
}

// Tree is the part of [FS] that looks at names.
type Tree interface {
	// Stat describes what is at name; it follows symbolic links that stay inside the
	// tree.
	Stat(name string) (Stat, error)
	// ReadDir yields the entries of a directory in no order. An error ends the sequence.
	ReadDir(name string) iter.Seq2[fs.DirEntry, error]
}

// File is an open file or directory. A directory has neither ReadAt nor Write, and Sync
// makes its names durable.
type File interface {
	io.ReaderAt
	io.Writer
	// CopyFrom writes n bytes of src, a file of the same tree, from byte off on, as Write
	// does, and leaves it to the system how: nothing passes through this process where
	// that can be. A source that ends earlier is [io.ErrUnexpectedEOF]. An error leaves
	// open how much was written.
	CopyFrom(src File, off, n int64) error
	Stat() (Stat, error)
	Sync() error
	Close() error
}

// HasFile reports whether a directory of this machine has a regular file, or a link to
// one, of one of the names.
func HasFile(dir string, names ...string) bool {
	if !os.IsPathSeparator(dir[len(dir)-1]) {
		dir += string(os.PathSeparator)
	}
	return slices.ContainsFunc(names, func(name string) bool { return isFile(dir + name) })
}

// Missing reports whether err says that nothing is at a name, or that the name leads
// through a file.
func Missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Stat describes a file at one time. Times are nanoseconds since 1970; what a platform
// lacks is zero.
type Stat struct {
	Mode  fs.FileMode
	Size  int64 // bytes
	Dev   uint64
	Ino   uint64
	Ctime int64
	Mtime int64
}

// StatOf returns what fi tells, with identity and change time where fi comes from the
// operating system.
func StatOf(fi fs.FileInfo) Stat {
	s := Stat{Mode: fi.Mode(), Size: fi.Size()}
	if t := fi.ModTime(); !t.IsZero() {
		s.Mtime = t.UnixNano()
	}
	identify(&s, fi.Sys())
	return s
}

// SameFile reports whether s and o are surely one file or directory, perhaps at two
// times.
func (s Stat) SameFile(o Stat) bool { return s.Ino != 0 && s.Ino == o.Ino && s.Dev == o.Dev }

// SameData reports whether s and o describe the same content: nobody wrote to the file in
// between. The change time is left out, because a rename or a new link changes it too.
func (s Stat) SameData(o Stat) bool {
	return s.Size == o.Size && s.Mtime == o.Mtime && s.Ino == o.Ino && s.Dev == o.Dev
}

// Modified returns when the file became what it is, and the zero time where nothing
// tells.
//
// The later of the two times counts. The modification time can be much too early: a copy
// keeps that of its source, and a file that is written under another name and moved has
// it from before the move. The change time, which nobody can set, is that of the copy or
// the move; but on a network file system the server's clock may have set it.
func (s Stat) Modified() time.Time {
	t := max(s.Mtime, s.Ctime)
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(0, t)
}

// Version returns all of s but its mode as a short text, "" where there is nothing to
// tell versions apart by.
func (s Stat) Version() string {
	if s.Mtime == 0 && s.Ino == 0 {
		return ""
	}
	var a [80]byte
	b := strconv.AppendUint(a[:0], s.Dev, 36)
	b = strconv.AppendUint(append(b, '-'), s.Ino, 36)
	b = strconv.AppendInt(append(b, '-'), s.Ctime, 36)
	b = strconv.AppendInt(append(b, '-'), s.Mtime, 36)
	b = strconv.AppendInt(append(b, '-'), s.Size, 36)
	return string(b)
}
