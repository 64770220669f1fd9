package main

import (
	"context"
	"slices"
	"unsafe"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// elements are values of one data type in C order: one behind the other in host byte
// order, or each by itself where they differ in length.
type elements struct {
	typ   dtype.Type
	data  []byte
	words [][]byte
}

// width returns how many bytes an element takes in memory; of one that may have any
// length, what a reference to it takes.
func width(t dtype.Type) int64 { return int64(codec.Spec{Type: t}.Width()) }

func (e elements) len() int {
	if e.typ.Variable() {
		return len(e.words)
	}
	return len(e.data) / e.typ.Size()
}

// bytes returns the bytes of all elements.
func (e elements) bytes() int64 {
	n := int64(len(e.data))
	for _, w := range e.words {
		n += int64(len(w))
	}
	return n
}

// at returns element i.
func (e elements) at(i int) []byte {
	if e.typ.Variable() {
		return e.words[i]
	}
	n := e.typ.Size()
	return e.data[i*n : (i+1)*n : (i+1)*n]
}

// grow makes room for n elements, whatever they are then.
func (e *elements) grow(n int) {
	if e.typ.Variable() {
		clear(e.words) // the texts before are not kept while others are read
		e.words = slices.Grow(e.words[:0], n)[:n]
		return
	}
	n *= e.typ.Size()
	e.data = slices.Grow(e.data[:0], n)[:n]
}

// read fills the elements with those that are selected, just as many.
func (e elements) read(ctx context.Context, a *zarr.Array, sel selection.Selection) error {
	switch {
	case e.typ.Kind() == dtype.String && len(e.words) <= manyWords:
		return e.readText(ctx, a, sel)
	case e.typ.Variable():
		return zarr.ReadInto(ctx, a, sel, e.words)
	}
	return a.ReadBytes(ctx, sel, e.data)
}

// manyWords is how many texts are read at most as readText does. Of more, what refers to
// them takes more memory than a copy is likely to.
const manyWords = 1 << 20

// readText is read of texts. They stay in the memory that they were decoded to, which
// nobody writes to.
func (e elements) readText(ctx context.Context, a *zarr.Array, sel selection.Selection) error {
	texts := make([]string, len(e.words))
	if err := zarr.ReadInto(ctx, a, sel, texts); err != nil {
		return err
	}
	for i, text := range texts {
		e.words[i] = unsafe.Slice(unsafe.StringData(text), len(text))
	}
	return nil
}

// write stores the elements as those that are selected.
func (e elements) write(ctx context.Context, a *zarr.Array, sel selection.Selection) error {
	if e.typ.Variable() {
		return zarr.Write(ctx, a, sel, e.words)
	}
	return a.WriteBytes(ctx, sel, e.data)
}

// isNumeric reports whether elements are numbers of one part.
func isNumeric(t dtype.Type) bool {
	k := t.Kind()
	return k == dtype.Int || k == dtype.Uint || k == dtype.Float
}
