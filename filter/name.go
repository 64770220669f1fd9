// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"

	"varve.dev/zarr"
)

// NameError is the error for a condition with a name that no array has. It wraps
// [zarr.ErrInvalidArgument].
type NameError struct {
	Name string // as the condition has it
	Path string // where the array would be, from the root of the store
}

// Error returns the message.
func (e *NameError) Error() string {
	return fmt.Sprintf("%v: the condition names %q, and there is no array %s; write text in quotes", zarr.ErrInvalidArgument, e.Name, e.Path)
}

// Unwrap returns [zarr.ErrInvalidArgument].
func (e *NameError) Unwrap() error { return zarr.ErrInvalidArgument }
