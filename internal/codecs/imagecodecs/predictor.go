// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/shuffle"
	"varve.dev/zarr/metadata"
)

const deltaID = "delta"

func init() { codec.Register(prefix+deltaID, newDelta) }

// Delta returns the metadata of imagecodecs_delta, predictor 2 of TIFF (section 14):
// along an axis it stores the first element, and then the difference of each to the one
// before it. An axis of -1 is the last one. Elements are subtracted as integers of their
// size that wrap around, floats by their bits.
func Delta(axis int) metadata.Extension {
	return metadata.Extension{Name: prefix + deltaID, Configuration: fmt.Appendf(nil, `{"axis":%d,"dist":1}`, axis)}
}

func newDelta(configuration []byte) (any, error) {
	d := &delta{rows: rows{id: deltaID}}
	if err := d.parse(configuration); err != nil {
		return nil, err
	}
	return d, nil
}

// delta implements [codec.ArrayArray].
type delta struct {
	rows
	size int // bytes of an element
}

// Bind implements [codec.ArrayArray].
func (d *delta) Bind(spec codec.Spec) (codec.Spec, error) {
	d.size = spec.Type.Size()
	return spec, d.bind(spec, dtype.KindInt, dtype.KindUint, dtype.KindFloat)
}

// Encode implements [codec.ArrayArray].
func (d *delta) Encode(dst *codec.Block, src codec.Block) error {
	return d.each(dst, src, differences)
}

// Decode implements [codec.ArrayArray].
func (d *delta) Decode(dst *codec.Block, src codec.Block) error {
	return d.each(dst, src, sums)
}

// each calls f with every row. Rows and steps are in bytes.
func (d *delta) each(dst *codec.Block, src codec.Block, f func(dst, src []byte, size, step int)) error {
	row, step, err := d.cut(dst.Shape)
	if err != nil || row == 0 {
		return err
	}
	n := int(row) * d.size
	for at := 0; at < len(src.Data); at += n {
		f(dst.Data[at:at+n], src.Data[at:at+n], d.size, int(step)*d.size)
	}
	return nil
}

// differences fills a row with differences of elements of a size that are step bytes
// apart.
func differences(dst, src []byte, size, step int) {
	copy(dst[:step], src)
	to, x, before := dst[step:], src[step:], src
	before = before[:len(x)]
	to = to[:len(x)]
	switch size {
	case 1:
		for i := range x {
			to[i] = x[i] - before[i]
		}
	case 2:
		for i := 0; i+2 <= len(x); i += 2 {
			binary.NativeEndian.PutUint16(to[i:], binary.NativeEndian.Uint16(x[i:])-binary.NativeEndian.Uint16(before[i:]))
		}
	case 4:
		for i := 0; i+4 <= len(x); i += 4 {
			binary.NativeEndian.PutUint32(to[i:], binary.NativeEndian.Uint32(x[i:])-binary.NativeEndian.Uint32(before[i:]))
		}
	case 8:
		for i := 0; i+8 <= len(x); i += 8 {
			binary.NativeEndian.PutUint64(to[i:], binary.NativeEndian.Uint64(x[i:])-binary.NativeEndian.Uint64(before[i:]))
		}
	}
}

// sums undoes differences.
func sums(dst, src []byte, size, step int) {
	if step == size {
		running(dst, src, size)
		return
	}
	copy(dst[:step], src)
	to, x, before := dst[step:], src[step:], dst
	before = before[:len(x)]
	to = to[:len(x)]
	switch size {
	case 1:
		for i := range x {
			to[i] = x[i] + before[i]
		}
	case 2:
		for i := 0; i+2 <= len(x); i += 2 {
			binary.NativeEndian.PutUint16(to[i:], binary.NativeEndian.Uint16(x[i:])+binary.NativeEndian.Uint16(before[i:]))
		}
	case 4:
		for i := 0; i+4 <= len(x); i += 4 {
			binary.NativeEndian.PutUint32(to[i:], binary.NativeEndian.Uint32(x[i:])+binary.NativeEndian.Uint32(before[i:]))
		}
	case 8:
		for i := 0; i+8 <= len(x); i += 8 {
			binary.NativeEndian.PutUint64(to[i:], binary.NativeEndian.Uint64(x[i:])+binary.NativeEndian.Uint64(before[i:]))
		}
	}
}

