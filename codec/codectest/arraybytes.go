// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
)

func checkArrayBytes(newCodec func() any, s codec.Spec, o *Options) error {
	c := newCodec().(codec.ArrayBytes)
	if err := c.Bind(s); err != nil {
		return err
	}
	for _, shape := range shapes(s.Rank) {
		run := func() error { return checkBlockBytes(c, s, shape, o) }
		if err := cmp.Or(run(), concurrent(run)); err != nil {
			return fmt.Errorf("shape %d: %w", shape, err)
		}
	}
	return nil
}

func checkBlockBytes(c codec.ArrayBytes, s codec.Spec, shape []int64, o *Options) error {
	src := newBlock(s.Type, shape, newRand())
	before := bytes.Clone(src.Data)
	encoded, err := c.Encode([]byte(prefix), src)
	if err != nil {
		return err
	}
	if !bytes.Equal(before, src.Data) {
		return errors.New("encoding changes its source")
	}
	if !bytes.HasPrefix(encoded, []byte(prefix)) {
		return errors.New("encoding does not append")
	}
	encoded = encoded[len(prefix):]
	return cmp.Or(
		checkEncodedSize(c, src, len(encoded)),
		checkTransparent(c, src, encoded),
		checkAgain(c, src, encoded),
		checkHeap(c, s, src, encoded),
		checkDecode(c, s, src, encoded, o),
		checkCounted(c, s, src, encoded, o),
		checkDamage(c, s, src, encoded, o))
}

func checkEncodedSize(c codec.ArrayBytes, src codec.Block, got int) error {
	most, fixed := c.EncodedSize(src.Shape, int64(len(src.Data)))
	if int64(got) > most || fixed && int64(got) < most {
		return fmt.Errorf("encodes to %d bytes, EncodedSize says %d, fixed %t", got, most, fixed)
	}
	return nil
}

func checkTransparent(c codec.ArrayBytes, src codec.Block, encoded []byte) error {
	if t, ok := c.(codec.Transparent); ok && t.Transparent() && !bytes.Equal(encoded, src.Data) {
		return errors.New("is transparent, but the encoded bytes differ")
	}
	return checkValidate(c, encoded, nil)
}

func checkAgain(c codec.ArrayBytes, src codec.Block, encoded []byte) error {
	again, err := c.Encode(nil, src)
	if err == nil && !bytes.Equal(again, encoded) {
		err = errors.New("encoding again gives other bytes")
	}
	return err
}

// checkHeap encodes elements from a heap in which they have another order, and one of
// them is the fill value.
func checkHeap(c codec.ArrayBytes, s codec.Spec, src codec.Block, encoded []byte) error {
	e, ok := c.(interface {
		EncodeHeap(dst []byte, src codec.Block) ([]byte, error)
	})
	if !ok {
		return nil
	}
	n := len(src.Offsets) - 1
	if n > 0 { // the fill value has a page of its own
		s.Fill = src.Data[src.Offsets[n/2]:src.Offsets[n/2+1]]
	}
	b := codec.Block{Shape: src.Shape, Data: make([]byte, n*strided.RefSize), Heap: coding.HeapOf(s)}
	for i := n - 1; i >= 0; i-- {
		elem := src.Data[src.Offsets[i]:src.Offsets[i+1]]
		if !b.Heap.Add(b.Data[i*strided.RefSize:][:strided.RefSize], elem, []int64{0, int64(len(elem))}) {
			return fmt.Errorf("element %d has %d bytes", i, len(elem))
		}
	}
	got, err := e.EncodeHeap([]byte(prefix), b)
	if err == nil && !bytes.Equal(got, append([]byte(prefix), encoded...)) {
		err = errors.New("encoding from a heap gives other bytes")
	}
	return err
}

func checkDecode(c codec.ArrayBytes, s codec.Spec, src codec.Block, encoded []byte, o *Options) error {
	before := bytes.Clone(encoded)
	dst := emptyBlock(s.Type, src.Shape)
	if err := c.Decode(&dst, encoded); err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	if !bytes.Equal(before, encoded) {
		return errors.New("decoding changes its source")
	}
	return same(dst, src, o)
}

