// SPDX-License-Identifier: Apache-2.0

// Package transpose is the codec "transpose" (zarr-specs v3, "Transpose codec"), which
// reorders the axes of a chunk. Importing the package registers it as "transpose".
package transpose

import (
	"encoding/json"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
)

func init() { codec.Register("transpose", New) }

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayArray] that is a
// [codec.Permuter].
func New(configuration []byte) (any, error) {
	var c struct {
		Order json.RawMessage `json:"order"`
	}
	if err := codec.DecodeConfiguration(configuration, &c); err != nil {
		return nil, fmt.Errorf("%w: transpose: %w", codec.ErrConfiguration, err)
	}
	if c.Order == nil {
		return nil, fmt.Errorf("%w: transpose: order is missing", codec.ErrConfiguration)
	}
	order, err := parse(c.Order)
	if err != nil {
		return nil, err
	}
	return &coder{order: order}, nil
}

func parse(text []byte) ([]int, error) {
	var axes []codec.Int
	if err := json.Unmarshal(text, &axes); err != nil {
		return nil, fmt.Errorf("%w: transpose: order: %w", codec.ErrConfiguration, err)
	}
	if len(axes) > grid.MaxRank {
		return nil, fmt.Errorf("%w: transpose: order has %s, an array has at most %d", codec.ErrConfiguration, quantity.Count(len(axes), "axes"), grid.MaxRank)
	}
	order, seen := make([]int, len(axes)), make([]bool, len(axes))
	for i, a := range axes {
		if a < 0 || int64(a) >= int64(len(axes)) || seen[a] {
			return nil, fmt.Errorf("%w: transpose: order %d is not a permutation of the axes from 0 to %d", codec.ErrConfiguration, axes, len(axes)-1)
		}
		order[i], seen[a] = int(a), true
	}
	return order, nil
}

type coder struct {
	order   []int // axes of the decoded array in the order of the encoded one
	inverse []int
	size    int // bytes of an element, 0 if they differ
}

// Bind implements [codec.ArrayArray].
func (c *coder) Bind(spec codec.Spec) (codec.Spec, error) {
	if len(c.order) != spec.Rank {
		return codec.Spec{}, fmt.Errorf("%w: transpose: order %d has %s, the array %d", codec.ErrConfiguration, c.order, quantity.Count(len(c.order), "axes"), spec.Rank)
	}
	c.inverse = make([]int, len(c.order))
	for i, a := range c.order {
		c.inverse[a] = i
	}
	c.size = max(spec.Type.Size(), 0)
	return spec, nil
}

// Order implements [codec.Permuter].
func (c *coder) Order() []int { return slices.Clone(c.order) }

// EncodedShape implements [codec.ArrayArray].
func (c *coder) EncodedShape(dst, shape []int64) ([]int64, error) {
	if len(shape) != len(c.order) {
		return dst, fmt.Errorf("%w: transpose: shape %d does not have the %s of order %d", codec.ErrConfiguration, shape, quantity.Count(len(c.order), "axes"), c.order)
	}
	for _, a := range c.order {
		dst = append(dst, shape[a])
	}
	return dst, nil
}

// Encode implements [codec.ArrayArray].
func (c *coder) Encode(dst *codec.Block, src codec.Block) error {
	return permute(dst, src, c.order, c.size)
}

// Decode implements [codec.ArrayArray].
func (c *coder) Decode(dst *codec.Block, src codec.Block) error {
	return permute(dst, src, c.inverse, c.size)
}

