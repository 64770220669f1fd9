// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
)

// Order is the place of an element beside a value.
type Order int8

// The orders of elements. An element is Absent if it is missing or NaN: it has no place
// beside any value.
const (
	Below  Order = -1
	Within Order = 0
	Above  Order = 1
	Absent Order = 2
)

// Comparer compares the elements of an array with values that are written as text, in the
// words of [Lookup]: numbers, unpacked as CF requires; dates in the calendar of the
// array; durations; text; true and false. Elements are missing as in xarray, but zero and
// empty text never are in the coordinate of a dimension.
//
// A date without a time of day is the whole day, and a month or a year is all of it. An
// element in it is Within.
type Comparer struct {
	typ    dtype.Type
	scale  *scale   // of elements that are numbers; nil for text
	absent [][]byte // missing text
}

// Value is a value that elements are compared with. Beside the zero Value, every element
// is Within or Absent.
type Value struct {
	first, last uint64 // the ranks of the elements within
	all         Order  // if not Within, the order of every element
	falls       bool   // the elements rise where their numbers fall
	given       bool
	word        []byte // of text
}

// ComparerOf returns the comparer of an array. If the array has elements that have no
// order, the error wraps [zarr.ErrUnsupported]. If an attribute is malformed, it wraps
// [zarr.ErrInvalidArgument].
func ComparerOf(ctx context.Context, a *zarr.Array) (*Comparer, error) {
	c := &Comparer{typ: a.Type()}
	var err error
	switch k := c.typ.Kind(); {
	case isNumeric(c.typ):
		c.scale, err = numbersOf(ctx, a)
	case k == dtype.KindBool:
		c.scale = truths()
	case k == dtype.KindDatetime:
		c.scale = moments(c.typ)
	case k == dtype.KindTimedelta:
		c.scale, err = durations(c.typ)
	case k == dtype.KindString || k == dtype.KindUTF32 || k == dtype.KindBytes || k == dtype.KindTerminated:
		c.absent, err = absentText(ctx, a)
	default:
		err = fmt.Errorf("%w: elements of type %s have no order", zarr.ErrUnsupported, c.typ)
	}
	return c, err
}

// absentText returns the text that is missing. In a coordinate empty text is a value, as
// zero is.
func absentText(ctx context.Context, a *zarr.Array) (list [][]byte, err error) {
	filled, err := MasksFill(ctx, a)
	if err != nil {
		return nil, err
	}
	for elem := range Missing(a.Metadata(), filled) {
		if text := textOf(a.Type(), nil, elem); len(text) > 0 || !IsCoordinate(a) {
			list = append(list, text)
		}
	}
	return list, nil
}

// textOf returns an element of a text type as text. It may use the memory of room.
func textOf(t dtype.Type, room, elem []byte) []byte {
	switch t.Kind() {
	case dtype.KindUTF32:
		return t.AppendText(room[:0], elem)
	case dtype.KindBytes, dtype.KindTerminated:
		return t.TrimPadding(elem)
	}
	return elem
}

// Value parses a value. If it is malformed, the error wraps [zarr.ErrInvalidArgument].
func (c *Comparer) Value(text string) (Value, error) {
	if c.scale == nil {
		return Value{word: []byte(text), given: true}, nil
	}
	order, err := c.scale.order(text)
	if err != nil {
		return Value{}, err
	}
	return c.scale.bounds(order), nil
}

// Compare sets dst to the orders of elements, which are those of an array in memory. It
// panics if dst is shorter. For elements of variable length use [Comparer.CompareWords].
func (c *Comparer) Compare(dst []Order, elems []byte, v Value) {
	n := c.typ.Size()
	if c.scale == nil {
		var room []byte
		for i := range len(elems) / n {
			room = textOf(c.typ, room, elems[i*n:][:n:n])
			dst[i] = c.compareWord(room, v)
		}
		return
	}
	var ranks [stripe]uint64
	for len(elems) > 0 {
		k := min(stripe, len(elems)/n)
		c.scale.load(ranks[:k], elems[:k*n])
		c.scale.compare(dst[:k], ranks[:k], v)
		dst, elems = dst[k:], elems[k*n:]
	}
}

// CompareWords is [Comparer.Compare] for elements of variable length.
func (c *Comparer) CompareWords(dst []Order, words [][]byte, v Value) {
	for i, word := range words {
		dst[i] = c.compareWord(word, v)
	}
}

func (c *Comparer) compareWord(word []byte, v Value) Order {
	if slices.ContainsFunc(c.absent, func(a []byte) bool { return bytes.Equal(a, word) }) {
		return Absent
	}
	if !v.given {
		return Within
	}
	return Order(bytes.Compare(word, v.word))
}
