// SPDX-License-Identifier: Apache-2.0

// Package mistake has errors that keep what a caller wrote apart from their text. The
// command finds it with [errors.As] and says what may have been meant.
package mistake

// Name is the error for a name that nothing has.
type Name struct {
	Name  string
	Names []string // those that there are, if they are known
	Err   error    // says so
}

// Error implements error.
func (e *Name) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Name) Unwrap() error { return e.Err }

// Index is the error for an index outside its axis.
type Index struct {
	Index int64
	Err   error // says so
}

// Error implements error.
func (e *Index) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Index) Unwrap() error { return e.Err }
