// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

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
// find or change a directory. Those to read directly, to make, to change and to tell
// follow no symbolic links.
var (
	howToRead       = beneath(openFlags | unix.O_NONBLOCK)
	howToReadDirect = unlinked(beneath(openFlags | unix.O_NONBLOCK))
	howToLook       = beneath(unix.O_PATH | unix.O_CLOEXEC)
	howToReadLink   = beneath(unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC)
	howToList       = beneath(openFlags | unix.O_DIRECTORY)
	howToMake       = made(unlinked(beneath(unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC | unix.O_LARGEFILE)))
	howToFind       = beneath(unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC)
	howToChange     = unlinked(beneath(unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC))
	howToTell       = unlinked(beneath(unix.O_PATH | unix.O_CLOEXEC))
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
	original, err := o.dir.Stat()
	if err != nil {
		return nil, err
	}
	through := ""
	if err := o.conn.Control(func(fd uintptr) { through = "/proc/self/fd/" + strconv.Itoa(int(fd)) }); err != nil {
		return nil, err
	}
	switch r, err := identified(original, through, o.path); {
	case r != nil || err != nil:
		return r, err
	}
	return nil, fmt.Errorf("vfs: the directory %s was moved or replaced since it was opened; open it again: %w", o.path, fs.ErrNotExist)
}

// identified opens the directory that original describes, by the first of names that
// leads to it. It returns nil if none does. The error is that of a name that exists but
// could not be opened.
func identified(original fs.FileInfo, names ...string) (found *os.Root, err error) {
	for _, name := range names {
		r, openErr := os.OpenRoot(name)
		if openErr != nil {
			if !Missing(openErr) {
				err = openErr
			}
			continue
		}
		// The path may lead to another directory by now.
		if current, err := r.Stat("."); err == nil && os.SameFile(current, original) {
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
	fd, ok, err := o.openat2(name, howToRead)
	if !ok || err != nil {
		return nil, ok, err
	}
	return rawFile(fd), true, nil
}

// openUnlinked opens a file that no symbolic link leads to. It returns nil if it cannot,
// for whatever reason.
func (o opener) openUnlinked(name string) File {
	fd, ok, err := o.openat2(name, howToReadDirect)
	if !ok || err != nil {
		return nil
	}
	return rawFile(fd)
}

// stat describes the file or directory at name without opening it. ok is as for open.
func (o opener) stat(name string) (s Stat, ok bool, err error) {
	fd, ok, err := o.openat2(name, howToLook)
	if !ok || err != nil {
		return Stat{}, ok, err
	}
	f := rawFile(fd)
	s, err = f.Stat()
	return s, true, errors.Join(err, f.Close())
}

// isUnlinked reports that something has this name, and that no symbolic link leads to it.
// false may also mean that this is not known.
func (o opener) isUnlinked(name string) bool {
	fd, ok, err := o.openat2(name, howToTell)
	if !ok || err != nil {
		return false
	}
	return unix.Close(fd) == nil
}

// openDir opens a directory for listing. ok is as for open.
func (o opener) openDir(name string) (f *os.File, ok bool, err error) {
	fd, ok, err := o.openat2(name, howToList)
	if !ok || err != nil {
		return nil, ok, err
	}
	return os.NewFile(uintptr(fd), name), true, nil
}

// openDirect opens a directory without following any link. If ok is false, the caller
// opens it segment by segment, which also tells the reason of a failure.
func (o opener) openDirect(dir string) (fd int, ok bool) {
	fd, ok, err := o.openat2(dir, howToChange)
	return fd, ok && err == nil
}

// openat2 makes the system call of that name. ok is as for open.
func (o opener) openat2(name string, how *unix.OpenHow) (fd int, ok bool, err error) {
	a := openat2Calls.Get().(*openat2Call)
	a.name, a.how = name, how
	closed := o.conn.Control(a.run)
	fd, err = a.fd, a.err
	// Do not keep the name alive in the pool.
	a.name = ""
	openat2Calls.Put(a)
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

// openat2Call holds the arguments and results of one openat2 call. Values are pooled,
// because making a closure for each call costs as much as the call.
type openat2Call struct {
	name string
	how  *unix.OpenHow
	fd   int
	err  error
	run  func(dir uintptr)
}

var openat2Calls = sync.Pool{New: func() any {
	a := new(openat2Call)
	a.run = func(dir uintptr) {
		a.fd, a.err = retried(func() (int, error) { return unix.Openat2(int(dir), a.name, a.how) })
	}
	return a
}}

func (o opener) close() error { return o.dir.Close() }

// create makes a new file. ok is as for open, and also true if a directory in name is a
// symbolic link.
func (o opener) create(name string) (f File, ok bool, err error) {
	// os.Root reports invalid names.
	if !fs.ValidPath(name) {
		return nil, false, nil
	}
	fd, ok, err := o.openat2(name, howToMake)
	if !ok || err != nil {
		return nil, ok, err
	}
	return osFile{os.NewFile(uintptr(fd), name)}, true, nil
}

// inDir opens the directory of a name with how, and calls do with it and the last
// segment of the name. If ok is false, the caller falls back on os.Root.
func (o opener) inDir(name string, how *unix.OpenHow, do func(dir int, base string) error) (ok bool, err error) {
	// os.Root reports invalid names.
	if !fs.ValidPath(name) || name == "." {
		return false, nil
	}
	fd, ok, err := o.openat2(path.Dir(name), how)
	if !ok || err != nil {
		return ok, err
	}
	defer unix.Close(fd)
	return true, do(fd, path.Base(name))
}

// mkdir makes a directory. ok is as for inDir.
func (o opener) mkdir(name string) (ok bool, err error) {
	return o.inDir(name, howToChange, func(dir int, base string) error {
		_, err := retried(func() (int, error) { return 0, unix.Mkdirat(dir, base, 0o777) })
		return failed("mkdirat", name, err)
	})
}

// makeDir makes a directory of this machine.
func makeDir(dir string) error {
	_, err := retried(func() (int, error) { return 0, unix.Mkdir(dir, 0o777) })
	return failed("mkdir", dir, err)
}

// touch sets a modification time. ok is false if the kernel is too old to do so through a
// descriptor opened with O_PATH.
func (o opener) touch(name string, mtime int64) (ok bool, err error) {
	fd, ok, err := o.openat2(name, howToLook)
	if !ok || err != nil {
		return ok, err
	}
	defer unix.Close(fd)
	// Leave the access time as it is.
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime)}
	_, err = retried(func() (int, error) { return 0, unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH) })
	return err != unix.EINVAL, failed("utimensat", name, err)
}

