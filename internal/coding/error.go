// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"errors"
	"fmt"
)

// ErrRoom means that elements of variable length need more bytes than their heap may hold
// ([strided.Heap.Room]). The stored bytes are fine: a caller that can give more room
// decodes them again.
var ErrRoom = errors.New("no room")

// Error says which codec of a chain failed, and why.
type Error struct {
	Codec string // name in the metadata
	Place int    // position in the chain, from 0
	Err   error
}

// Error returns the place and name of the codec, and the message of Err.
func (e *Error) Error() string {
	return fmt.Sprintf("codec %d (%s): %v", e.Place, e.Codec, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
