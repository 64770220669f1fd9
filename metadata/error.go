package metadata

import (
	"errors"
	"fmt"

	"varve.dev/zarr/internal/strictjson"
)

var (
	// ErrInvalid says that a document is not what the specification demands. It has to be repaired or written anew.
	ErrInvalid = errors.New("metadata: invalid")
	// ErrUnsupported says that a document may be valid but asks for what this library does not know:
	// another format version, an extension that must be understood, a storage transformer.
	ErrUnsupported = errors.New("metadata: not supported")
)

// Error is a fault of a document. It is [ErrInvalid] or [ErrUnsupported] to errors.Is.
type Error struct {
	// Pointer is the JSON pointer (RFC 6901) of the value at fault; "" is the whole document.
	Pointer string
	// Err is what is wrong there.
	Err error
}

// Error returns where and what, as in "metadata: /shape/0: must be an integer, got 1.5".
func (e *Error) Error() string {
	if e.Pointer == "" {
		return "metadata: " + e.Err.Error()
	}
	return "metadata: " + strictjson.Abbreviate(e.Pointer) + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is ErrInvalid, where the fault is not an ErrUnsupported.
func (e *Error) Is(target error) bool {
	return target == ErrInvalid && !errors.Is(e.Err, ErrUnsupported)
}

// unsupported is a message that is ErrUnsupported to errors.Is.
type unsupported string

func (u unsupported) Error() string        { return string(u) }
func (u unsupported) Is(target error) bool { return target == ErrUnsupported }

func unsupportedf(format string, args ...any) error { return unsupported(fmt.Sprintf(format, args...)) }

// located turns an error of the JSON layer, or one without a place, into an [*Error].
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

// under puts a pointer before the pointer of an error.
func under(err error, pointer string) error {
	switch e := located(err).(type) {
	case *Error:
		return &Error{pointer + e.Pointer, e.Err}
	default:
		return e
	}
}
