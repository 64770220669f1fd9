// SPDX-License-Identifier: Apache-2.0

package transpose

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/strided"
)

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
		return fmt.Errorf("%w: transpose: %d bytes into %d, shape %d of %d bytes each", codec.ErrConfiguration, len(src.Data), len(dst.Data), src.Shape, size)
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
		return fmt.Errorf("%w: transpose: %d offsets for shape %d", codec.ErrConfiguration, len(src.Offsets), src.Shape)
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
