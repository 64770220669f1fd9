// SPDX-License-Identifier: Apache-2.0

// Package packbits is the codec "packbits" (zarr-extensions), which stores only some bits
// of every element, without gaps.
//
// Bits count from the least significant one: the first element takes the lowest bits of
// the first byte. A bool takes one bit, an int4 four, and numbers of whole bytes are
// stored in little-endian order. Bits that are not stored are read as zeros, or as the
// sign of signed integers.
//
// Importing the package registers it. It is an array-to-bytes codec. The codec of this
// name in numcodecs is an array-to-array codec, and counts bits from the most significant
// one.
package packbits

import (
	"encoding/json"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
)

// Name is the name of the codec in metadata.
const Name = "packbits"

func init() { codec.Register(Name, New) }

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayBytes].
func New(configuration []byte) (any, error) {
	c := &coder{padding: codec.NoPadding, first: -1, last: -1}
	if err := c.parse(configuration); err != nil {
		return nil, fmt.Errorf("%w: packbits: %w", codec.ErrConfiguration, err)
	}
	return c, nil
}

// maxBit is beyond the bits of any number.
const maxBit = 1 << 16

func (c *coder) parse(configuration []byte) error {
	var m struct {
		Padding *codec.Padding `json:"padding_encoding"`
		First   bit            `json:"first_bit"`
		Last    bit            `json:"last_bit"`
	}
	m.First, m.Last = -1, -1
	if err := codec.DecodeConfiguration(withoutNulls(configuration), &m); err != nil {
		return err
	}
	if m.Padding != nil {
		switch c.padding = *m.Padding; c.padding {
		case codec.NoPadding, codec.FirstByte, codec.LastByte:
		default:
			return fmt.Errorf("padding_encoding is %q, want %q, %q or %q", c.padding, codec.NoPadding, codec.FirstByte, codec.LastByte)
		}
	}
	c.first, c.last = int(m.First), int(m.Last)
	if c.last >= 0 && c.last < c.first {
		return fmt.Errorf("last_bit is %d, before first_bit %d", c.last, c.first)
	}
	return nil
}

// withoutNulls removes first_bit and last_bit if they are null, which means the same.
func withoutNulls(configuration []byte) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(configuration, &all) != nil || all == nil {
		return configuration
	}
	for _, name := range []string{"first_bit", "last_bit"} {
		if string(all[name]) == "null" {
			delete(all, name)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return configuration
	}
	return text
}

// bit is the index of a bit.
type bit int

// UnmarshalJSON implements [json.Unmarshaler].
func (b *bit) UnmarshalJSON(text []byte) error {
	var n codec.Int
	if err := n.UnmarshalJSON(text); err != nil {
		return err
	}
	if n < 0 || n > maxBit {
		return fmt.Errorf("%d is not the index of a bit", n)
	}
	*b = bit(n)
	return nil
}

type coder struct {
	padding     codec.Padding
	first, last int // bits, -1 if the configuration has none

	unit   int // bytes of a number in memory
	parts  int // numbers in an element
	bits   int // stored of a number
	signed bool
	whole  bool // all bits of whole bytes are stored
	bools  bool
}

// Bind implements [codec.ArrayBytes].
func (c *coder) Bind(spec codec.Spec) error {
	t := spec.Type
	width, ok := widthOf(t)
	if !ok {
		return fmt.Errorf("%w: packbits: %s is not a type of bools, integers, floats or complex numbers", codec.ErrConfiguration, t)
	}
	first, last := max(c.first, 0), c.last
	if last < 0 {
		last = width - 1
	}
	if first > last || last >= width {
		return fmt.Errorf("%w: packbits: bits %d to %d of %s, which has %d", codec.ErrConfiguration, first, last, t, width)
	}
	c.first, c.last = first, last
	c.unit, c.parts, c.bits = t.Unit(), t.Size()/t.Unit(), last-first+1
	c.signed, c.bools = t.Kind() == dtype.KindInt, t.Kind() == dtype.KindBool
	c.whole = c.bits == 8*c.unit
	return nil
}

// widthOf returns the bits of the numbers that elements of a data type consist of.
// Datetimes and timedeltas are integers.
func widthOf(t dtype.Type) (int, bool) {
	switch t.Kind() {
	case dtype.KindBool:
		return 1, true
	case dtype.KindInt, dtype.KindUint, dtype.KindFloat, dtype.KindComplex:
		return t.Bits(), t.Bits() > 0
	}
	return 0, false
}

// EncodedSize implements [codec.ArrayBytes].
func (c *coder) EncodedSize(_ []int64, n int64) (int64, bool) {
	bits, ok := checked.Mul(n/int64(c.unit), int64(c.bits))
	if !ok {
		return n, true // impossible: no chunk has that many elements
	}
	return checked.CeilDiv(bits, 8) + int64(c.markSize()), true
}

// Uncounted implements [codec.Uncounted]. Without the number of unused bits, n and n+1
// elements of less than a byte may take the same number of bytes.
func (c *coder) Uncounted() bool { return c.padding == codec.NoPadding && c.parts*c.bits < 8 }

// markSize returns the number of bytes that store the number of unused bits.
func (c *coder) markSize() int {
	if c.padding == codec.NoPadding {
		return 0
	}
	return 1
}

// unused returns the number of unused bits in the last of n bytes of elements.
func (c *coder) unused(n int) byte {
	return byte(-(n / c.unit % 8 * c.bits) & 7)
}