// permute fills dst with the elements of src, both in C order, where axis i of dst is
// axis order[i] of src.
func permute(dst *codec.Block, src codec.Block, order []int, size int) error {
	n, ok := checked.Product(src.Shape...)
	if !ok || len(src.Shape) != len(order) {
		return fmt.Errorf("%w: transpose: shape %d does not fit order %d", codec.ErrConfiguration, src.Shape, order)
	}
	// Size 0 stands for elements that differ in length.
	if size == 0 {
		return permuteOffsets(dst, src, order, n)
	}
	if nbytes, ok := checked.Mul(n, int64(size)); !ok || int64(len(src.Data)) != nbytes || len(dst.Data) != len(src.Data) {
		return fmt.Errorf("%w: transpose: %s into %d, shape %d of %s each", codec.ErrConfiguration, quantity.Count(len(src.Data), "bytes"), len(dst.Data), src.Shape, quantity.Count(size, "bytes"))
	}
	if n == 0 {
		return nil
	}
	var shape, from, to, strides [8]int64 // no allocation for up to 8 axes
	in := strided.AppendStrides(strides[:0], src.Shape, size)
	v := strided.View{Data: src.Data, Shape: shape[:0], Strides: from[:0], Size: size}
	for _, axis := range order {
		v.Shape, v.Strides = append(v.Shape, src.Shape[axis]), append(v.Strides, in[axis])
	}
	strided.Move(strided.View{Data: dst.Data, Shape: v.Shape, Strides: strided.AppendStrides(to[:0], v.Shape, size), Size: size}, v)
	return nil
}

// permuteOffsets is permute for elements of different width.
func permuteOffsets(dst *codec.Block, src codec.Block, order []int, n int64) error {
	if int64(len(src.Offsets))-1 != n {
		return fmt.Errorf("%w: transpose: %s for shape %d", codec.ErrConfiguration, quantity.Count(len(src.Offsets), "offsets"), src.Shape)
	}
	dst.Data, dst.Offsets = dst.Data[:0], append(dst.Offsets[:0], 0)
	if n == 0 {
		return nil
	}
	p := newPlan(nil, src.Shape, order, 1)
	each(p.axes, func(_, at int64) {
		for i := at; i < at+p.width; i++ {
			dst.Data = append(dst.Data, src.Data[src.Offsets[i]:src.Offsets[i+1]]...)
			dst.Offsets = append(dst.Offsets, int64(len(dst.Data)))
		}
	})
	return nil
}

// axis is an axis of the destination, with its length and the strides in bytes of
// destination and source.
type axis struct{ n, dst, src int64 }

// plan is a permutation with as few axes as possible.
type plan struct {
	width int64  // bytes that are next to each other on both sides
	axes  []axis // slowest of the destination first, none of length 1
}

// newPlan plans for a source with the given shape, without zeros, and elements of size
// bytes. It appends to axes, so that the caller can keep them on the stack. It merges
// axes that are contiguous on both sides.
func newPlan(axes []axis, shape []int64, order []int, size int64) plan {
	width, dst := size, size
	for i := len(order) - 1; i >= 0; i-- {
		a := axis{n: shape[order[i]], dst: dst, src: stride(shape, order[i], size)}
		dst *= a.n
		last := len(axes) - 1
		switch {
		case a.n == 1:
		// Elements are contiguous along this axis on both sides: treat them as one.
		case last < 0 && a.src == width:
			width *= a.n
		// The axis continues the one after it on both sides: merge them.
		case last >= 0 && a.src == axes[last].n*axes[last].src:
			axes[last].n *= a.n
		default:
			axes = append(axes, a)
		}
	}
	slices.Reverse(axes)
	return plan{width, axes}
}

// stride returns the stride in bytes along an axis of an array in C order.
func stride(shape []int64, axis int, size int64) int64 {
	for _, n := range shape[axis+1:] {
		size *= n
	}
	return size
}

// each calls f with the offsets in bytes of every position.
func each(axes []axis, f func(dst, src int64)) {
	var array [8]int64
	index := append(array[:0], make([]int64, len(axes))...)
	var dst, src int64
	for more := true; more; {
		f(dst, src)
		more = false
		for i := len(axes) - 1; i >= 0 && !more; i-- {
			a := axes[i]
			index[i]++
			dst += a.dst
			src += a.src
			// At the end of an axis, go back to its start and advance the axis before it.
			if more = index[i] < a.n; !more {
				index[i] = 0
				dst -= a.n * a.dst
				src -= a.n * a.src
			}
		}
	}
}
