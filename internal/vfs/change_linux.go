package vfs

import (
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// create makes a new file. It is ok as open is, and where a link is on the way.
func (o opener) create(name string) (f File, ok bool, err error) {
	if !fs.ValidPath(name) {
		return nil, false, nil
	}
	fd, ok, err := o.at(name, toMake)
	if !ok || err != nil {
		return nil, ok, err
	}
	return osFile{os.NewFile(uintptr(fd), name)}, true, nil
}

// in calls do with the directory that a name is in, found as how says, and what it is
// called there. It is not ok where that is left to os.Root.
func (o opener) in(name string, how *unix.OpenHow, do func(dir int, base string) error) (ok bool, err error) {
	if !fs.ValidPath(name) || name == "." {
		return false, nil
	}
	fd, ok, err := o.at(path.Dir(name), how)
	if !ok || err != nil {
		return ok, err
	}
	defer unix.Close(fd)
	return true, do(fd, path.Base(name))
}

// mkdir makes a directory. It is ok as in is.
func (o opener) mkdir(name string) (ok bool, err error) {
	return o.in(name, toChange, func(dir int, base string) error {
		_, err := retried(func() (int, error) { return 0, unix.Mkdirat(dir, base, 0o777) })
		return failed("mkdirat", name, err)
	})
}

// makeDir makes a directory of this machine.
func makeDir(dir string) error {
	_, err := retried(func() (int, error) { return 0, unix.Mkdir(dir, 0o777) })
	return failed("mkdir", dir, err)
}

// touch sets a modification time. It is not ok where the kernel is too old for a
// descriptor that only looks.
func (o opener) touch(name string, mtime int64) (ok bool, err error) {
	fd, ok, err := o.at(name, toLook)
	if !ok || err != nil {
		return ok, err
	}
	defer unix.Close(fd)
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime)}
	_, err = retried(func() (int, error) { return 0, unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH) })
	return err != unix.EINVAL, failed("utimensat", name, err)
}

// rename moves a file. It is ok as in is.
func (o opener) rename(from, to string) (ok bool, err error) {
	found, err := o.in(from, toChange, func(source int, old string) error {
		ok, err = o.in(to, toChange, func(target int, new string) error {
			// It is not made again: one that was interrupted may have been done.
			if err := unix.Renameat(source, old, target, new); err != nil {
				return &os.LinkError{Op: "renameat", Old: from, New: to, Err: err}
			}
			return nil
		})
		return err
	})
	return found && (ok || err != nil), err
}

// readlink returns where a symbolic link leads. It is ok as in is, and where the target
// is not too long.
func (o opener) readlink(name string) (target string, ok bool, err error) {
	target, long := "", false
	ok, err = o.in(name, toFind, func(dir int, base string) error {
		var buf [unix.PathMax]byte
		n, err := retried(func() (int, error) { return unix.Readlinkat(dir, base, buf[:]) })
		if err == nil {
			target, long = string(buf[:n]), n == len(buf)
		}
		return failed("readlinkat", name, err)
	})
	return target, ok && !long, err
}

// failed returns the error of a system call with the name that it is about.
func failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
