// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"varve.dev/zarr/codec"
)

func checkArrayArray(newCodec func() any, s codec.Spec, o *Options) error {
	c := newCodec().(codec.ArrayArray)
	out, err := c.Bind(s)
	if err != nil {
		return err
	}
	for _, shape := range shapes(s.Rank) {
		run := func() error { return checkBlock(c, s, out, shape, o) }
		if err := cmp.Or(run(), concurrent(run)); err != nil {
			return fmt.Errorf("shape %d: %w", shape, err)
		}
	}
	return nil
}

func checkBlock(c codec.ArrayArray, in, out codec.Spec, shape []int64, o *Options) error {
	withPrefix, err := c.EncodedShape([]int64{-7}, shape)
	if err != nil {
		return fmt.Errorf("EncodedShape: %w", err)
	}
	if len(withPrefix) != 1+out.Rank || withPrefix[0] != -7 {
		return fmt.Errorf("EncodedShape does not append %d lengths", out.Rank)
	}
	src := newBlock(in.Type, shape, newRand())
	before := bytes.Clone(src.Data)
	encoded, again := emptyBlock(out.Type, withPrefix[1:]), emptyBlock(out.Type, withPrefix[1:])
	if err := errors.Join(c.Encode(&encoded, src), c.Encode(&again, src)); err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	if !bytes.Equal(encoded.Data, again.Data) {
		return errors.New("encoding again gives other values")
	}
	decoded := emptyBlock(in.Type, shape)
	if err := c.Decode(&decoded, encoded); err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	if !bytes.Equal(before, src.Data) || !bytes.Equal(encoded.Data, again.Data) {
		return errors.New("coding changes its source")
	}
	return cmp.Or(same(decoded, src, o), checkOrder(c, in, src, encoded))
}

// checkOrder compares the encoded form of a Permuter with that of moving every element.
func checkOrder(c codec.ArrayArray, s codec.Spec, src, encoded codec.Block) error {
	p, ok := c.(codec.Permuter)
	if !ok || s.Type.Size() == 0 {
		return nil
	}
	if !bytes.Equal(encoded.Data, Permuted(src, p.Order(), s.Type.Size())) {
		return errors.New("the encoded form is not what Order says")
	}
	return nil
}

// Permuted returns the elements of src, each of size bytes, in C order after axis
// order[i] has become axis i. It is the simple reference for faster implementations.
func Permuted(src codec.Block, order []int, size int) []byte {
	out := make([]byte, 0, len(src.Data))
	index := make([]int64, len(order)) // in src
	for range count(src.Shape) {
		at := int64(0)
		for axis, n := range src.Shape {
			at = at*n + index[axis]
		}
		out = append(out, src.Data[at*int64(size):][:size]...)
		for i := len(order) - 1; i >= 0; i-- {
			if index[order[i]]++; index[order[i]] < src.Shape[order[i]] {
				break
			}
			index[order[i]] = 0
		}
	}
	return out
}
