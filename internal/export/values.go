// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"slices"
	"unsafe"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/selection"
)

// Values are elements of one data type in C order. Elements of fixed size are in Data, in
// host byte order; elements of variable length are in Words.
type Values struct {
	Type  dtype.Type
	Data  []byte
	Words [][]byte
	Fill  []byte // the fill value of the array that they are from, nil for a file
}

// Width returns the bytes of an element in memory. If elements differ in length, it is
// the size of a reference to one.
func Width(t dtype.Type) int64 { return int64(coding.Width(codec.Spec{Type: t})) }

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

// Grow sets the number of elements to n. Their values are undefined.
func (e *Values) Grow(n int) {
	if e.Type.Variable() {
		clear(e.Words) // let the collector free the old texts
		e.Words = slices.Grow(e.Words[:0], n)[:n]
		return
	}
	n *= e.Type.Size()
	e.Data = slices.Grow(e.Data[:0], n)[:n]
}

// Read reads the selected elements into e, which must have exactly their number.
func (e Values) Read(ctx context.Context, a *zarr.Array, sel selection.Selection) error {
	switch {
	case e.Type.Kind() == dtype.KindString && len(e.Words) <= manyWords:
		return e.readText(ctx, a, sel)
	case e.Type.Variable():
		return zarr.ReadInto(ctx, a, sel, e.Words)
	}
	return a.ReadBytes(ctx, sel, e.Data)
}

// manyWords bounds the texts that readText reads. For more texts, the references would
// take more memory than copies.
const manyWords = 1 << 20

// readText is Read for texts, without copies. The texts refer to the decoded memory,
// which is never written again.
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

// Write writes e as the selected elements.
func (e Values) Write(ctx context.Context, a *zarr.Array, sel selection.Selection) error {
	if e.Type.Variable() {
		return zarr.Write(ctx, a, sel, e.Words)
	}
	return a.WriteBytes(ctx, sel, e.Data)
}
