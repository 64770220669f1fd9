// SPDX-License-Identifier: Apache-2.0

package number

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/dtype"
)

// layouts yields the floating-point formats that are not Go's.
func layouts() map[string]*Format {
	m := map[string]*Format{}
	for name, f := range formats {
		if f.Layout != nil && f.Bytes <= 2 {
			m[name] = f
		}
	}
	return m
}

// width returns the bits of a layout.
func width(l *Layout) int {
	if l.Special == Scale {
		return l.magnitude()
	}
	return l.magnitude() + 1
}

func TestOf(t *testing.T) {
	for _, typ := range dtype.All() {
		f, ok := Of(typ)
		want := typ.Kind() == dtype.KindInt || typ.Kind() == dtype.KindUint || typ.Kind() == dtype.KindFloat
		if ok != want || ok && f.Bytes != typ.Size() {
			t.Errorf("%s: %+v, %t", typ, f, ok)
		}
	}
}

// TestGoldenValues compares every number of a byte with what ml_dtypes makes of it.
func TestGoldenValues(t *testing.T) {
	for name, f := range layouts() {
		want, err := os.ReadFile("testdata/" + name + ".f4")
		if f.Bytes > 1 {
			continue
		}
		if err != nil || len(want) != 4<<width(f.Layout) {
			t.Fatal(name, len(want), err)
		}
		for i := range 1 << width(f.Layout) {
			v := float64(math.Float32frombits(binary.LittleEndian.Uint32(want[4*i:])))
			got := f.Layout.Float64(uint64(i))
			if got != v && !(math.IsNaN(got) && math.IsNaN(v)) || v == 0 && math.Signbit(v) != math.Signbit(got) {
				t.Errorf("%s: %#02x is %v, want %v", name, i, got, v)
			}
		}
	}
}

// TestGoldenRounding compares rounded numbers with those of ml_dtypes, which has no
// errors: only those that fit.
func TestGoldenRounding(t *testing.T) {
	for name, f := range layouts() {
		text, err := os.ReadFile("testdata/" + name + ".txt")
		if name == "float16" {
			continue // by dtype's own tests
		}
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for line := range strings.Lines(string(text)) {
			var x uint32
			var want uint64
			if _, err := fmt.Sscanf(line, "%x %x", &x, &want); err != nil {
				t.Fatal(err)
			}
			got, verdict := f.Layout.Round(float64(math.Float32frombits(x)), NearestEven)
			if verdict != Fits {
				continue
			}
			if compared++; got != want {
				t.Errorf("%s: %v is %#x, want %#x", name, math.Float32frombits(x), got, want)
			}
		}
		if compared < 50 {
			t.Errorf("%s: %d numbers compared", name, compared)
		}
	}
}

// TestValuesComeBack rounds every number of every format.
func TestValuesComeBack(t *testing.T) {
	for name, f := range layouts() {
		l := f.Layout
		nan, _ := l.NaN()
		for i := range uint64(1) << width(l) {
			v := l.Float64(i)
			for m := NearestEven; m <= NearestAway; m++ {
				got, verdict := l.Round(v, m)
				if math.IsNaN(v) {
					got = l.payload(got, nan, i)
				}
				if got != i || verdict != Fits {
					t.Fatalf("%s: %#x is %v, which is %#x, %d", name, i, v, got, verdict)
				}
			}
		}
	}
}

// payload makes all NaNs of a format the same.
func (l *Layout) payload(got, nan, want uint64) uint64 {
	if math.IsNaN(l.Float64(got)) && nan != 0 {
		return want
	}
	return got
}

// neighbours returns the finite numbers of a format next to x, below and above; NaN where
// there are none.
func neighbours(l *Layout, x float64) (below, above float64) {
	below, above = math.NaN(), math.NaN()
	for i := range uint64(1) << width(l) {
		switch v := l.Float64(i); {
		case math.IsNaN(v) || math.IsInf(v, 0):
		default:
			if v <= x && !(v <= below) {
				below = v
			}
			if v >= x && !(v >= above) {
				above = v
			}
		}
	}
	return below, above
}

