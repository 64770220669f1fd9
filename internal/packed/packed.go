// SPDX-License-Identifier: Apache-2.0

// Package packed asks what the bytes of elements are, for codecs and for the packages
// that convert elements: more than package dtype tells its users.
package packed

import (
	"bytes"
	"slices"

	"varve.dev/zarr/dtype"
)

// HasBool reports whether t is bool or a struct with a bool field, so that some bytes are
// not valid elements.
func HasBool(t dtype.Type) bool {
	return t.Kind() == dtype.KindBool || slices.ContainsFunc(t.Fields(), func(f dtype.Field) bool { return HasBool(f.Type) })
}

// Small reports whether the bytes of an element have unused bits; see
// [dtype.Type.Normalize].
func Small(t dtype.Type) bool {
	if t.Kind() == dtype.KindStruct {
		return slices.ContainsFunc(t.Fields(), func(f dtype.Field) bool { return Small(f.Type) })
	}
	return t.Bits() > 0 && t.Bits() < 8
}

// AppendWord appends the text of an element of fixed length without its padding.
// Null-terminated bytes need not be valid text.
func AppendWord(t dtype.Type, dst, elem []byte) []byte {
	if t.Kind() == dtype.KindUTF32 {
		return t.AppendText(dst, elem)
	}
	return append(dst, TrimPadding(t, elem)...)
}

// TrimPadding returns an element without its padding, the zeros at the end of
// null-terminated bytes. Elements of other types are returned unchanged.
func TrimPadding(t dtype.Type, elem []byte) []byte {
	if t.Kind() == dtype.KindTerminated {
		return bytes.TrimRight(elem, "\x00")
	}
	return elem
}

// Turned returns a type of the same size for which [dtype.Type.Swap] only swaps some of
// the numbers. It calls turn for every field that has a byte order, in the order in which
// the fields are stored. Fields for which turn returns false become raw bytes. Arrays of
// format 2 need this, because every field of a NumPy structured type has its own byte
// order.
func Turned(t dtype.Type, turn func() bool) dtype.Type {
	if t.Kind() != dtype.KindStruct {
		if t.Ordered() && !turn() {
			// Raw bytes are never swapped.
			return must(dtype.RawBytes(t.Size()))
		}
		return t
	}
	fields := t.Fields()
	for i := range fields {
		fields[i].Type = Turned(fields[i].Type, turn)
	}
	return must(dtype.StructOf(fields...))
}

// must panics on an error. There cannot be one: names and sizes are those of a type.
func must(t dtype.Type, err error) dtype.Type {
	if err != nil {
		panic(err)
	}
	return t
}
