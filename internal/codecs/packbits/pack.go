// SPDX-License-Identifier: Apache-2.0

package packbits

import (
	"encoding/binary"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
)

// Encode implements [codec.ArrayBytes].
func (c *coder) Encode(dst []byte, src codec.Block) ([]byte, error) {
	size, _ := c.EncodedSize(src.Shape, int64(len(src.Data)))
	from := len(dst)
	dst = slices.Grow(dst, int(size))[:from+int(size)]
	out := dst[from:]
	switch c.padding {
	case codec.FirstByte:
		out[0] = c.unused(len(src.Data))
		out = out[1:]
	case codec.LastByte:
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
		return fmt.Errorf("%w: packbits: %d bytes, but the shape %d needs %d", codec.ErrCorrupt, len(src), dst.Shape, size)
	}
	mark := c.unused(len(dst.Data))
	switch c.padding {
	case codec.FirstByte:
		mark, src = src[0], src[1:]
	case codec.LastByte:
		mark, src = src[len(src)-1], src[:len(src)-1]
	}
	if want := c.unused(len(dst.Data)); mark != want {
		return fmt.Errorf("%w: packbits: %d bits are marked as unused, but the shape %d leaves %d", codec.ErrCorrupt, mark, dst.Shape, want)
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
	if dtype.LittleEndian() {
		unit = 1
	}
	dtype.SwapBytes(dst, src, unit)
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
		x := load(src, c.unit) >> c.first & mask
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
		store(dst, c.unit, x<<c.first)
	}
}

func load(b []byte, unit int) uint64 {
	switch unit {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

func store(b []byte, unit int, x uint64) {
	switch unit {
	case 1:
		b[0] = byte(x)
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(x))
	case 4:
		binary.NativeEndian.PutUint32(b, uint32(x))
	default:
		binary.NativeEndian.PutUint64(b, x)
	}
}
