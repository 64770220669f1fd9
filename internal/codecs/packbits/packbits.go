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
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
)

// Name is the name of the codec in metadata.
const Name = "packbits"

func init() { codec.Register(Name, New) }

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayBytes].
func New(configuration []byte) (any, error) {
	c := &coder{padding: "none", first: -1, last: -1}
	if err := c.parse(configuration); err != nil {
		return nil, fmt.Errorf("%w: packbits: %w", codec.ErrConfiguration, err)
	}
	return c, nil
}

// maxBit is beyond the bits of any number.
const maxBit = 1 << 16

func (c *coder) parse(configuration []byte) error {
	var m struct {
		Padding *string `json:"padding_encoding"`
		First   bit     `json:"first_bit"`
		Last    bit     `json:"last_bit"`
	}
	m.First, m.Last = -1, -1
	if err := codec.DecodeConfiguration(withoutNulls(configuration), &m); err != nil {
		return err
	}
	if m.Padding != nil {
		switch c.padding = *m.Padding; c.padding {
		case "none", "first_byte", "last_byte":
		default:
			return fmt.Errorf("padding_encoding is %q, want %q, %q or %q", c.padding, "none", "first_byte", "last_byte")
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
	padding     string
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
func (c *coder) Uncounted() bool { return c.padding == "none" && c.parts*c.bits < 8 }

// markSize returns the number of bytes that store the number of unused bits.
func (c *coder) markSize() int {
	if c.padding == "none" {
		return 0
	}
	return 1
}

// unused returns the number of unused bits in the last of n bytes of elements.
func (c *coder) unused(n int) byte {
	return byte(-(n / c.unit % 8 * c.bits) & 7)
}

// Encode implements [codec.ArrayBytes].
func (c *coder) Encode(dst []byte, src codec.Block) ([]byte, error) {
	size, _ := c.EncodedSize(src.Shape, int64(len(src.Data)))
	from := len(dst)
	dst = slices.Grow(dst, int(size))[:from+int(size)]
	out := dst[from:]
	switch c.padding {
	case "first_byte":
		out[0] = c.unused(len(src.Data))
		out = out[1:]
	case "last_byte":
		out[len(out)-1] = c.unused(len(src.Data))
		out = out[:len(out)-1]
	}
	switch {
	case c.whole:
		c.copyWhole(out, src.Data)
	case c.bools:
		packBools(out, src.Data)
	default:
		c.pack(out, src.Data)
	}
	return dst, nil
}

// Decode implements [codec.ArrayBytes]. It ignores the bits after the last element.
func (c *coder) Decode(dst *codec.Block, src []byte) error {
	size, _ := c.EncodedSize(dst.Shape, int64(len(dst.Data)))
	if int64(len(src)) != size {
		return fmt.Errorf("%w: packbits: %s, but the shape %d needs %d", codec.ErrCorrupt, quantity.Count(len(src), "bytes"), dst.Shape, size)
	}
	mark := c.unused(len(dst.Data))
	switch c.padding {
	case "first_byte":
		mark, src = src[0], src[1:]
	case "last_byte":
		mark, src = src[len(src)-1], src[:len(src)-1]
	}
	if want := c.unused(len(dst.Data)); mark != want {
		return fmt.Errorf("%w: packbits: %s marked as unused, but the shape %d leaves %d", codec.ErrCorrupt, quantity.Count(mark, "bits are"), dst.Shape, want)
	}
	switch {
	case c.whole:
		c.copyWhole(dst.Data, src)
	case c.bools:
		unpackBools(dst.Data, src)
	default:
		c.unpack(dst.Data, src)
	}
	return nil
}

// copyWhole copies between the host's byte order and little-endian order.
func (c *coder) copyWhole(dst, src []byte) {
	unit := c.unit
	if byteorder.Little() {
		unit = 1
	}
	byteorder.Bytes(dst, src, unit)
}

// packBools packs eight bools into each byte. The product moves the lowest bit of every
// byte of a word to its highest byte.
func packBools(dst, src []byte) {
	const gather = 0x0102040810204080
	for ; len(src) >= 8; dst, src = dst[1:], src[8:] {
		dst[0] = byte(binary.LittleEndian.Uint64(src) * gather >> 56)
	}
	if len(src) > 0 {
		dst[0] = 0
		for i, v := range src {
			dst[0] |= v & 1 << i
		}
	}
}

// spread maps a byte to its eight bools.
var spread = func() (table [256][8]byte) {
	for b := range table {
		for i := range table[b] {
			table[b][i] = byte(b >> i & 1)
		}
	}
	return table
}()

func unpackBools(dst, src []byte) {
	for ; len(dst) >= 8; dst, src = dst[8:], src[1:] {
		*(*[8]byte)(dst) = spread[src[0]]
	}
	for i := range dst {
		dst[i] = src[0] >> i & 1
	}
}

// pack packs bits of numbers of any size. The low bits of word are those not yet written,
// fewer than eight before each number.
func (c *coder) pack(dst, src []byte) {
	mask := ^uint64(0) >> (64 - c.bits)
	word, held := uint64(0), 0
	for ; len(src) > 0; src = src[c.unit:] {
		x := byteorder.Load(src[:c.unit]) >> c.first & mask
		word |= x << held
		total := held + c.bits
		// When the word is full, write it, and keep the bits of x that did not fit.
		if total >= 64 {
			binary.LittleEndian.PutUint64(dst, word)
			dst = dst[8:]
			word, total = x>>(64-held), total-64 // a shift by 64 leaves nothing
		}
		for ; total >= 8; total -= 8 {
			dst[0] = byte(word)
			dst, word = dst[1:], word>>8
		}
		held = total
	}
	if held > 0 {
		dst[0] = byte(word)
	}
}

// unpack undoes pack.
func (c *coder) unpack(dst, src []byte) {
	mask := ^uint64(0) >> (64 - c.bits)
	sign := uint64(0)
	if c.signed {
		sign = 1 << (c.bits - 1)
	}
	word, held := uint64(0), 0
	for ; len(dst) > 0; dst = dst[c.unit:] {
		x := word
		for ; held < c.bits && held <= 56; held += 8 {
			x |= uint64(src[0]) << held
			src = src[1:]
		}
		word = x >> c.bits
		if held < c.bits { // a number of nearly 64 bits reaches into a ninth byte
			x |= uint64(src[0]) << held
			word = uint64(src[0]) >> (c.bits - held)
			src = src[1:]
			held += 8
		}
		held -= c.bits
		x &= mask
		x = (x ^ sign) - sign // the sign fills the bits above
		byteorder.Store(dst[:c.unit], x<<c.first)
	}
}
