// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// The errors that callers test for with [errors.Is]. Others come from the standard
// library: [fs.ErrNotExist], [fs.ErrExist], [fs.ErrPermission] and [context.Canceled].
var (
	// ErrInvalidMetadata means that a document violates the specification. Repair the
	// document, or create the node again.
	ErrInvalidMetadata = metadata.ErrInvalid
	// ErrUnsupported means that something may be valid but is not implemented: a data
	// type, codec, grid, extension or format version, or a capability of the store. The
	// message names it. Programs can register codecs.
	ErrUnsupported = fault.ErrUnsupported
	// ErrInvalidArgument means that a call can never succeed: a selection outside the
	// array, a wrong number of values, an invalid shape. Nothing was changed.
	ErrInvalidArgument = fault.ErrInvalidArgument
	// ErrCorrupt means that stored bytes do not decode as the metadata requires. Restore
	// the chunk, or write it again.
	ErrCorrupt = codec.ErrCorrupt
	// ErrChecksum is an ErrCorrupt: a checksum does not match.
	ErrChecksum error = codec.ErrChecksum
	// ErrConflict means that another writer published first or has reserved the array, or
	// that the array is not as the caller expected. Nothing of the change is visible.
	// Look at the array, then try again.
	ErrConflict = store.ErrConflict
	// ErrSourceChanged means that the source of a copy, conversion or append changed
	// meanwhile. Nothing was published. Try again. It is also an ErrConflict.
	ErrSourceChanged error = sourceChanged{}
	// ErrLocked means that another writer held a lock for longer than [Options.Locking]
	// permits a call to wait. Nothing was changed. The [store.LockError] names the
	// holder. Try again, or end a process that hangs.
	ErrLocked = store.ErrLocked
	// ErrIncomplete means that a change was published, but that cleaning up after it
	// failed. Do not repeat the change.
	ErrIncomplete = publish.ErrIncomplete
	// ErrDecided means that a transaction over several arrays is committed but not
	// complete, because the caller gave up or did not get a lock in time. Not all of it
	// is visible yet. The next change of one of the arrays completes it. Do not repeat
	// the transaction. It is also an ErrIncomplete.
	ErrDecided = publish.ErrDecided
	// ErrOutcomeUnknown means that the change may or may not have been published, because
	// the answer of the store was lost. Look at the node before you repeat the change.
	ErrOutcomeUnknown = publish.ErrOutcomeUnknown
	// ErrUnsafeConcurrentWrite means that a change must exclude concurrent writers and
	// the store cannot do that. Set [Options.SingleWriter] if there are none.
	ErrUnsafeConcurrentWrite = publish.ErrUnsafe
	// ErrReadOnly means that a node was opened for reading only. Set [Options.Write].
	ErrReadOnly = errors.New("opened for reading only" + remedy.Write)
	// ErrOverflow means that a number exceeds 64 bits.
	ErrOverflow = grid.ErrOverflow
	// ErrLimit means that something is larger than [Limits] permit.
	ErrLimit = engine.ErrLimit
	// ErrDurability means that the operating system could not guarantee that written
	// bytes survive a power cut. The store accepts no more writes. Open it again and
	// check the data.
	ErrDurability = store.ErrDurability
)

// sourceChanged is the type of ErrSourceChanged.
type sourceChanged struct{}

func (sourceChanged) Error() string        { return "the source changed" }
func (sourceChanged) Is(target error) bool { return target == ErrConflict }

// Error is an error with its place. Fields that do not apply are empty, and Axis is -1.
type Error struct {
	Op    string  // the operation: "open", "read", "append" …
	Path  string  // location of the node, without credentials
	Key   string  // key of the chunk or document in the store
	Chunk []int64 // index of the chunk
	Axis  int     // number of the axis
	Codec string  // name of the codec
	Err   error
}

// Error returns the operation, the node and the reason in one line. The reason names the
// key, chunk, axis and codec if they apply.
func (e *Error) Error() string {
	path := e.Path
	if path == "" {
		path = "/"
	}
	return fmt.Sprintf("%s %s: %s", e.Op, path, strings.ReplaceAll(e.Err.Error(), "\n", "; "))
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Is matches errors of other packages with the sentinels of this package.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrCorrupt:
		// Package zipstore has a sentinel of its own for a damaged archive.
		return errors.Is(e.Err, zipstore.ErrCorrupt)
	case ErrLimit:
		return errors.Is(e.Err, strictjson.ErrLimit)
	case ErrInvalidArgument:
		return fault.Any(e.Err, selection.ErrInvalid, store.ErrInvalidKey, grid.ErrOutOfRange) ||
			// The same sentinels report an invalid value in a document. That is the fault
			// of the document, not of the caller.
			fault.Any(e.Err, fault.InvalidValues...) && !errors.Is(e.Err, ErrInvalidMetadata)
	}
	return false
}

// fail wraps err in an [*Error] with the operation and the node. Nil stays nil.
func fail(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var inner *Error
	if errors.As(err, &inner) {
		// An inner call has named the place already, and more precisely.
		return err
	}
	at := array.PlaceOf(err)
	return &Error{Op: op, Path: path, Key: at.Key, Chunk: at.Chunk, Axis: at.Axis, Codec: at.Codec, Err: err}
}

// Kind classifies an error for programs that branch on it or print it, such as the
// command with --json. Its text is stable. A Kind is one of:
//
//	"decided"           [ErrDecided]
//	"checksum"          [ErrChecksum]
//	"corrupt"           [ErrCorrupt]
//	"source-changed"    [ErrSourceChanged]
//	"conflict"          [ErrConflict]
//	"limit"             [ErrLimit]
//	"overflow"          [ErrOverflow]
//	"no-space"          a full disk or an exceeded quota
//	"outcome-unknown"   [ErrOutcomeUnknown], [ErrDurability]
//	"not-found"         [fs.ErrNotExist]
//	"exists"            [fs.ErrExist]
//	"permission"        [fs.ErrPermission], [ErrReadOnly]
//	"unsupported"       [ErrUnsupported], [ErrUnsafeConcurrentWrite]
//	"invalid-argument"  [ErrInvalidArgument]
//	"invalid-metadata"  [ErrInvalidMetadata]
//	"timeout"           a deadline passed
//	"locked"            [ErrLocked]
//	"canceled"          [context.Canceled] and nothing else
//	"io"                any other error
type Kind string

// kinds lists the tests for all kinds but "io". The first one that holds counts.
var kinds = []struct {
	kind    Kind
	matches func(error) bool
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

// KindOf returns the kind of an error. If an error joins several, KindOf returns the kind
// that says most about the cause. A canceled context counts only if nothing else went
// wrong.
func KindOf(err error) Kind {
	for _, k := range kinds {
		if k.matches(err) {
			return k.kind
		}
	}
	return "io"
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