// checkCounted decodes a block as a shorter and as a longer one, along each axis. A codec
// that cuts must keep the elements that both share. A divider is exempt: it may take one
// for the other if the elements that they do not share are fill values.
func checkCounted(c codec.ArrayBytes, s codec.Spec, src codec.Block, encoded []byte, o *Options) error {
	if u, ok := c.(codec.Uncounted); ok && u.Uncounted() {
		return nil
	}
	if _, divides := c.(coding.Divider); divides || slices.Contains(src.Shape, 0) {
		return nil
	}
	for i := range src.Shape {
		for _, more := range []int64{-1, 1} {
			other := slices.Clone(src.Shape)
			other[i] += more
			dst := emptyBlock(s.Type, other)
			err := c.Decode(&dst, encoded)
			if err == nil && o.Cuts && sharedElements(src, dst, i) {
				continue
			}
			if !errors.Is(err, codec.ErrCorrupt) {
				return fmt.Errorf("decoding as shape %d: error is %v, want ErrCorrupt of a codec that is not Uncounted", other, err)
			}
		}
	}
	return nil
}

// sharedElements reports whether two blocks, one of which is longer by a plane along an
// axis, have the same elements except for that plane.
func sharedElements(a, b codec.Block, axis int) bool {
	if a.Shape[axis] > b.Shape[axis] {
		a, b = b, a
	}
	return bytes.Equal(a.Data, withoutLast(b, axis))
}

// withoutLast returns the elements of a block without the last plane along an axis.
func withoutLast(b codec.Block, axis int) (elements []byte) {
	planes := 1
	for _, n := range b.Shape[:axis+1] {
		planes *= int(n)
	}
	size, n := len(b.Data)/planes, int(b.Shape[axis])
	for i := range planes {
		if i%n != n-1 {
			elements = append(elements, b.Data[i*size:(i+1)*size]...)
		}
	}
	return elements
}

// same compares blocks.
func same(got, want codec.Block, o *Options) error {
	if len(got.Offsets) != len(want.Offsets) {
		return fmt.Errorf("decoded %d offsets, want %d", len(got.Offsets), len(want.Offsets))
	}
	if want.Offsets == nil && len(got.Data) != len(want.Data) {
		return fmt.Errorf("decoded %d bytes, want %d", len(got.Data), len(want.Data))
	}
	if !o.Lossy && (!bytes.Equal(got.Data, want.Data) || !slices.Equal(got.Offsets, want.Offsets)) {
		return errors.New("decoded other values")
	}
	return nil
}

// checkDamage decodes with bytes missing, with bytes too many, and with bits flipped.
func checkDamage(c codec.ArrayBytes, s codec.Spec, src codec.Block, encoded []byte, o *Options) error {
	decode := func(b []byte) error {
		dst := emptyBlock(s.Type, src.Shape)
		return c.Decode(&dst, b)
	}
	if !o.Unframed && len(encoded) > 0 {
		for _, b := range [][]byte{encoded[:len(encoded)-1], append(bytes.Clone(encoded), 0)} {
			if err := decode(b); !errors.Is(err, codec.ErrCorrupt) {
				return fmt.Errorf("%d bytes instead of %d: error is %v, want ErrCorrupt", len(b), len(encoded), err)
			}
		}
	}
	flipped := bytes.Clone(encoded)
	for _, i := range places(len(flipped)) {
		flipped[i] ^= 0x81
		err := decode(flipped)
		if err != nil && !errors.Is(err, codec.ErrCorrupt) {
			return fmt.Errorf("byte %d altered: error is %w, want ErrCorrupt", i, err)
		}
		if err := checkValidate(c, flipped, err); err != nil {
			return fmt.Errorf("byte %d altered: %w", i, err)
		}
		flipped[i] ^= 0x81
	}
	return nil
}

// checkValidate checks that Validate refuses what Decode refuses, if the codec is
// Transparent.
func checkValidate(c codec.ArrayBytes, src []byte, decodeErr error) error {
	t, transparent := c.(codec.Transparent)
	v, ok := c.(coding.Validator)
	if !ok || !transparent || !t.Transparent() {
		return nil
	}
	if err := v.Validate(src); (err == nil) != (decodeErr == nil) {
		return fmt.Errorf("verdict of Decode is %v, of Validate %v", decodeErr, err)
	}
	return nil
}
