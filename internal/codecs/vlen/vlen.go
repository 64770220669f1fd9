// SPDX-License-Identifier: Apache-2.0

// Package vlen has the codecs "vlen-utf8" and "vlen-bytes" (zarr-extensions) for elements
// that differ in length. They store the number of elements, and then the length and the
// bytes of each. Numbers and lengths have 32 bits in little-endian order.
//
// Importing the package registers "vlen-utf8" and "vlen-bytes".
package vlen

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
)

// The names of the codecs.
const (
	UTF8  = "vlen-utf8"
	Bytes = "vlen-bytes"
)

func init() {
	codec.Register(UTF8, NewUTF8)
	codec.Register(Bytes, NewBytes)
}

// NewUTF8 is the [codec.Factory] of the codec of text. It has no configuration.
func NewUTF8(configuration []byte) (any, error) {
	return factory(configuration, UTF8, dtype.KindString)
}

// NewBytes is the [codec.Factory] of the codec of byte strings. It has no configuration.
func NewBytes(configuration []byte) (any, error) {
	return factory(configuration, Bytes, dtype.KindBytes)
}

func factory(configuration []byte, name string, kind dtype.Kind) (any, error) {
	if err := codec.DecodeConfiguration(configuration, new(struct{})); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", codec.ErrConfiguration, name, err)
	}
	return &coder{name, kind}, nil
}

type coder struct {
	name string
	kind dtype.Kind
}

// prefix is the size in bytes of the number of elements, and of the length of each.
const prefix = 4

// Bind implements [codec.ArrayBytes].
func (c *coder) Bind(spec codec.Spec) error {
	if spec.Type.Kind() != c.kind {
		return fmt.Errorf("%w: %s: the elements are %s, want %s", codec.ErrConfiguration, c.name, spec.Type, c.kind)
	}
	return nil
}

// EncodedSize implements [codec.ArrayBytes].
func (c *coder) EncodedSize(shape []int64, n int64) (int64, bool) {
	elements, ok := checked.Product(shape...)
	if ok {
		elements, ok = checked.Add(elements, 1)
	}
	size, fits := checked.Mul(elements, prefix)
	if size, fits = add(size, n, ok && fits); !fits {
		return math.MaxInt64 / 4, false
	}
	return size, false
}

func add(a, b int64, ok bool) (int64, bool) {
	sum, fits := checked.Add(a, b)
	return sum, ok && fits
}

// Encode implements [codec.ArrayBytes].
func (c *coder) Encode(dst []byte, src codec.Block) ([]byte, error) {
	n := len(src.Offsets) - 1
	if int64(n) > math.MaxUint32 {
		return dst, fmt.Errorf("%w: %s: a chunk of %s", codec.ErrLimit, c.name, quantity.Count(n, "elements"))
	}
	dst = slices.Grow(dst, prefix*(n+1)+len(src.Data))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	for i := range n {
		elem := src.Data[src.Offsets[i]:src.Offsets[i+1]]
		if int64(len(elem)) > math.MaxUint32 {
			return dst, fmt.Errorf("%w: %s: element %d has %s", codec.ErrLimit, c.name, i, quantity.Count(len(elem), "bytes"))
		}
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(elem))), elem...)
	}
	return dst, nil
}

// EncodeHeap appends what Encode does, for elements that are in a heap.
func (c *coder) EncodeHeap(dst []byte, src codec.Block) ([]byte, error) {
	n, size := len(src.Data)/strided.RefSize, 0
	if int64(n) > math.MaxUint32 {
		return dst, fmt.Errorf("%w: %s: a chunk of %s", codec.ErrLimit, c.name, quantity.Count(n, "elements"))
	}
	for i := range n {
		size += len(src.Heap.Bytes(src.Data[i*strided.RefSize:]))
	}
	dst = slices.Grow(dst, prefix*(n+1)+size)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	for i := range n {
		// The heap holds no element of 4 GiB or more: its references have 32 bits for a
		// length.
		elem := src.Heap.Bytes(src.Data[i*strided.RefSize:])
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(elem))), elem...)
	}
	return dst, nil
}

// Decode implements [codec.ArrayBytes].
func (c *coder) Decode(dst *codec.Block, src []byte) error {
	want, err := c.count(dst.Shape, src)
	if err != nil {
		return err
	}
	dst.Data = slices.Grow(dst.Data, len(src)-prefix*int(want+1))
	return c.decode(dst, src[prefix:], want)
}

// DecodeInPlace is Decode within the memory of src. Each element moves towards the front,
// over the lengths before it.
func (c *coder) DecodeInPlace(dst *codec.Block, src []byte) error {
	want, err := c.count(dst.Shape, src)
	if err != nil {
		return err
	}
	dst.Data = src[:0]
	return c.decode(dst, src[prefix:], want)
}

// count returns the number of elements in src. It fails unless that is the number that
// the shape takes, and src is long enough for them.
func (c *coder) count(shape []int64, src []byte) (int64, error) {
	want, ok := checked.Product(shape...)
	if !ok || len(src) < prefix || int64(binary.LittleEndian.Uint32(src)) != want {
		return 0, c.corrupt("%s that begin with %x, its shape %d takes %s", quantity.Count(len(src), "bytes"), src[:min(prefix, len(src))], shape, quantity.Count(want, "elements"))
	}
	if int64(len(src))/prefix-1 < want { // check before allocating memory for them
		return 0, c.corrupt("%s for %s", quantity.Count(len(src)-prefix, "bytes"), quantity.Count(want, "elements"))
	}
	return want, nil
}

// decode appends elements to dst. The data of dst may be in the memory before src.
func (c *coder) decode(dst *codec.Block, src []byte, want int64) error {
	dst.Offsets = append(slices.Grow(dst.Offsets, int(want)+1), int64(len(dst.Data)))
	for i := range want {
		if len(src) < prefix {
			return c.corrupt("it ends before element %d of %d", i, want)
		}
		n := int64(binary.LittleEndian.Uint32(src))
		if src = src[prefix:]; n > int64(len(src)) {
			return c.corrupt("element %d has %s, but %d are left", i, quantity.Count(n, "bytes"), len(src))
		}
		elem := src[:n]
		if c.kind == dtype.KindString && !utf8.Valid(elem) {
			return c.corrupt("element %d, %.20q, is not UTF-8", i, elem)
		}
		dst.Data = append(dst.Data, elem...)
		dst.Offsets = append(dst.Offsets, int64(len(dst.Data)))
		src = src[n:]
	}
	if len(src) > 0 {
		return c.corrupt("%s after the last element", quantity.Count(len(src), "bytes"))
	}
	return nil
}

func (c *coder) corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", codec.ErrCorrupt, c.name, fmt.Sprintf(format, args...))
}
