// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
)

// rows is the configuration of a predictor: the axis along which differences are taken,
// and so where they begin anew.
type rows struct {
	id    string
	axis  int     // negative ones count from the last axis
	shape []int64 // of a chunk; nil if it is the shape that chunks have
	typ   dtype.Type
}

// parse reads the configuration of imagecodecs. The shape is that of whole chunks;
// without it, chunks may differ.
func (r *rows) parse(configuration []byte) error {
	m := struct {
		Shape []codec.Int `json:"shape"`
		DType string      `json:"dtype"`
		Axis  codec.Int   `json:"axis"`
		Dist  codec.Int   `json:"dist"`
	}{Axis: -1, Dist: 1}
	if err := decode(r.id, configuration, &m); err != nil {
		return err
	}
	// imagecodecs has no other distances either.
	if m.Dist != 1 {
		return misfit(r.id, "dist is %d, want 1", m.Dist)
	}
	for _, n := range m.Shape {
		if n <= 0 {
			return misfit(r.id, "shape is %d", m.Shape)
		}
		r.shape = append(r.shape, int64(n))
	}
	if _, ok := checked.Product(r.shape...); !ok {
		return misfit(r.id, "shape is %d", m.Shape)
	}
	const mostAxes = 1 << 10
	if r.axis = int(m.Axis); r.axis < -mostAxes || r.axis > mostAxes {
		return misfit(r.id, "axis is %d", m.Axis)
	}
	if m.DType == "" {
		return nil
	}
	// Elements in memory have the byte order of the host.
	typ, _, err := dtype.FromNumPy(m.DType)
	if err != nil {
		return misfit(r.id, "dtype: %v", err)
	}
	r.typ = typ
	return nil
}

// bind checks that arrays of spec have the axis, and elements of the size of the type.
func (r *rows) bind(spec codec.Spec, kinds ...dtype.Kind) error {
	for _, t := range []dtype.Type{spec.Type, r.typ} {
		if t.IsZero() {
			continue
		}
		if _, ok := t.NumPy(); !ok || !slices.Contains(kinds, t.Kind()) || t.Size() > 8 {
			return misfit(r.id, "it does not take elements of %s", t)
		}
	}
	if !r.typ.IsZero() && r.typ.Size() != spec.Type.Size() {
		return misfit(r.id, "dtype is %s, but the array has %s", r.typ, spec.Type)
	}
	rank := spec.Rank
	if r.shape != nil {
		rank = len(r.shape)
	}
	if r.axis < -rank || r.axis >= rank {
		return misfit(r.id, "axis is %d, but there are %d", r.axis, rank)
	}
	return nil
}

// cut returns the elements of a row of a chunk, and the distance in elements of two whose
// difference is taken. Both are 0 if the chunk is empty.
func (r *rows) cut(chunk []int64) (row, step int64, err error) {
	shape := chunk
	if r.shape != nil {
		shape = r.shape
	}
	axis := r.axis
	if axis < 0 {
		axis += len(shape)
	}
	step = 1
	for _, n := range shape[axis+1:] {
		step *= n
	}
	row = step * shape[axis]
	all := int64(1)
	for _, n := range chunk {
		all *= n
	}
	if all == 0 {
		return 0, 0, nil
	}
	if all%row != 0 {
		return 0, 0, misfit(r.id, "chunks of the shape %d do not consist of rows of %d elements, which follow from its shape %d and axis %d", chunk, row, shape, r.axis)
	}
	return row, step, nil
}

// EncodedShape implements [codec.ArrayArray].
func (*rows) EncodedShape(dst, shape []int64) ([]int64, error) { return append(dst, shape...), nil }
