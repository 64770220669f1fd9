// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/comparison"
)

// Difference is the first difference of two arrays.
type Difference struct {
	What  string  // "shape", "data type" or "element"
	Index []int64 // of the element, the first one in C order; nil for all else
	A, B  string  // the values in the two arrays, elements in the JSON form of fill values
}

// String returns the difference as one line.
func (d *Difference) String() string {
	if d.Index == nil {
		return fmt.Sprintf("the %s differs: %s and %s", d.What, d.A, d.B)
	}
	return fmt.Sprintf("element %v differs: %s and %s", d.Index, d.A, d.B)
}

// Compare returns the first difference of two arrays in shape, data type or elements, or
// nil. Elements are equal if their bits are: a NaN equals itself, and -0.0 differs from
// 0.0. Grids, codecs and attributes do not matter.
//
// Both arrays are streamed, a few chunks at a time. If most chunks of both are missing,
// only those that one of them stores are read. If a store cannot list and there are too
// many chunks to request each one, the error wraps [ErrLimit].
func Compare(ctx context.Context, a, b *Array) (*Difference, error) {
	if s, t := a.Shape(), b.Shape(); !slices.Equal(s, t) {
		return &Difference{What: "shape", A: fmt.Sprint(s), B: fmt.Sprint(t)}, nil
	}
	if s, t := a.Type(), b.Type(); s != t {
		return &Difference{What: "data type", A: s.String(), B: t.String()}, nil
	}
	d, err := comparison.Compare(ctx, a.compared(), b.compared())
	if d == nil || err != nil {
		return nil, a.fail("list", err)
	}
	return &Difference{What: "element", Index: d.Index, A: d.A, B: d.B}, nil
}

// compared describes the array to package comparison.
func (a *Array) compared() comparison.Array {
	return comparison.Array{
		State: a.state.Load, Fresh: a.fresh,
		Read:     func(ctx context.Context, box grid.Box, dst []byte) error { return a.ReadBytes(ctx, box, dst) },
		Elements: a.elements, Complete: a.options.RequireChunks,
		Fail: func(err error) error { return a.fail("read", err) },
	}
}
