// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/internal/byteorder"
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

// shortFloats returns the float types of at most two bytes.
func shortFloats() (list []Type) {
	for _, t := range All() {
		if t.Kind() == KindFloat && t.Size() <= 2 {
			list = append(list, t)
		}
	}
	return list
}

// slowFloat computes the number for a code by the definition of the format.
func slowFloat(f *floatFormat, bias int, code uint64) float64 {
	negative := f.special != scale && code>>(f.bits-1) == 1
	code &= f.mask() &^ f.sign()
	top := (f.mask() &^ f.sign()) >> f.fraction
	exponent, fraction := code>>f.fraction, float64(code&(1<<f.fraction-1))
	x := 0.0
	switch {
	case f.special == ieee && exponent == top && fraction != 0,
		f.special == unsigned && negative && code == 0,
		f.special == lastNaN && exponent == top && fraction == 7,
		f.special == scale && exponent == top:
		return math.NaN()
	case f.special == ieee && exponent == top:
		x = math.Inf(1)
	case exponent == 0 && f.special != scale:
		x = fraction * math.Pow(2, float64(1-bias-f.fraction))
	default:
		x = (1 + fraction/math.Pow(2, float64(f.fraction))) * math.Pow(2, float64(int(exponent)-bias))
	}
	if negative {
		return math.Copysign(x, -1)
	}
	return x
}

// biases of the exponents, from the pages of the formats in zarr-extensions
var biases = map[string]int{
	"float16": 15, "bfloat16": 127, "float8_e3m4": 3, "float8_e4m3": 7, "float8_e4m3b11fnuz": 11, "float8_e4m3fn": 7, "float8_e4m3fnuz": 8, "float8_e5m2": 15,
	"float8_e5m2fnuz": 16, "float8_e8m0fnu": 127, "float6_e2m3fn": 1, "float6_e3m2fn": 3, "float4_e2m1fn": 1,
}

// TestFloat32s compares every code of every format with the definition, bit for bit.
func TestFloat32s(t *testing.T) {
	for _, typ := range shortFloats() {
		elems, count := allCodes(typ)
		got := make([]float32, count)
		if n := typ.Float32s(got, elems); n != count {
			t.Fatalf("%s: %d of %d", typ, n, count)
		}
		for code, x := range got {
			want := slowFloat(typ.format, biases[typ.Name()], uint64(code))
			if math.IsNaN(want) != (x != x) || x == x && math.Float64bits(float64(x)) != math.Float64bits(want) {
				t.Errorf("%s: %#x is %v, want %v", typ, code, x, want)
			}
		}
		back := make([]byte, len(elems))
		if n := typ.SetFloat32s(back, got); n != count || !bytes.Equal(back, elems) {
			t.Errorf("%s: %d codes came back, not as they were", typ, n)
		}
	}
}

// allCodes returns all elements of a short float.
func allCodes(t Type) (elems []byte, count int) {
	count = 1 << t.Bits()
	for i := range count {
		one := make([]byte, t.Size())
		byteorder.Store(one, uint64(i))
		elems = append(elems, one...)
	}
	return elems, count
}

// TestExactDecimals reads the JSON of all numbers of one byte, and of all integers of
// two, as numbers of 64 bits, which most programs do. They are the numbers themselves.
func TestExactDecimals(t *testing.T) {
	for _, typ := range shortFloats() {
		elems, count := allCodes(typ)
		numbers := make([]float32, count)
		typ.Float32s(numbers, elems)
		for i, x := range numbers {
			abs := math.Abs(float64(x))
			if x != x || math.IsInf(abs, 0) || typ.Size() > 1 && (abs != math.Trunc(abs) || abs >= 1e16) {
				continue
			}
			text := typ.AppendJSON(nil, elems[i*typ.Size():(i+1)*typ.Size()])
			if got, err := strconv.ParseFloat(string(text), 64); err != nil || got != float64(x) {
				t.Errorf("%s: %#x is %s, want exactly %v: %v", typ, i, text, x, err)
			}
		}
	}
}

