// SPDX-License-Identifier: Apache-2.0

// Package fault defines the errors that the packages below the root share. Callers find
// them with [errors.Is]. The root gives them their public names.
package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/sentinel"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

var (
	// ErrUnsupported reports a request or a document that may be valid but is not
	// implemented. The ErrUnsupported of every package below matches it too.
	ErrUnsupported = sentinel.ErrUnsupported
	// ErrInvalidArgument reports a request that can never succeed.
	ErrInvalidArgument = errors.New("invalid argument")
)

// Argument returns an [ErrInvalidArgument] with a formatted message.
func Argument(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalidArgument, fmt.Sprintf(format, args...))
}

// NotFound is an [fs.ErrNotExist] whose text describes the missing node, or the place.
type NotFound string

// Error returns the text.
func (n NotFound) Error() string { return string(n) }

// Is reports whether target is [fs.ErrNotExist].
func (n NotFound) Is(target error) bool { return target == fs.ErrNotExist }

// Any reports whether err wraps one of the targets.
func Any(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

// Source is the reason of an error of reading a foreign file. All chunks that lie in one
// file fail for one reason. Its text is that of the reason.
type Source struct {
	Location string // of the file
	Err      error
}

// Error returns the reason.
func (s *Source) Error() string { return s.Err.Error() }

// Unwrap returns the reason.
func (s *Source) Unwrap() error { return s.Err }

// InvalidValues lists the errors of lower packages that report an invalid value. A value
// from a caller is an invalid argument, and a value from a document is invalid metadata.
var InvalidValues = []error{dtype.ErrInvalid, grid.ErrInvalid, codec.ErrConfiguration}

// At adds the place in a document, a JSON pointer, to an error.
func At(pointer string, err error) error { return fmt.Errorf("%s: %w", pointer, err) }

// documentError is an error about a value in a document.
type documentError struct{ err error }

func (e *documentError) Error() string { return e.err.Error() }
func (e *documentError) Unwrap() error { return e.err }

func (e *documentError) Is(target error) bool {
	return target == metadata.ErrInvalid && Any(e.err, InvalidValues...)
}

// InDocument marks err as one about values in a document, so that invalid values wrap
// [metadata.ErrInvalid]. Nil stays nil.
func InDocument(err error) error {
	if err == nil {
		return nil
	}
	return &documentError{err}
}

// FileError is an error about a document as a whole, or about its content.
type FileError struct {
	Key string // of the document
	err error
}

// Error returns the reason. For a document of format 3 it adds the key. Errors about
// documents of format 2 contain the key already.
func (e *FileError) Error() string {
	if strings.HasSuffix(e.Key, nodename.V3Node) {
		return e.Key + ": " + e.err.Error()
	}
	return e.err.Error()
}

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.err }

// InFile adds the key of the document to err. It does not change errors that wrap
// [ErrUnsupported], because these are about the node. Nil stays nil.
func InFile(key store.Key, err error) error {
	if err == nil || errors.Is(err, metadata.ErrUnsupported) {
		return err
	}
	return &FileError{key.String(), err}
}
