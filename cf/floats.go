// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"encoding/binary"
	"math"

	"varve.dev/zarr/dtype"
)

// stripe is the count of numbers that are converted at a time. They stay in the
// processor's cache between loading and unpacking.
const stripe = 2048

// Floats unpacks the stored elements in src into dst. Missing elements become NaN. It
// panics if dst is shorter than src.
func (p *Packing) Floats(dst []float64, src []byte) {
	size := p.stored.Size()
	missing, exact := p.missingNumbers()
	for len(src) > 0 {
		n := min(stripe, len(src)/size)
		// The fast path compares missing values as float64. That is right only if no two
		// numbers of the type become equal.
		if exact && loadNumbers(p.stored, dst[:n], src) {
			p.unpack(dst[:n], missing)
		} else {
			for i := range n {
				dst[i] = p.Value(src[i*size:][:size:size])
			}
		}
		dst, src = dst[n:], src[n*size:]
	}
}

// missingNumbers returns the missing values as numbers. exact is false if float64
// cannot hold all numbers of the type, because then two different numbers could compare
// equal.
func (p *Packing) missingNumbers() (list []float64, exact bool) {
	if !p.isFloat() && p.stored.Size() == 8 {
		return nil, false
	}
	for _, elem := range p.absent {
		list = append(list, p.number(elem))
	}
	if p.filled != nil {
		list = append(list, p.number(p.filled))
	}
	return list, true
}

// unpack replaces stored numbers by unpacked ones. NaN stays NaN.
func (p *Packing) unpack(numbers, missing []float64) {
	nan := math.NaN()
	for _, m := range missing {
		for i, x := range numbers {
			if x == m {
				numbers[i] = nan
			}
		}
	}
	if !p.scaled {
		return
	}
	scale, offset := p.scale, p.offset
	for i, x := range numbers {
		numbers[i] = float64(x*scale) + offset
	}
}

// loadNumbers sets dst to the stored numbers in src. It returns false for types that are
// too rare to have a loop of their own.
func loadNumbers(t dtype.Type, dst []float64, src []byte) bool {
	switch t {
	case dtype.Int8:
		for i := range dst {
			dst[i] = float64(int8(src[i]))
		}
	case dtype.Uint8:
		for i := range dst {
			dst[i] = float64(src[i])
		}
	case dtype.Int16:
		for i := range dst {
			dst[i] = float64(int16(binary.NativeEndian.Uint16(src[2*i:])))
		}
	case dtype.Uint16:
		for i := range dst {
			dst[i] = float64(binary.NativeEndian.Uint16(src[2*i:]))
		}
	case dtype.Int32:
		for i := range dst {
			dst[i] = float64(int32(binary.NativeEndian.Uint32(src[4*i:])))
		}
	case dtype.Float32:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(binary.NativeEndian.Uint32(src[4*i:])))
		}
	case dtype.Float64:
		for i := range dst {
			dst[i] = math.Float64frombits(binary.NativeEndian.Uint64(src[8*i:]))
		}
	default:
		return false
	}
	return true
}
