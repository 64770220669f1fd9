// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"bytes"
	"encoding/json"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/shuffle"
	"varve.dev/zarr/metadata"
)

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
		dtype.SwapBytes(dst, src, f.swapped())
		shuffle.Shuffle(planes, dst, f.size)
		differences(dst, planes, 1, step)
	})
}

// Decode implements [codec.ArrayArray].
func (f *floatPredictor) Decode(dst *codec.Block, src codec.Block) error {
	return f.each(dst, src, func(dst, src, planes []byte, step int) {
		sums(planes, src, 1, step)
		shuffle.Unshuffle(dst, planes, f.size)
		dtype.SwapBytes(dst, dst, f.swapped())
	})
}

// swapped returns the bytes of a float if the host has them in another order than from
// the highest on, else 1.
func (f *floatPredictor) swapped() int {
	if dtype.LittleEndian() {
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
