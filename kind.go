package zarr

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/store/rehearsal"
)

// kinds are the words for errors that callers branch on. The first one that applies
// counts.
var kinds = []struct {
	name string
	is   func(error) bool
}{
	{"decided", among(ErrDecided)},
	{"checksum", among(ErrChecksum)},
	{"corrupt", among(ErrCorrupt)},
	{"source-changed", among(ErrSourceChanged)},
	{"conflict", among(ErrConflict)},
	{"limit", among(ErrLimit, rehearsal.ErrFull)},
	{"overflow", among(ErrOverflow)},
	{"no-space", isFull},
	{"outcome-unknown", among(ErrOutcomeUnknown, ErrDurability)},
	{"not-found", among(fs.ErrNotExist)},
	{"exists", among(fs.ErrExist)},
	{"permission", among(fs.ErrPermission, ErrReadOnly, syscall.EROFS)},
	{"unsupported", among(ErrUnsupported, ErrUnsafeConcurrentWrite)},
	{"invalid-argument", among(ErrInvalidArgument)},
	{"invalid-metadata", among(ErrInvalidMetadata)},
	{"timeout", isTimeout},
	{"locked", among(ErrLocked)},
	{"canceled", isCanceled},
}

// Kind returns one word for what is wrong: not-found, exists, invalid-metadata,
// unsupported, invalid-argument, corrupt, checksum, conflict, source-changed, decided,
// outcome-unknown, overflow, limit, permission, no-space, timeout, locked, canceled, or
// io for everything else. Of several errors that are one it names what says most: an
// interrupt only where nothing else went wrong.
func Kind(err error) string {
	for _, k := range kinds {
		if k.is(err) {
			return k.name
		}
	}
	return "io"
}

// among returns the test for any of several errors.
func among(targets ...error) func(error) bool {
	return func(err error) bool { return fault.Any(err, targets...) }
}

// Windows has numbers of its own for a full disk, which package syscall does not
// translate.
const (
	windowsHandleDiskFull = syscall.Errno(39)
	windowsDiskFull       = syscall.Errno(112)
)

// isFull reports whether a disk, or what a user may take of it, is full.
func isFull(err error) bool {
	if fault.Any(err, syscall.ENOSPC, syscall.EDQUOT) {
		return true
	}
	var number syscall.Errno
	return runtime.GOOS == "windows" && errors.As(err, &number) && (number == windowsDiskFull || number == windowsHandleDiskFull)
}

// isTimeout reports whether something took longer than it may.
func isTimeout(err error) bool {
	if fault.Any(err, context.DeadlineExceeded, os.ErrDeadlineExceeded, syscall.ETIMEDOUT) {
		return true
	}
	var late interface{ Timeout() bool }
	var number syscall.Errno // EAGAIN calls itself a timeout
	return errors.As(err, &late) && late.Timeout() && !errors.As(err, &number)
}

// isCanceled reports whether an error is an interrupt and nothing else. What the first
// failure of several goroutines stops is interrupted, too, so that an interrupt beside
// another error is none.
func isCanceled(err error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if !isCanceled(one) {
				return false
			}
		}
		return len(e.Unwrap()) > 0
	case interface{ Unwrap() error }:
		return isCanceled(e.Unwrap())
	}
	return err == context.Canceled
}