// TestFloat32sAsMlDtypes compares all numbers of one byte with a table that ml_dtypes
// made.
func TestFloat32sAsMlDtypes(t *testing.T) {
	for _, typ := range shortFloats() {
		if typ.Size() > 1 {
			continue
		}
		want, err := os.ReadFile("../internal/number/testdata/" + typ.Name() + ".f4")
		elems, count := allCodes(typ)
		if err != nil || len(want) != 4*count {
			t.Fatalf("%s: %d bytes: %v", typ, len(want), err)
		}
		got := make([]float32, count)
		typ.Float32s(got, elems)
		for i, x := range got {
			w := math.Float32frombits(binary.LittleEndian.Uint32(want[4*i:]))
			if math.Float32bits(x) != math.Float32bits(w) && (x == x || w == w) {
				t.Errorf("%s: %#x is %v, ml_dtypes has %v", typ, i, x, w)
			}
		}
	}
}

// slowNearestCode searches for the code of the number nearest to x by the definition.
// Differences between a float32 and a number of these formats with about the same
// exponent are exact in a float64. slowNearestCode returns false if x is beyond the
// format.
func slowNearestCode(f *floatFormat, bias int, values []float64, x float64) (uint64, bool) {
	if f.special == scale && x <= 0 {
		return 0, false
	}
	best, distance := uint64(0), math.Inf(1)
	for code, v := range values {
		d := math.Abs(v - x)
		if math.IsNaN(v) || math.IsInf(v, 0) || d > distance {
			continue
		}
		if d == distance && (code&1 == 1 || v == 0) && f.special != scale {
			continue // take the even one; -0 is not a candidate
		}
		best, distance = uint64(code), d
	}
	largest := math.Abs(values[best])
	if x != 0 && values[best] == 0 && math.Signbit(x) && f.special != unsigned {
		best |= f.sign()
	}
	if x == 0 {
		if math.Signbit(x) && f.special != unsigned {
			best |= f.sign()
		}
		return best, true
	}
	if math.Abs(x) <= largest {
		return best, true
	}
	code := best &^ f.sign()
	if next := code + 1; next < uint64(len(values)) && !math.IsNaN(values[next]) && !math.IsInf(values[next], 0) && next&f.sign() == 0 {
		return best, true
	}
	// Above the largest number, half a step decides. The middle is beyond, unless the
	// largest number is even.
	step := largest - math.Abs(values[code-1])
	if f.special == scale {
		step = largest
	}
	over := math.Abs(x) - largest
	return best, over < step/2 || over == step/2 && code&1 == 0 && f.special != scale
}

// TestSetFloat32s rounds every number, every middle of two numbers, and the float32
// beside these. It compares the results with a search by the definition.
func TestSetFloat32s(t *testing.T) {
	for _, typ := range shortFloats() {
		if typ.Size() > 1 {
			continue // these have tests of their own, and too many codes for a search
		}
		f, bias := typ.format, biases[typ.Name()]
		values := make([]float64, 1<<f.bits)
		var tries []float32
		for code := range values {
			values[code] = slowFloat(f, bias, uint64(code))
		}
		for i, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			middle := v * 1.5
			if i+1 < len(values) {
				middle = (v + values[i+1]) / 2
			}
			tries = append(tries, beside(v)...)
			tries = append(tries, beside(middle)...)
			tries = append(tries, float32(v*1.0001))
		}
		tries = append(tries, 0, float32(math.Copysign(0, -1)), 1e9, -1e9, math.SmallestNonzeroFloat32, 1e-40, -1e-40)
		for _, x := range tries {
			if x-x != 0 || math.Abs(float64(x)) > 1e30 && f.special != scale {
				continue // a float64 would round the difference
			}
			want, ok := slowNearestCode(f, bias, values, float64(x))
			got := []byte{0xee}
			n := typ.SetFloat32s(got, []float32{x})
			if (n == 1) != ok || ok && uint64(got[0]) != want {
				t.Errorf("%s: %v (%#x) is %#x, %v; want %#x, %v", typ, x, math.Float32bits(x), got[0], n == 1, want, ok)
			}
		}
	}
}

func beside(x float64) []float32 {
	f := float32(x)
	return []float32{f, math.Nextafter32(f, float32(math.Inf(1))), math.Nextafter32(f, float32(math.Inf(-1)))}
}