// running undoes differences of adjacent elements. It keeps the sum in a register, which
// is faster than to read it again.
func running(dst, src []byte, size int) {
	dst = dst[:len(src)]
	switch size {
	case 1:
		sum := byte(0)
		for i, x := range src {
			sum += x
			dst[i] = sum
		}
	case 2:
		sum := uint16(0)
		for i := 0; i+2 <= len(src); i += 2 {
			sum += binary.NativeEndian.Uint16(src[i:])
			binary.NativeEndian.PutUint16(dst[i:], sum)
		}
	case 4:
		sum := uint32(0)
		for i := 0; i+4 <= len(src); i += 4 {
			sum += binary.NativeEndian.Uint32(src[i:])
			binary.NativeEndian.PutUint32(dst[i:], sum)
		}
	case 8:
		sum := uint64(0)
		for i := 0; i+8 <= len(src); i += 8 {
			sum += binary.NativeEndian.Uint64(src[i:])
			binary.NativeEndian.PutUint64(dst[i:], sum)
		}
	}
}

const floatID = "floatpred"

func init() { codec.Register(prefix+floatID, newFloatPredictor) }

// FloatPredictor returns the metadata of imagecodecs_floatpred, predictor 3 of TIFF
// (Adobe Photoshop TIFF Technical Note 3): of every row along an axis, it stores the
// first bytes of all floats, which have the sign, then the second ones, and so on, and of
// these bytes the differences. An axis of -1 is the last one.
//
// The shape is that of a chunk. Python needs it. Without it, chunks may differ in length.
func FloatPredictor(t dtype.Type, axis int, shape []int64) metadata.Extension {
	name, _ := t.NumPy() // "" is refused
	c := struct {
		Shape []int64 `json:"shape,omitempty"`
		DType string  `json:"dtype"`
		Axis  int     `json:"axis"`
		Dist  int     `json:"dist"`
	}{shape, name, axis, 1}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // keep "<f4" readable
	_ = e.Encode(c)        // never fails
	return metadata.Extension{Name: prefix + floatID, Configuration: bytes.TrimSpace(text.Bytes())}
}

func newFloatPredictor(configuration []byte) (any, error) {
	f := &floatPredictor{rows: rows{id: floatID}}
	if err := f.parse(configuration); err != nil {
		return nil, err
	}
	return f, nil
}

// floatPredictor implements [codec.ArrayArray].
type floatPredictor struct {
	rows
	size int // bytes of a float
}

// Bind implements [codec.ArrayArray]. The bytes that it stores are no numbers and have no
// byte order, whatever the codec "bytes" says.
func (f *floatPredictor) Bind(spec codec.Spec) (codec.Spec, error) {
	if err := f.bind(spec, dtype.KindFloat); err != nil {
		return spec, err
	}
	f.size = spec.Type.Size()
	if f.size < 2 {
		return spec, misfit(floatID, "it does not take elements of %s", spec.Type)
	}
	raw, err := dtype.Parse(fmt.Sprintf("r%d", 8*f.size), nil)
	spec.Type = raw
	return spec, err
}

// Encode implements [codec.ArrayArray].
func (f *floatPredictor) Encode(dst *codec.Block, src codec.Block) error {
	return f.each(dst, src, func(dst, src, planes []byte, step int) {
		// In dst there is room for floats whose first byte is the highest.
		byteorder.Bytes(dst, src, f.swapped())
		shuffle.Shuffle(planes, dst, f.size)
		differences(dst, planes, 1, step)
	})
}

// Decode implements [codec.ArrayArray].
func (f *floatPredictor) Decode(dst *codec.Block, src codec.Block) error {
	return f.each(dst, src, func(dst, src, planes []byte, step int) {
		sums(planes, src, 1, step)
		shuffle.Unshuffle(dst, planes, f.size)
		byteorder.Bytes(dst, dst, f.swapped())
	})
}

// swapped returns the bytes of a float if the host has them in another order than from
// the highest on, else 1.
func (f *floatPredictor) swapped() int {
	if byteorder.Little() {
		return f.size
	}
	return 1
}

// each calls f with every row, memory of the same length, and the distance in bytes of
// two whose difference is taken.
func (f *floatPredictor) each(dst *codec.Block, src codec.Block, code func(dst, src, planes []byte, step int)) error {
	row, step, err := f.cut(dst.Shape)
	if err != nil || row == 0 {
		return err
	}
	n := int(row) * f.size
	planes := budget.Get(int64(n))
	defer planes.Put()
	for at := 0; at < len(src.Data); at += n {
		code(dst.Data[at:at+n], src.Data[at:at+n], planes.Bytes(int64(n)), int(step))
	}
	return nil
}

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
		return 0, 0, misfit(r.id, "chunks of the shape %d do not consist of rows of %s, which follow from its shape %d and axis %d", chunk, quantity.Count(row, "elements"), shape, r.axis)
	}
	return row, step, nil
}

// EncodedShape implements [codec.ArrayArray].
func (*rows) EncodedShape(dst, shape []int64) ([]int64, error) { return append(dst, shape...), nil }
