// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/backdoor"
)

// Small reports whether the bytes of an element have unused bits. This is so for integers
// and floats of fewer than 8 bits, and for structs with such fields. In memory, unused
// bits repeat the sign of an integer and are 0 in a float.
var Small = backdoor.Use[func(t dtype.Type) bool]("dtype.Small")

// Normalize sets the unused bits of consecutive elements to the values that they have in
// memory; see [Small].
var Normalize = backdoor.Use[func(t dtype.Type, elems []byte)]("dtype.Normalize")

// Check returns an error that wraps [dtype.ErrInvalid] if elems, consecutive elements,
// has bytes that are not elements of t. These are a bool other than 0 and 1, a number
// of fewer than 8 bits whose other bits are wrong, and text that is not UTF-8 or not
// Unicode. Other types have no invalid elements.
var Check = backdoor.Use[func(t dtype.Type, elems []byte) error]("dtype.Check")

// AppendWord appends the text of an element of fixed length without its padding.
// Null-terminated bytes need not be valid text.
var AppendWord = backdoor.Use[func(t dtype.Type, dst, elem []byte) []byte]("dtype.AppendWord")

// SetText sets elem, an element of fixed-length text or null-terminated bytes, to a text
// padded with zeros. It returns false if the text is too long.
var SetText = backdoor.Use[func(t dtype.Type, elem []byte, text string) bool]("dtype.SetText")
