package zipstore

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
)

// log is a temporary file. Its writer holds the lock of a file beside it, so that the
// writer of another archive can tell whether it was killed.
type log struct {
	name string
	w, r vfs.File
	lock vfs.File // nil where there are no locks
	end  int64
	done bool // closed
}

const (
	// temporary begins the names of files that are being written. Package file hides
	// them.
	temporary = own.Temporary
	// lockSuffix ends the name of the file whose lock the writer of a log holds.
	lockSuffix = ".zip-lock"
	// logTries bounds how often a log is begun anew because its lock was swept away.
	logTries = 8
)

// newLog begins a temporary file in fsys. The lock comes first: a log without one is
// never swept.
func newLog(fsys vfs.FS) (*log, error) {
	l := &log{}
	var err error
	for range logTries {
		l.name = temporary + strconv.FormatUint(rand.Uint64(), 36)
		l.lock, err = fsys.TryLock(l.name + lockSuffix)
		if !errors.Is(err, vfs.ErrLocked) { // a sweep had it between its creation and the lock
			break
		}
	}
	if err != nil {
		l.lock = nil
		if !errors.Is(err, errors.ErrUnsupported) {
			return nil, err
		}
	}
	if l.w, err = fsys.Create(l.name); err != nil {
		return nil, errors.Join(err, l.unlock(fsys))
	}
	if l.r, err = fsys.Open(l.name); err != nil {
		return nil, errors.Join(err, l.w.Close(), fsys.Remove(l.name), l.unlock(fsys))
	}
	return l, nil
}

// close closes the file once. The lock stays.
func (l *log) close() error {
	if l.done {
		return nil
	}
	l.done = true
	return errors.Join(l.w.Close(), l.r.Close())
}

// remove ends the log without a trace. Where it cannot be removed its lock file stays, so
// that a sweep tries again.
func (l *log) remove(fsys vfs.FS) error {
	err := errors.Join(l.close(), fsys.Remove(l.name))
	if err != nil && l.lock != nil {
		err = errors.Join(err, l.lock.Close())
		l.lock = nil
	}
	return errors.Join(err, l.unlock(fsys))
}

// unlock ends the lock, once the log has gone or has another name.
func (l *log) unlock(fsys vfs.FS) error {
	if l.lock == nil {
		return nil
	}
	err := errors.Join(fsys.Remove(l.name+lockSuffix), l.lock.Close())
	l.lock = nil
	return err
}

// sweep removes the logs of writers that were killed: those whose lock is free. It is a
// courtesy, so what cannot be removed stays.
func sweep(fsys vfs.FS) {
	var names []string
	for e, err := range fsys.ReadDir(".") {
		if err != nil {
			return
		}
		name, isLock := strings.CutSuffix(e.Name(), lockSuffix)
		if isLock && strings.HasPrefix(name, temporary) && e.Type().IsRegular() {
			names = append(names, name)
		}
	}
	for _, name := range names {
		lock, err := fsys.TryLock(name + lockSuffix)
		if err != nil {
			continue
		}
		if err := fsys.Remove(name); err == nil || vfs.Missing(err) {
			_ = fsys.Remove(name + lockSuffix)
		}
		_ = lock.Close()
	}
}
