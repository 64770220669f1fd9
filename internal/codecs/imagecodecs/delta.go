// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"encoding/binary"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
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