// slowRound is the definition of rounding, for numbers between two finite ones.
func slowRound(l *Layout, x float64, m Mode) float64 {
	below, above := neighbours(l, x)
	toZero, away := below, above
	if x < 0 {
		toZero, away = above, below
	}
	lower, upper := new(big.Float).SetPrec(2000).SetFloat64(x), new(big.Float).SetPrec(2000).SetFloat64(above)
	lower.Sub(lower, big.NewFloat(below))
	upper.Sub(upper, big.NewFloat(x))
	near := lower.Cmp(upper)
	switch {
	case below == above || m == TowardsNegative:
		return below
	case m == TowardsPositive:
		return above
	case m == TowardsZero:
		return toZero
	case near < 0:
		return below
	case near > 0:
		return above
	case m == NearestAway || l.Special == Scale:
		return away
	}
	for i := range uint64(1) << width(l) {
		if l.Float64(i) == below && i&1 == 0 {
			return below
		}
	}
	return above
}

func TestRound(t *testing.T) {
	names := []string{}
	for name, f := range layouts() {
		if f.Bytes == 1 {
			names = append(names, name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		l := formats[rapid.SampledFrom(names).Draw(t, "format")].Layout
		a := l.Float64(rapid.Uint64Range(0, 1<<width(l)-1).Draw(t, "a"))
		b := l.Float64(rapid.Uint64Range(0, 1<<width(l)-1).Draw(t, "b"))
		x := a
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			x = (a + b) / 2
		case 1:
			x = math.Nextafter((a+b)/2, b)
		case 2:
			x = a * rapid.Float64Range(0.5, 2).Draw(t, "factor")
		}
		below, above := neighbours(l, x)
		if math.IsNaN(x) || math.IsInf(x, 0) || math.IsNaN(below) || math.IsNaN(above) {
			return
		}
		m := Mode(rapid.IntRange(0, 4).Draw(t, "mode"))
		bits, verdict := l.Round(x, m)
		if got, want := l.Float64(bits), slowRound(l, x, m); got != want || verdict != Fits {
			t.Fatalf("%+v, mode %d: %v is rounded to %v, want %v; verdict %d", l, m, x, got, want, verdict)
		}
	})
}

// TestRoundWide compares with the conversions of the language.
func TestRoundWide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if rapid.Bool().Draw(t, "near") {
			x = float64(math.Float32frombits(rapid.Uint32().Draw(t, "short"))) * (1 + 1/float64(int64(1)<<rapid.IntRange(20, 40).Draw(t, "shift")))
		}
		if math.IsNaN(x) {
			return
		}
		bits, verdict := formats["float32"].Layout.Round(x, NearestEven)
		if want := float32(x); uint32(bits) != math.Float32bits(want) || (verdict == Fits) != (!math.IsInf(float64(want), 0) || math.IsInf(x, 0)) {
			t.Fatalf("float32 of %v is %#x, verdict %d, want %#x", x, bits, verdict, math.Float32bits(want))
		}
		if bits, verdict = formats["float64"].Layout.Round(x, TowardsZero); bits != math.Float64bits(x) || verdict != Fits {
			t.Fatalf("float64 of %v is %#x", x, bits)
		}
		n := rapid.Uint64().Draw(t, "integer")
		if bits, _ = formats["float64"].Layout.RoundMantissa(false, n, 0, NearestEven); bits != math.Float64bits(float64(n)) {
			t.Fatalf("float64 of %d is %#x", n, bits)
		}
		// Not float32(n): with 32 bits Go rounds some integers twice.
		want, _ := new(big.Float).SetUint64(n).Float32()
		if bits, _ = formats["float32"].Layout.RoundMantissa(false, n, 0, NearestEven); uint32(bits) != math.Float32bits(want) {
			t.Fatalf("float32 of %d is %#x", n, bits)
		}
	})
}

