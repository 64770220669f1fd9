// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"varve.dev/zarr/columnar"
)

// mostBound is the length of a minimum or maximum of byte arrays, in bytes. Longer ones
// are cut off.
const mostBound = 64

// bounds are the least and the largest of some values, nil if there are none.
type bounds struct {
	min, max []byte
	nans     int64
}

// fixedBounds returns the bounds of stored values of a fixed size. They never are NaN.
func (s *storage) fixedBounds(v []byte) bounds {
	if len(v) == 0 || s.width > mostBound {
		return bounds{}
	}
	if s.order == orderFloat {
		return floatBounds(v, s.width)
	}
	if s.order == orderSigned || s.order == orderUnsigned {
		return integerBounds(v, s.width, s.order == orderUnsigned)
	}
	w := s.width
	b := bounds{min: v[:w], max: v[:w]}
	for ; len(v) > 0; v = v[w:] {
		if s.less(v[:w], b.min) {
			b.min = v[:w]
		}
		if s.less(b.max, v[:w]) {
			b.max = v[:w]
		}
	}
	return b
}

// less compares values in the order of their bytes, after the sign if they have one.
func (s *storage) less(a, b []byte) bool {
	if s.order == orderBig && (a[0]^b[0])&0x80 != 0 {
		return a[0]&0x80 != 0
	}
	return bytes.Compare(a, b) < 0
}

// integerBounds returns the bounds of integers of 4 or 8 bytes.
func integerBounds(v []byte, width int, unsigned bool) bounds {
	// Unsigned numbers have the order of signed ones with another first bit.
	var least, most int64 = math.MaxInt64, math.MinInt64
	if width == 4 {
		flip := uint32(0)
		if unsigned {
			flip = 1 << 31
		}
		for ; len(v) >= 4; v = v[4:] {
			x := int64(int32(binary.LittleEndian.Uint32(v) ^ flip))
			least, most = min(least, x), max(most, x)
		}
		return bounds{min: binary.LittleEndian.AppendUint32(nil, uint32(least)^flip), max: binary.LittleEndian.AppendUint32(nil, uint32(most)^flip)}
	}
	flip := uint64(0)
	if unsigned {
		flip = 1 << 63
	}
	for ; len(v) >= 8; v = v[8:] {
		x := int64(binary.LittleEndian.Uint64(v) ^ flip)
		least, most = min(least, x), max(most, x)
	}
	return bounds{min: binary.LittleEndian.AppendUint64(nil, uint64(least)^flip), max: binary.LittleEndian.AppendUint64(nil, uint64(most)^flip)}
}

// floatBounds returns the bounds of numbers of 2, 4 or 8 bytes that are not NaN. A zero
// is -0 as the least and +0 as the largest, because readers may take them as equal.
func floatBounds(v []byte, width int) bounds {
	least, most := math.Inf(1), math.Inf(-1)
	all, nans := len(v)/width, 0
	count := func(x float64) {
		if x < least {
			least = x
		}
		if x > most {
			most = x
		}
		if x != x {
			nans++
		}
	}
	switch width {
	case 2:
		for ; len(v) >= 2; v = v[2:] {
			count(halfFloat(binary.LittleEndian.Uint16(v)))
		}
	case 4:
		for ; len(v) >= 4; v = v[4:] {
			count(float64(math.Float32frombits(binary.LittleEndian.Uint32(v))))
		}
	default:
		for ; len(v) >= 8; v = v[8:] {
			count(math.Float64frombits(binary.LittleEndian.Uint64(v)))
		}
	}
	b := bounds{nans: int64(nans)}
	if nans == all {
		return b
	}
	if least == 0 {
		least = math.Copysign(0, -1)
	}
	if most == 0 {
		most = 0
	}
	b.min, b.max = appendFloat(nil, least, width), appendFloat(nil, most, width)
	return b
}

// halfFloat returns the number of 16 bits.
func halfFloat(h uint16) float64 {
	exponent, fraction := int(h>>10&31), float64(h&1023)
	x := math.Ldexp(fraction, -24)
	switch exponent {
	case 0:
	case 31:
		if x = math.Inf(1); fraction != 0 {
			return math.NaN()
		}
	default:
		x = math.Ldexp(1024+fraction, exponent-25)
	}
	if h&0x8000 != 0 {
		return -x
	}
	return x
}

// appendFloat appends a number that has a form of so many bytes.
func appendFloat(dst []byte, x float64, width int) []byte {
	switch width {
	case 8:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	case 4:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(x)))
	}
	sign := uint16(math.Float64bits(x) >> 48 & 0x8000)
	fraction, exponent := math.Frexp(math.Abs(x))
	switch {
	case x == 0:
		exponent, fraction = 0, 0
	case math.IsInf(x, 0):
		exponent, fraction = 31, 0
	case exponent < -13: // a number below the normal ones
		exponent, fraction = 0, math.Ldexp(math.Abs(x), 24)
	default:
		exponent, fraction = exponent+14, fraction*2048-1024
	}
	return binary.LittleEndian.AppendUint16(dst, sign|uint16(exponent)<<10|uint16(fraction))
}

// add widens bounds to those of other values.
func (b *bounds) add(s *storage, other bounds) {
	b.nans += other.nans
	switch {
	case other.min == nil:
	case b.min == nil:
		b.min, b.max = other.min, other.max
	case s.width == 0:
		if bytes.Compare(other.min, b.min) < 0 {
			b.min = other.min
		}
		if bytes.Compare(other.max, b.max) > 0 {
			b.max = other.max
		}
	default:
		all := s.fixedBounds(bytes.Join([][]byte{b.min, b.max, other.min, other.max}, nil))
		b.min, b.max = all.min, all.max
	}
}

// cut returns bounds that are not too long, and whether they still are values. A maximum
// that cannot be cut off is nil.
func (b bounds) cut(t columnar.Type) (least, most []byte, leastExact, mostExact bool) {
	least, most = bytes.Clone(b.min), bytes.Clone(b.max)
	if least == nil {
		return nil, nil, false, false
	}
	if t.Bytes() > 0 {
		return least, most, true, true
	}
	text := t.Kind == columnar.String
	if leastExact = len(least) <= mostBound; !leastExact {
		least = least[:cutAt(least, text)]
	}
	if mostExact = len(most) <= mostBound; !mostExact {
		most = successor(most[:cutAt(most, text)], text)
	}
	return least, most, leastExact, mostExact
}

// cutAt returns where a long value is cut: in text, before a character.
func cutAt(b []byte, text bool) int {
	n := mostBound
	for text && n > mostBound-utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// successor returns the least short value after all that begin like b, or nil if there is
// none. Text remains text.
func successor(b []byte, text bool) []byte {
	for len(b) > 0 {
		if !text {
			last := len(b) - 1
			if b[last] != 0xff {
				b[last]++
				return b
			}
			b = b[:last]
			continue
		}
		r, n := utf8.DecodeLastRune(b)
		b = b[:len(b)-n]
		switch {
		case r == 0xd7ff: // before the surrogates, which are no characters
			return utf8.AppendRune(b, 0xe000)
		case r < utf8.MaxRune:
			return utf8.AppendRune(b, r+1)
		}
	}
	return nil
}
