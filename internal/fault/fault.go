// SPDX-License-Identifier: Apache-2.0

// Package fault defines the errors that the packages below the root share. Callers find
// them with [errors.Is]. The root gives them their public names.
package fault

import (
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/internal/sentinel"
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
