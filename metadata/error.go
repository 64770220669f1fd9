// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"errors"
	"fmt"

	"varve.dev/zarr/internal/sentinel"
	"varve.dev/zarr/internal/strictjson"
)

var (
	// ErrInvalid means that a document violates the specification. It must be
	// repaired or written again.
	ErrInvalid = errors.New("metadata: invalid")
	// ErrUnsupported means that a document may be valid but requires something that this
	// library does not support: another format version, an extension that must be
	// understood, or a storage transformer.
	ErrUnsupported = sentinel.New("metadata: not supported", sentinel.ErrUnsupported)
)

// Error is a fault of a document. It matches either [ErrInvalid] or [ErrUnsupported] in
// errors.Is.
type Error struct {
	// Pointer is the JSON pointer (RFC 6901) of the value at fault, "" for the whole
	// document.
	Pointer string
	// Err describes the fault.
	Err error
}

// Error returns the position and the fault, such as "metadata: /shape/0: must be an
// integer, got 1.5".
func (e *Error) Error() string {
	if e.Pointer == "" {
		return "metadata: " + e.Err.Error()
	}
	return "metadata: " + strictjson.Abbreviate(e.Pointer) + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is ErrInvalid and the fault is not an ErrUnsupported.
func (e *Error) Is(target error) bool {
	return target == ErrInvalid && !errors.Is(e.Err, ErrUnsupported)
}

// unsupported is a message that matches ErrUnsupported in errors.Is.
type unsupported string

func (u unsupported) Error() string { return string(u) }
func (u unsupported) Unwrap() error { return ErrUnsupported }

func unsupportedf(format string, args ...any) error { return unsupported(fmt.Sprintf(format, args...)) }

// located converts an error of package strictjson, or one without a position, to an
// [*Error].
func located(err error) error {
	if err == nil {
		return nil
	}
	switch e := err.(type) {
	case *Error:
		return err
	case *strictjson.Error:
		return &Error{e.Pointer, e.Err}
	}
	return &Error{"", err}
}

// prefixPointer adds a prefix to the pointer of an error.
func prefixPointer(err error, pointer string) error {
	switch e := located(err).(type) {
	case *Error:
		return &Error{pointer + e.Pointer, e.Err}
	default:
		return e
	}
}

// unsupportedV2 returns the error for something that format 2 cannot express.
func unsupportedV2(pointer, format string, args ...any) error {
	return &Error{pointer, unsupportedf("format 2 cannot express this: %s", fmt.Sprintf(format, args...))}
}