// TestSetFloat32sAsMlDtypes compares digests of the codes that 390,000 float32 are
// rounded to.
func TestSetFloat32sAsMlDtypes(t *testing.T) {
	text, err := os.ReadFile("testdata/rounded.txt")
	if err != nil {
		t.Fatal(err)
	}
	var src []float32
	for _, low := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
		for high := range uint32(1 << 16) {
			if x := math.Float32frombits(high<<16 | low); x-x == 0 {
				src = append(src, x)
			}
		}
	}
	for line := range strings.Lines(string(text)) {
		var name, digest string
		var fit int
		if _, err := fmt.Sscan(line, &name, &fit, &digest); err != nil {
			t.Fatal(err)
		}
		typ := parse(t, name)
		codes := make([]byte, 0, 2*len(src))
		elem, count := make([]byte, typ.Size()), 0
		for _, x := range src {
			code := uint16(0xffff)
			// ml_dtypes rounds subnormal numbers up even if they are close to the lower
			// neighbour.
			ours := name != "float8_e8m0fnu" || x >= 0x1p-126
			if ours && typ.SetFloat32s(elem, []float32{x}) == 1 {
				code = uint16(byteorder.Load(elem))
				count++
			}
			codes = binary.LittleEndian.AppendUint16(codes, code)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(codes)); got != digest || count != fit {
			t.Errorf("%s: %d numbers fit, %d of ml_dtypes; digest %s, want %s", name, count, fit, got, digest)
		}
	}
}

// TestSetFloat32sSpecial checks infinities, NaNs, and numbers that a format cannot
// represent.
func TestSetFloat32sSpecial(t *testing.T) {
	inf, nan := float32(math.Inf(1)), math.Float32frombits
	tests := []struct {
		name string
		x    float32
		want int64 // -1: no counterpart
	}{
		{"float16", inf, 0x7c00}, {"float16", -inf, 0xfc00}, {"float16", 65519, 0x7bff}, {"float16", 65520, -1}, {"float16", nan(0xffc02000), 0xfe01},
		{"bfloat16", inf, 0x7f80}, {"bfloat16", math.MaxFloat32, -1}, {"bfloat16", nan(0x7fc10000), 0x7fc1}, {"bfloat16", nan(0x7f800001), 0x7fc0},
		{"float8_e5m2", inf, 0x7c}, {"float8_e5m2", 1e9, -1}, {"float8_e5m2", nan(0x7fc00000), 0x7e}, {"float8_e5m2", nan(0xffa00000), 0xfd},
		{"float8_e4m3", nan(0x7f800001), 0x7c}, {"float8_e4m3", nan(0xff900000), 0xf9}, {"float8_e3m4", -inf, 0xf0},
		{"float8_e4m3fnuz", inf, -1}, {"float8_e4m3fn", inf, -1}, {"float8_e4m3fn", nan(0xffc00000), 0xff}, {"float8_e4m3fn", nan(0x7fc00001), 0x7f}, {"float8_e4m3fn", -464, 0xfe}, {"float8_e4m3fn", 465, -1}, {"float8_e4m3fnuz", nan(0xffc00000), 0x80}, {"float8_e5m2fnuz", float32(math.Copysign(0, -1)), 0},
		{"float8_e8m0fnu", 0, -1}, {"float8_e8m0fnu", -1, -1}, {"float8_e8m0fnu", inf, -1}, {"float8_e8m0fnu", nan(0x7fc00000), 0xff}, {"float8_e8m0fnu", 1, 127},
		{"float6_e2m3fn", inf, -1}, {"float6_e3m2fn", nan(0x7fc00000), -1}, {"float4_e2m1fn", -6, 0xf}, {"float4_e2m1fn", 7, -1},
		{"float32", nan(0x7f800001), 0x7f800001},
	}
	for _, tt := range tests {
		typ := parse(t, tt.name)
		elems := bytes.Repeat([]byte{0xee}, 2*typ.Size())
		src := []float32{1, tt.x}
		n := typ.SetFloat32s(elems, src)
		if got := int64(byteorder.Load(elems[typ.Size():])); n == 2 && got != tt.want || (n == 2) != (tt.want >= 0) || n == 0 {
			t.Errorf("%s: %v is %#x, %d set; want %#x", typ, tt.x, got, n, tt.want)
		}
	}
	for _, name := range []string{"float64", "int8", "complex64", "string"} {
		typ := parse(t, name)
		if typ.Float32s(make([]float32, 1), make([]byte, 16)) != 0 || typ.SetFloat32s(make([]byte, 16), make([]float32, 1)) != 0 {
			t.Errorf("%s passes for a short float", name)
		}
	}
}