// rename moves a file. ok is as for inDir.
func (o opener) rename(from, to string) (ok bool, err error) {
	found, err := o.inDir(from, howToChange, func(source int, old string) error {
		ok, err = o.inDir(to, howToChange, func(target int, new string) error {
			// Do not repeat an interrupted rename: it may have taken effect, and a second
			// one would fail because the old name is missing.
			if err := unix.Renameat(source, old, target, new); err != nil {
				return &os.LinkError{Op: "renameat", Old: from, New: to, Err: err}
			}
			return nil
		})
		return err
	})
	// If openat2 cannot find the second directory, os.Root does the whole rename.
	return found && (ok || err != nil), err
}

// link gives a file a second name. ok is as for inDir.
func (o opener) link(from, to string) (s Stat, ok bool, err error) {
	found, err := o.inDir(from, howToFind, func(source int, old string) error {
		ok, err = o.inDir(to, howToChange, func(target int, new string) error {
			// Do not repeat an interrupted link, for the reason given in rename.
			if err := unix.Linkat(source, old, target, new, 0); err != nil {
				return &os.LinkError{Op: "linkat", Old: from, New: to, Err: err}
			}
			var t unix.Stat_t
			_, err := retried(func() (int, error) { return 0, unix.Fstatat(target, new, &t, unix.AT_SYMLINK_NOFOLLOW) })
			if err != nil {
				return errors.Join(failed("fstatat", to, err), unlink(target, new, 0))
			}
			s = statOf(&t)
			return nil
		})
		return err
	})
	return s, found && (ok || err != nil), err
}

// readlink returns the target of a symbolic link. ok is as for open, and false if the
// target is too long.
func (o opener) readlink(name string) (target string, ok bool, err error) {
	// One call tells that nothing is there: that is asked for each missing chunk.
	fd, ok, err := o.openat2(name, howToReadLink)
	if !ok || err != nil {
		return "", ok, err
	}
	f := rawFile(fd)
	defer f.Close()
	var buf [unix.PathMax]byte
	n, err := retried(func() (int, error) { return unix.Readlinkat(fd, "", buf[:]) })
	switch {
	case err == unix.ENOENT: // what is there is no link
		return "", true, failed("readlinkat", name, unix.EINVAL)
	case err != nil: // package os would repeat an EINTR forever
		return "", true, failed("readlinkat", name, err)
	}
	// A full buffer may hold only the beginning of the target.
	return string(buf[:n]), n < len(buf), nil
}

// failed wraps the error of a system call with the call and the name of the file.
func failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
