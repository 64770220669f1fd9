// SPDX-License-Identifier: Apache-2.0

// Package element holds, reads, writes and prints elements of any data type.
package element

import (
	"context"
	"slices"
	"unsafe"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// Values holds elements of one data type in C order. Data holds fixed-length elements
// in host byte order, and Words holds variable-length ones.
type Values struct {
	Type  dtype.Type
	Data  []byte
	Words [][]byte
}

// Width returns the bytes of an element in memory. For variable-length elements it is
// the size of a reference.
func Width(t dtype.Type) int64 { return int64(codec.Spec{Type: t}.Width()) }

// Len returns the number of elements.
func (e Values) Len() int {
	if e.Type.Variable() {
		return len(e.Words)
	}
	return len(e.Data) / e.Type.Size()
}

// Bytes returns the bytes of all elements.
func (e Values) Bytes() int64 {
	n := int64(len(e.Data))
	for _, w := range e.Words {
		n += int64(len(w))
	}
	return n
}

// At returns element i.
func (e Values) At(i int) []byte {
	if e.Type.Variable() {
		return e.Words[i]
	}
	n := e.Type.Size()
	return e.Data[i*n : (i+1)*n : (i+1)*n]
}

// Grow makes room for n elements, whose values are undefined.
func (e *Values) Grow(n int) {
	if e.Type.Variable() {
		clear(e.Words) // release the old texts while others are read
		e.Words = slices.Grow(e.Words[:0], n)[:n]
		return
	}
	n *= e.Type.Size()
	e.Data = slices.Grow(e.Data[:0], n)[:n]
}

// Read fills e with the selected elements, which must have the same number.
func (e Values) Read(ctx context.Context, a *zarr.Array, sel selection.Selection) error {
	switch {
	case e.Type.Kind() == dtype.String && len(e.Words) <= manyWords:
		return e.readText(ctx, a, sel)
	case e.Type.Variable():
		return zarr.ReadInto(ctx, a, sel, e.Words)
	}
	return a.ReadBytes(ctx, sel, e.Data)
}

// manyWords bounds the texts that readText reads. With more texts, the additional
// references would probably take more memory than copies.
const manyWords = 1 << 20

// readText is Read for texts without copying. The texts share the memory that they were
// decoded to, which is never modified.
func (e Values) readText(ctx context.Context, a *zarr.Array, sel selection.Selection) error {
	texts := make([]string, len(e.Words))
	if err := zarr.ReadInto(ctx, a, sel, texts); err != nil {
		return err
	}
	for i, text := range texts {
		e.Words[i] = unsafe.Slice(unsafe.StringData(text), len(text))
	}
	return nil
}

// Write stores the elements in the selected places.
func (e Values) Write(ctx context.Context, a *zarr.Array, sel selection.Selection) error {
	if e.Type.Variable() {
		return zarr.Write(ctx, a, sel, e.Words)
	}
	return a.WriteBytes(ctx, sel, e.Data)
}

// IsNumeric reports whether elements are integers or floating-point numbers.
func IsNumeric(t dtype.Type) bool {
	k := t.Kind()
	return k == dtype.Int || k == dtype.Uint || k == dtype.Float
}

// Fill returns the fill value of an array as an element.
func Fill(a *zarr.Array) []byte {
	elem, err := a.FillValue().Element(a.Type())
	if err != nil {
		return a.Type().Default() // the fill value of an open array is valid
	}
	return elem
}
