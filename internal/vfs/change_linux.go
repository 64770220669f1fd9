// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// create makes a new file. ok is as for open, and also true if a directory in name is a
// symbolic link.
func (o opener) create(name string) (f File, ok bool, err error) {
	// os.Root reports invalid names.
	if !fs.ValidPath(name) {
		return nil, false, nil
	}
	fd, ok, err := o.at(name, toMake)
	if !ok || err != nil {
		return nil, ok, err
	}
	return osFile{os.NewFile(uintptr(fd), name)}, true, nil
}

// in opens the directory of a name with how, and calls do with it and the last segment of
// the name. If ok is false, the caller falls back on os.Root.
func (o opener) in(name string, how *unix.OpenHow, do func(dir int, base string) error) (ok bool, err error) {
	// os.Root reports invalid names.
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

// mkdir makes a directory. ok is as for in.
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

// touch sets a modification time. ok is false if the kernel is too old to do so through a
// descriptor opened with O_PATH.
func (o opener) touch(name string, mtime int64) (ok bool, err error) {
	fd, ok, err := o.at(name, toLook)
	if !ok || err != nil {
		return ok, err
	}
	defer unix.Close(fd)
	// Leave the access time as it is.
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime)}
	_, err = retried(func() (int, error) { return 0, unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH) })
	return err != unix.EINVAL, failed("utimensat", name, err)
}

// rename moves a file. ok is as for in.
func (o opener) rename(from, to string) (ok bool, err error) {
	found, err := o.in(from, toChange, func(source int, old string) error {
		ok, err = o.in(to, toChange, func(target int, new string) error {
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

// link gives a file a second name. ok is as for in.
func (o opener) link(from, to string) (s Stat, ok bool, err error) {
	found, err := o.in(from, toFind, func(source int, old string) error {
		ok, err = o.in(to, toChange, func(target int, new string) error {
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
	fd, ok, err := o.at(name, toLink)
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