func TestVerdicts(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tt := range []struct {
		format  string
		x       float64
		mode    Mode
		bits    uint64
		verdict Verdict
	}{
		{"float8_e4m3", 240, NearestEven, 0x77, Fits},
		{"float8_e4m3", 247.9, NearestEven, 0x77, Fits},
		{"float8_e4m3", 248, NearestEven, 0x78, Beyond},
		{"float8_e4m3", 248, TowardsZero, 0x77, Fits},
		{"float8_e4m3", 255.9, TowardsZero, 0x77, Fits},
		{"float8_e4m3", 256, TowardsZero, 0x78, Beyond},
		{"float8_e4m3", -inf, NearestEven, 0xf8, Fits},
		{"float8_e4m3", nan, NearestEven, 0x7c, Fits},
		{"float8_e4m3fnuz", math.Copysign(0, -1), NearestEven, 0, Fits},
		{"float8_e4m3fnuz", -1e-9, NearestEven, 0, Fits},
		{"float8_e4m3fnuz", inf, NearestEven, 0x7f, NoInfinity},
		{"float8_e4m3fnuz", nan, NearestEven, 0x80, Fits},
		{"float8_e4m3fnuz", -1e9, NearestEven, 0xff, Beyond},
		{"float4_e2m1fn", 6.99, NearestEven, 7, Fits},
		{"float4_e2m1fn", 7, NearestEven, 7, Beyond},
		{"float4_e2m1fn", nan, NearestEven, 0, NoNaN},
		{"float4_e2m1fn", -inf, NearestEven, 15, NoInfinity},
		{"float8_e8m0fnu", 0, NearestEven, 0, Beyond},
		{"float8_e8m0fnu", -1, NearestEven, 0, Beyond},
		{"float8_e8m0fnu", 0x1p-128, NearestEven, 0, Beyond},
		{"float8_e8m0fnu", 0x1.8p-128, NearestEven, 0, Fits},
		{"float8_e8m0fnu", 1.5, NearestEven, 128, Fits},
		{"float8_e8m0fnu", 0x1.8p127, NearestEven, 254, Beyond},
		{"float8_e8m0fnu", inf, NearestEven, 254, NoInfinity},
		{"float8_e8m0fnu", nan, NearestEven, 255, Fits},
		{"bfloat16", math.Float64frombits(0xfff8_0000_0000_0001), NearestEven, 0xffc0, Fits},
	} {
		bits, verdict := formats[tt.format].Layout.Round(tt.x, tt.mode)
		if bits != tt.bits || verdict != tt.verdict {
			t.Errorf("%s of %v: %#x, verdict %d, want %#x, %d", tt.format, tt.x, bits, verdict, tt.bits, tt.verdict)
		}
	}
}

// TestLoadStore takes every format through blocks of several lengths.
func TestLoadStore(t *testing.T) {
	for name, f := range formats {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			src := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "elements")
			src = src[:len(src)/f.Bytes*f.Bytes]
			b, dst := NewBlock(), make([]byte, len(src))
			defer b.Free()
			if n := f.Load(b, src); n != len(src)/f.Bytes {
				t.Fatalf("%d numbers", n)
			}
			f.Store(dst, b)
			again := NewBlock()
			defer again.Free()
			f.Load(again, dst)
			for i := range len(src) / f.Bytes {
				same := b.F[i] == again.F[i] || math.IsNaN(b.F[i]) && math.IsNaN(again.F[i])
				if f.Carrier == Signed && b.I[i] != again.I[i] || f.Carrier == Unsigned && b.U[i] != again.U[i] || f.Carrier == Float && !same {
					t.Fatalf("%x comes back as %x", src, dst)
				}
			}
		}))
	}
}

// TestFloat16Ways compares how float16 is stored, by way of a float32 where that is
// exact, with the rounding of any format.
func TestFloat16Ways(t *testing.T) {
	f := formats["float16"]
	rapid.Check(t, func(t *rapid.T) {
		x := float64(math.Float32frombits(rapid.Uint32().Draw(t, "short")))
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 1:
			x = (1 + float64(rapid.IntRange(0, 1<<12).Draw(t, "fraction"))/(1<<11)) * math.Ldexp(1, rapid.IntRange(-27, 17).Draw(t, "exponent"))
		case 2:
			x = math.Nextafter(math.Float64frombits(rapid.Uint64().Draw(t, "bits")), 0)
		}
		b, dst := NewBlock(), make([]byte, 2)
		defer b.Free()
		b.F[0] = x
		f.Store(dst, b)
		want, _ := f.Layout.Round(x, NearestEven)
		if got := binary.NativeEndian.Uint16(dst); uint64(got) != want && !math.IsNaN(x) {
			t.Fatalf("%v is stored as %#x, want %#x", x, got, want)
		}
	})
}