// TestFloat16sEqualsPlain compares the tables with the conversions of single numbers, for
// every Float16 and every 257th float32. Long tests compare all float32.
func TestFloat16sEqualsPlain(t *testing.T) {
	all := make([]Float16, 1<<16)
	for i := range all {
		all[i] = Float16(i)
	}
	got := make([]float32, len(all)+1)
	if n := float16sToFloat32(got, all); n != len(all) {
		t.Fatalf("%d of %d", n, len(all))
	}
	for i, x := range got[:len(all)] {
		if math.Float32bits(x) != math.Float32bits(Float16(i).Float32()) {
			t.Fatalf("%#x: %v", i, x)
		}
	}
	step := uint64(257)
	if os.Getenv("VARVE_LONG") == "1" {
		step = 1
	}
	for b := uint64(0); b < 1<<32; b += step {
		if got, want := float16FromBits(uint32(b)), FromFloat32(math.Float32frombits(uint32(b))); Float16(got) != want {
			t.Fatalf("%#x is %#x, want %#x", b, got, uint16(want))
		}
	}
	for f := range Float16(half16Inf) {
		middle := (f.Float32() + (f + 1).Float32()) / 2
		src := append(beside(float64(middle)), beside(float64(-f.Float32()))...)
		dst := make([]Float16, len(src))
		float16sFromFloat32(dst, src)
		for i, x := range src {
			if dst[i] != FromFloat32(x) {
				t.Fatalf("%v is %#x, want %#x", x, uint16(dst[i]), uint16(FromFloat32(x)))
			}
		}
	}
}

// TestBFloat16 compares all bfloat16 with the upper half of float32, and rounding with a
// search of both neighbours.
func TestBFloat16(t *testing.T) {
	for i := range 1 << 16 {
		f := BFloat16(i)
		if b := math.Float32bits(f.Float32()); b != uint32(i)<<16 {
			t.Fatalf("%#x is %#x", i, b)
		}
		if back := BFloat16FromFloat32(f.Float32()); back != f {
			t.Fatalf("%#x came back as %#x", i, uint16(back))
		}
		for _, low := range []uint32{1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			b := uint32(i)<<16 | low
			if b&(1<<31-1) > singleInf {
				continue
			}
			want := BFloat16(i) // the bits of magnitudes are in order
			if low > 0x8000 || low == 0x8000 && i&1 == 1 {
				want++
			}
			if got := BFloat16FromFloat32(math.Float32frombits(b)); got != want {
				t.Fatalf("%#x is %#x, want %#x", b, uint16(got), uint16(want))
			}
		}
	}
}

func BenchmarkFloat32s(b *testing.B) {
	for _, typ := range shortFloats() {
		numbers := make([]float32, 1<<16)
		for i := range numbers {
			numbers[i] = float32(math.Abs(rand.NormFloat64())) + 1e-3
			if typ.SetFloat32s(make([]byte, 2), numbers[i:i+1]) == 0 {
				numbers[i] = 1
			}
		}
		elems := make([]byte, len(numbers)*typ.Size())
		b.Run("set/"+typ.Name(), func(b *testing.B) {
			b.SetBytes(int64(4 * len(numbers)))
			b.ReportAllocs()
			for b.Loop() {
				if typ.SetFloat32s(elems, numbers) != len(numbers) {
					b.Fatal("not all fit")
				}
			}
		})
		b.Run("get/"+typ.Name(), func(b *testing.B) {
			b.SetBytes(int64(4 * len(numbers)))
			b.ReportAllocs()
			for b.Loop() {
				typ.Float32s(numbers, elems)
			}
		})
	}
}

// float16sToFloat32 converts src to float32, up to the length of the shorter slice, and
// returns the number of elements converted. The results are those of [Float16.Float32].
// The first call makes a table of 256 KiB.
func float16sToFloat32(dst []float32, src []Float16) int {
	n := min(len(dst), len(src))
	table := float16Table()
	for i, f := range src[:n] {
		dst[i] = table[f]
	}
	return n
}

// float16sFromFloat32 sets dst to the numbers nearest to src, up to the length of the
// shorter slice, and returns the number of elements set. The results are those of
// [FromFloat32]: numbers that are too large become infinite.
func float16sFromFloat32(dst []Float16, src []float32) int {
	n := min(len(dst), len(src))
	for i, x := range src[:n] {
		dst[i] = Float16(float16FromBits(math.Float32bits(x)))
	}
	return n
}
