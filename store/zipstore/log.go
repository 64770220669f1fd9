// SPDX-License-Identifier: Apache-2.0

package zipstore

import (
	"errors"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
)

// log is the temporary file that becomes an archive. Its writer holds the lock of a
// second file. If that lock is free, the writer has crashed.
type log struct {
	name string
	w, r vfs.File
	lock vfs.File // nil if there are no locks
	end  int64
	done bool // closed
}

const (
	// temporary begins the names of files that are being written. Package filestore hides
	// them.
	temporary = own.Temporary
	// lockSuffix ends the name of the file that the writer of a log locks.
	lockSuffix = own.ZipLock
	// logTries bounds how often newLog starts again because a sweep took its lock.
	logTries = 8
)

// newLog makes a temporary file in fsys. It takes the lock first, because a sweep removes
// only logs that have a lock file.
func newLog(fsys vfs.FS) (*log, error) {
	l := &log{}
	var err error
	for range logTries {
		l.name = temporary + own.Random()
		l.lock, err = fsys.TryLock(l.name + lockSuffix)
		if !errors.Is(err, vfs.ErrLocked) { // a concurrent sweep locked the new file first
			break
		}
	}
	if err != nil {
		l.lock = nil
		// Without locks there is no lock file, so no sweep removes this log.
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

// close closes the file once. The lock stays held.
func (l *log) close() error {
	if l.done {
		return nil
	}
	l.done = true
	return errors.Join(l.w.Close(), l.r.Close())
}

// remove removes the log. If that fails, its lock file stays, so that a sweep tries
// again.
func (l *log) remove(fsys vfs.FS) error {
	err := errors.Join(l.close(), fsys.Remove(l.name))
	// Release the lock but keep its file, by which a sweep finds the log.
	if err != nil && l.lock != nil {
		err = errors.Join(err, l.lock.Close())
		l.lock = nil
	}
	return errors.Join(err, l.unlock(fsys))
}

// unlock releases the lock, after the log was removed or renamed.
func (l *log) unlock(fsys vfs.FS) error {
	if l.lock == nil {
		return nil
	}
	err := errors.Join(fsys.Remove(l.name+lockSuffix), l.lock.Close())
	l.lock = nil
	return err
}

// sweep removes the logs of crashed writers, whose locks are free. It ignores errors.
func sweep(fsys vfs.FS) {
	var names []string
	for e, err := range fsys.ReadDir(".") {
		if err != nil {
			return
		}
		name, isLock := strings.CutSuffix(e.Name(), lockSuffix)
		// Temporary files without such a lock belong to package filestore.
		if isLock && own.IsTemporary(name) && e.Type().IsRegular() {
			names = append(names, name)
		}
	}
	for _, name := range names {
		lock, err := fsys.TryLock(name + lockSuffix)
		if err != nil {
			continue
		}
		// Remove the lock file last. If this sweep crashes in between, the next one finds
		// the log by its lock file.
		if err := fsys.Remove(name); err == nil || vfs.Missing(err) {
			_ = fsys.Remove(name + lockSuffix)
		}
		_ = lock.Close()
	}
}
