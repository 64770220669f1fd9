// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// slowValue computes the number of f by the definition of binary16.
func slowValue(f Float16) float64 {
	sign, exponent, fraction := f>>15, int(f>>10&31), float64(f&1023)
	x := 0.0
	switch {
	case exponent == 31 && fraction != 0:
		return math.NaN()
	case exponent == 31:
		x = math.Inf(1)
	case exponent == 0:
		x = math.Ldexp(fraction, -24)
	default:
		x = math.Ldexp(1024+fraction, exponent-25)
	}
	if sign == 1 {
		return math.Copysign(x, -1)
	}
	return x
}

// slowNearest returns the Float16 nearest to x, any float64 that is not negative, by a
// search.
func slowNearest(x float64) Float16 {
	low, high := Float16(0), Float16(half16Inf)
	for high-low > 1 {
		if mid := (low + high) / 2; slowValue(mid) <= x {
			low = mid
		} else {
			high = mid
		}
	}
	next := slowValue(high)
	if high == half16Inf {
		next = 65536 // where the number after 65504 would be
	}
	switch below, above := x-slowValue(low), next-x; {
	case below < above, below == above && low%2 == 0:
		return low
	}
	return high
}

func TestFloat16Decode(t *testing.T) {
	for i := range 1 << 16 {
		f := Float16(i)
		got, want := f.Float32(), slowValue(f)
		if math.IsNaN(want) {
			bits := uint32(i)>>15<<31 | 0x7f800000 | uint32(i)&1023<<13
			if math.Float32bits(got) != bits {
				t.Errorf("%#04x: NaN %#08x, want %#08x", i, math.Float32bits(got), bits)
			}
			continue
		}
		if math.Float64bits(float64(got)) != math.Float64bits(want) {
			t.Errorf("%#04x: %v, want %v", i, got, want)
		}
	}
}

func TestFloat16RoundTrip(t *testing.T) {
	for i := range 1 << 16 {
		if f := FromFloat32(Float16(i).Float32()); f != Float16(i) {
			t.Errorf("%#04x came back as %#04x", i, uint16(f))
		}
	}
}

// TestFloat16Halfway checks every middle between two neighbours and the numbers beside
// it.
func TestFloat16Halfway(t *testing.T) {
	for f := range Float16(half16Inf) {
		low, high := f.Float32(), (f + 1).Float32()
		if f+1 == half16Inf {
			high = 65536
		}
		middle := (low + high) / 2
		tests := []struct {
			x    float32
			want Float16
		}{
			{math.Nextafter32(middle, 0), f},
			{middle, f + f%2},
			{math.Nextafter32(middle, math.MaxFloat32), f + 1},
		}
		for _, tt := range tests {
			if got := FromFloat32(tt.x); got != tt.want {
				t.Fatalf("FromFloat32(%v) = %#04x, want %#04x", tt.x, uint16(got), uint16(tt.want))
			}
			if got := FromFloat32(-tt.x); got != tt.want|half16Sign {
				t.Fatalf("FromFloat32(%v) = %#04x, want %#04x", -tt.x, uint16(got), uint16(tt.want|half16Sign))
			}
		}
	}
}

func TestFloat16Encode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Draw bits with the exponents that matter, and a margin on both sides.
		bits := rapid.Uint32Range(0x32000000, 0x48000000).Draw(t, "bits")
		x := math.Float32frombits(bits)
		if got, want := FromFloat32(x), slowNearest(float64(x)); got != want {
			t.Fatalf("FromFloat32(%v) = %#04x, want %#04x", x, uint16(got), uint16(want))
		}
	})
}

func TestFloat16Special(t *testing.T) {
	tests := []struct {
		bits uint32
		want Float16
	}{
		{0x00000000, 0x0000},
		{0x80000000, 0x8000},
		{0x00000001, 0x0000},
		{0x807fffff, 0x8000},
		{0x7f7fffff, 0x7c00},
		{0x7f800000, 0x7c00},
		{0xff800000, 0xfc00},
		{0x7fc00000, 0x7e00},
		{0xffc00000, 0xfe00},
		{0x7fc00001, 0x7e00}, // payload below the ten bits: lost, still quiet
		{0x7f800001, 0x7c01}, // the same, still signalling and still NaN
		{0x7f802000, 0x7c01},
		{0xffffffff, 0xffff},
	}
	for _, tt := range tests {
		if got := FromFloat32(math.Float32frombits(tt.bits)); got != tt.want {
			t.Errorf("FromFloat32(%#08x) = %#04x, want %#04x", tt.bits, uint16(got), uint16(tt.want))
		}
	}
}

func TestFloat16String(t *testing.T) {
	tests := map[Float16]string{
		0x0000: "0.0", 0x8000: "-0.0", 0x3c00: "1.0", 0xbe00: "-1.5", 0x2e66: "0.1", 0x3555: "0.3333",
		0x7bff: "65504.0", 0x0001: "6e-08", 0x0400: "6.104e-05", 0x7c00: "inf", 0xfc00: "-inf", 0x7e00: "nan", 0xfc01: "nan",
	}
	for f, want := range tests {
		if got := f.String(); got != want {
			t.Errorf("%#04x: %s, want %s", uint16(f), got, want)
		}
	}
}

// TestFloat16Shortest checks that every integer is exact, and for every other finite
// number that no decimal with fewer digits rounds to it. Of those with n digits, it would
// have to be one of the two around the number.
func TestFloat16Shortest(t *testing.T) {
	for f := range Float16(half16Inf) {
		short, _ := float16Format.shortest(uint64(f))
		text := strconv.FormatFloat(short, 'e', -1, 64)
		d, _ := parseDecimal(text)
		if bits, _ := float16Format.round(d); Float16(bits) != f {
			t.Fatalf("%#04x: %s reads as %#04x", uint16(f), text, bits)
		}
		if x := slowValue(f); x == math.Trunc(x) {
			if short != x {
				t.Errorf("%#04x: %s, want exactly %g", uint16(f), text, x)
			}
		} else if fewer := len(d.digits) - 1; fewer > 0 {
			checkNoShorter(t, f, fewer)
		}
	}
}

func checkNoShorter(t *testing.T, f Float16, digits int) {
	exact, _ := parseDecimal(strconv.FormatFloat(slowValue(f), 'e', 40, 64))
	cut, _ := strconv.Atoi(exact.digits[:digits])
	for _, n := range []int{cut, cut + 1} {
		d, _ := parseDecimal(strconv.Itoa(n) + "e" + strconv.Itoa(int(exact.point)-digits))
		if bits, _ := float16Format.round(d); Float16(bits) == f {
			t.Errorf("%#04x: %s is shorter than %s", uint16(f), d, f)
		}
	}
}

func BenchmarkFloat16Decode(b *testing.B) {
	src, dst := make([]Float16, 1<<16), make([]float32, 1<<16)
	for i := range src {
		src[i] = Float16(i)
	}
	b.SetBytes(4 << 16)
	for range b.N {
		for i, f := range src {
			dst[i] = f.Float32()
		}
	}
}

func BenchmarkFloat16Encode(b *testing.B) {
	src, dst := make([]float32, 1<<16), make([]Float16, 1<<16)
	for i := range src {
		src[i] = Float16(i).Float32()
	}
	b.SetBytes(4 << 16)
	for range b.N {
		for i, x := range src {
			dst[i] = FromFloat32(x)
		}
	}
}
