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

// Values are elements of one data type in C order: in Data, in host byte order, or in
// Words if they differ in length.
type Values struct {
	Type  dtype.Type
	Data  []byte
	Words [][]byte
}

// Width returns the bytes that an element takes in memory, or if elements differ in length
// those of a reference to one.
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

// Read fills the elements with the selected ones. There must be as many of them.
func (e Values) Read(ctx context.Context, a *zarr.Array, sel selection.Selection) error {
	switch {
	case e.Type.Kind() == dtype.String && len(e.Words) <= manyWords:
		return e.readText(ctx, a, sel)
	case e.Type.Variable():
		return zarr.ReadInto(ctx, a, sel, e.Words)
	}
	return a.ReadBytes(ctx, sel, e.Data)
}

// manyWords is the most texts that readText reads. The references to more texts would take
// more memory than copies of them are likely to.
const manyWords = 1 << 20

// readText is Read for texts, without copies: they stay in the memory that they were
// decoded to, which is never written again.
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

// Write stores the elements as the selected ones.
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
		return a.Type().Default() // an array that is open has a valid one
	}
	return elem
}