func TestNarrowIntegers(t *testing.T) {
	b := NewBlock()
	defer b.Free()
	formats["int4"].Load(b, []byte{0x07, 0x08, 0xf8, 0x1f})
	if got := [4]int64(b.I[:4]); got != [4]int64{7, -8, -8, -1} {
		t.Errorf("int4: %d", got)
	}
	formats["uint2"].Load(b, []byte{0x07, 0x08, 0xf9})
	if got := [3]uint64(b.U[:3]); got != [3]uint64{3, 0, 1} {
		t.Errorf("uint2: %d", got)
	}
	for name, want := range map[string]string{"int2": "-2 1", "int64": "-9223372036854775808 9223372036854775807", "uint4": "0 15", "uint64": "0 18446744073709551615"} {
		low, high := formats[name].Limits()
		if got := fmt.Sprint(low, high); got != want {
			t.Errorf("%s: limits %s, want %s", name, got, want)
		}
	}
}

func TestIndex(t *testing.T) {
	for place, want := range map[int]string{0: "[0 0 0]", 1: "[0 0 1]", 11: "[0 2 3]", 12: "[1 0 0]", 23: "[1 2 3]"} {
		if got := fmt.Sprint(Index([]int64{2, 3, 4}, place)); got != want {
			t.Errorf("place %d: %s, want %s", place, got, want)
		}
	}
}

func TestIntegral(t *testing.T) {
	for m, want := range map[Mode]string{
		NearestEven:     "[-2 -2 -0 0 2 2 NaN +Inf]",
		TowardsZero:     "[-2 -1 -0 0 1 2 NaN +Inf]",
		TowardsPositive: "[-2 -1 -0 1 2 3 NaN +Inf]",
		TowardsNegative: "[-3 -2 -1 0 1 2 NaN +Inf]",
		NearestAway:     "[-3 -2 -1 1 2 3 NaN +Inf]",
	} {
		x := []float64{-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, math.NaN(), math.Inf(1)}
		if m.Integral(x); fmt.Sprint(x) != want {
			t.Errorf("mode %d: %v, want %s", m, x, want)
		}
	}
}

func Benchmark(b *testing.B) {
	for _, name := range []string{"int8", "int16", "uint64", "float16", "float32", "float64", "float8_e4m3"} {
		f := formats[name]
		src := make([]byte, Size*f.Bytes)
		for i := range src {
			src[i] = byte(i * 37)
		}
		block := NewBlock()
		b.Run(name+"/load", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				f.Load(block, src)
			}
		})
		b.Run(name+"/store", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				f.Store(src, block)
			}
		})
	}
}

// TestIntegersToFloat32 casts integers that lie close to the middle between two numbers
// of float32: each is rounded once, with 32 bits too.
func TestIntegersToFloat32(t *testing.T) {
	var all []uint64
	for shift := range 40 {
		for _, low := range []uint64{0, 1, 2, 3} {
			middle := (uint64(0xf611d3)<<1 | 1 | low<<1) << shift
			all = append(all, middle-1, middle, middle+1)
		}
	}
	all = append(all, 0x7b08e9c00001, math.MaxUint64, math.MaxInt64, 1<<63, 0, 1)
	for _, from := range []string{"uint64", "int64"} {
		src, dst := make([]byte, 8*len(all)), make([]byte, 4*len(all))
		for i, n := range all {
			binary.NativeEndian.PutUint64(src[8*i:], n)
		}
		c := NewCast(formats[from], formats["float32"], NearestEven, Fails)
		if at := c.Run(dst, src); at >= 0 {
			t.Fatalf("%s: %d cannot be cast", from, all[at])
		}
		for i, n := range all {
			exact := new(big.Float).SetUint64(n)
			once := roundOnce(n)
			if from == "int64" {
				exact, once = new(big.Float).SetInt64(int64(n)), float32Of(int64(n))
			}
			want, _ := exact.Float32()
			if got := math.Float32frombits(binary.NativeEndian.Uint32(dst[4*i:])); got != want || once != want {
				t.Errorf("%s %#x is %v and %v, want %v", from, n, got, once, want)
			}
		}
	}
}
