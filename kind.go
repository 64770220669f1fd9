// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/rehearsal"
)

// Kind classifies an error for programs that branch on it or print it, such as the
// command with --json. Its text is stable.
type Kind string

// The kinds of errors.
const (
	KindDecided         Kind = "decided"          // [ErrDecided]
	KindChecksum        Kind = "checksum"         // [ErrChecksum]
	KindCorrupt         Kind = "corrupt"          // [ErrCorrupt]
	KindSourceChanged   Kind = "source-changed"   // [ErrSourceChanged]
	KindConflict        Kind = "conflict"         // [ErrConflict]
	KindLimit           Kind = "limit"            // [ErrLimit]
	KindOverflow        Kind = "overflow"         // [ErrOverflow]
	KindNoSpace         Kind = "no-space"         // a full disk or an exceeded quota
	KindOutcomeUnknown  Kind = "outcome-unknown"  // [ErrOutcomeUnknown], [ErrDurability]
	KindNotFound        Kind = "not-found"        // [fs.ErrNotExist]
	KindExists          Kind = "exists"           // [fs.ErrExist]
	KindPermission      Kind = "permission"       // [fs.ErrPermission], [ErrReadOnly]
	KindUnsupported     Kind = "unsupported"      // [ErrUnsupported], [ErrUnsafeConcurrentWrite]
	KindInvalidArgument Kind = "invalid-argument" // [ErrInvalidArgument]
	KindInvalidMetadata Kind = "invalid-metadata" // [ErrInvalidMetadata]
	KindTimeout         Kind = "timeout"          // a deadline passed
	KindLocked          Kind = "locked"           // [ErrLocked]
	KindCanceled        Kind = "canceled"         // [context.Canceled] and nothing else
	KindIO              Kind = "io"               // any other error
)

// kinds lists the tests for all kinds but KindIO. The first one that holds counts.
var kinds = []struct {
	kind Kind
	is   func(error) bool
}{
	{KindDecided, among(ErrDecided)},
	{KindChecksum, among(ErrChecksum)},
	{KindCorrupt, among(ErrCorrupt)},
	{KindSourceChanged, among(ErrSourceChanged)},
	{KindConflict, among(ErrConflict)},
	{KindLimit, among(ErrLimit, rehearsal.ErrFull)},
	{KindOverflow, among(ErrOverflow)},
	{KindNoSpace, isFull},
	{KindOutcomeUnknown, among(ErrOutcomeUnknown, ErrDurability)},
	{KindNotFound, among(fs.ErrNotExist)},
	{KindExists, among(fs.ErrExist)},
	{KindPermission, among(fs.ErrPermission, ErrReadOnly, syscall.EROFS)},
	{KindUnsupported, among(ErrUnsupported, ErrUnsafeConcurrentWrite)},
	{KindInvalidArgument, among(ErrInvalidArgument)},
	{KindInvalidMetadata, among(ErrInvalidMetadata)},
	{KindTimeout, isTimeout},
	{KindLocked, among(ErrLocked)},
	{KindCanceled, isCanceled},
}

// KindOf returns the kind of an error. If an error joins several, KindOf returns the kind
// that says most about the cause. A canceled context counts only if nothing else went
// wrong.
func KindOf(err error) Kind {
	for _, k := range kinds {
		if k.is(err) {
			return k.kind
		}
	}
	return KindIO
}

// among returns the test for any of several errors.
func among(targets ...error) func(error) bool {
	return func(err error) bool { return fault.Any(err, targets...) }
}

// Windows reports a full disk by error numbers that package syscall does not translate.
const (
	windowsHandleDiskFull = syscall.Errno(39)
	windowsDiskFull       = syscall.Errno(112)
)

// isFull reports whether a disk is full or a quota is exceeded.
func isFull(err error) bool {
	if fault.Any(err, syscall.ENOSPC, syscall.EDQUOT) {
		return true
	}
	var number syscall.Errno
	return runtime.GOOS == "windows" && errors.As(err, &number) && (number == windowsDiskFull || number == windowsHandleDiskFull)
}

// isTimeout reports whether a deadline has passed.
func isTimeout(err error) bool {
	if fault.Any(err, context.DeadlineExceeded, os.ErrDeadlineExceeded, syscall.ETIMEDOUT) {
		return true
	}
	var late interface{ Timeout() bool }
	var number syscall.Errno // EAGAIN calls itself a timeout
	return errors.As(err, &late) && late.Timeout() && !errors.As(err, &number)
}

// isCanceled reports whether an error is a cancellation and nothing else. After the first
// failure of several goroutines the others are canceled, so a cancellation that is joined
// with another error does not count.
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
