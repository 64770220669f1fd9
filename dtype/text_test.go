// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

func TestAppendText(t *testing.T) {
	tests := []struct {
		typ  Type
		elem []byte
		want string
	}{
		{Of[bool](), elem(true), "true"},
		{Of[bool](), []byte{2}, "true"},
		{Of[int8](), elem(int8(-128)), "-128"},
		{Of[uint8](), elem(uint8(255)), "255"},
		{Of[int64](), elem(int64(math.MinInt64)), "-9223372036854775808"},
		{Of[uint64](), elem(uint64(math.MaxUint64)), "18446744073709551615"},
		{Of[float64](), elem(1.5), "1.5"},
		{Of[float64](), elem(2.0), "2.0"},
		{Of[float64](), elem(1e15), "1000000000000000.0"},
		{Of[float64](), elem(1e16), "1e+16"},
		{Of[float64](), elem(0.0001), "0.0001"},
		{Of[float64](), elem(0.00001), "1e-05"},
		{Of[float64](), elem(math.NaN()), "nan"},
		{Of[float64](), elem(math.Inf(-1)), "-inf"},
		{Of[float32](), elem(float32(0.1)), "0.1"},
		{Of[float32](), elem(math.Float32frombits(0xffc00001)), "nan"},
		{Of[Float16](), elem(Float16(0x3c00)), "1.0"},
		{Of[complex64](), elem(complex64(1 + 2i)), "1.0+2.0j"},
		{Of[complex128](), elem(complex(-1, -2.5)), "-1.0-2.5j"},
		{Of[complex128](), elem(complex(0, math.Copysign(0, -1))), "0.0-0.0j"},
		{Of[complex128](), elem(complex(math.NaN(), math.Inf(1))), "nan+infj"},
		{Of[complex128](), elem(complex(1e-20, math.Inf(-1))), "1e-20-infj"},
		{parse(t, "r16"), []byte{10, 11}, "0x0a0b"},
	}
	for _, tt := range tests {
		if got := tt.typ.AppendText([]byte("x "), tt.elem); string(got) != "x "+tt.want {
			t.Errorf("%s: %x is %q, want %q", tt.typ, tt.elem, got, tt.want)
		}
	}
}

func TestParseText(t *testing.T) {
	tests := []struct {
		typ  Type
		text string
		want []byte
	}{
		{Of[bool](), "true", []byte{1}},
		{Of[int32](), " -7 ", elem(int32(-7))},
		{Of[float32](), "nan", elem(math.Float32frombits(0x7fc00000))},
		{Of[float32](), "NaN", elem(math.Float32frombits(0x7fc00000))},
		{Of[float32](), `"NaN"`, elem(math.Float32frombits(0x7fc00000))},
		{Of[float32](), "0x7fc00001", elem(math.Float32frombits(0x7fc00001))},
		{Of[float64](), "Infinity", elem(math.Inf(1))},
		{Of[float64](), "inf", elem(math.Inf(1))},
		{Of[float64](), "-inf", elem(math.Inf(-1))},
		{Of[float64](), "-Infinity", elem(math.Inf(-1))},
		{Of[float64](), "1e-5", elem(1e-5)},
		{Of[complex128](), "[1, inf]", elem(complex(1, math.Inf(1)))},
		{Of[complex128](), `["-Infinity", 0x3ff0000000000000]`, elem(complex(math.Inf(-1), 1))},
		{Of[complex128](), "1e+2-3e-2j", elem(complex(100, -0.03))},
		{Of[complex128](), "-1-2j", elem(complex(-1, -2))},
		{parse(t, "r16"), "0x0A0b", []byte{10, 11}},
		{parse(t, "r16"), "[10, 11]", []byte{10, 11}},
	}
	for _, tt := range tests {
		if got, err := tt.typ.ParseText(tt.text); err != nil || !bytes.Equal(got, tt.want) {
			t.Errorf("%s: %q is %x, want %x: %v", tt.typ, tt.text, got, tt.want, err)
		}
	}
}

func TestParseTextRefuses(t *testing.T) {
	tests := map[string][]string{
		"bool":      {"", "1", "TRUE", "0x01"},
		"int32":     {"", "nan", "0x0", "1.5", "seven"},
		"float32":   {"", "NAN", "infinity", "0x7e00", "1,5", "0x", `"`},
		"complex64": {"", "1", "j", "1j", "+j", "1+j", "1+2", "[1]", "1e5j", "[1,2,3]", "1++2j", "1+2jj"},
		"r16":       {"", "0x", "0x0a", "0x0a0b0c", "0x0g00", "0a0b", "10"},
	}
	for name, texts := range tests {
		typ := parse(t, name)
		for _, text := range texts {
			if got, err := typ.ParseText(text); !errors.Is(err, ErrInvalid) || got != nil {
				t.Errorf("%s: %q is taken for %x: %v", name, text, got, err)
			}
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	for _, typ := range sample(t) {
		if typ.Kind() == KindStruct {
			continue
		}
		elem := bytes.Repeat([]byte{0x3e, 0x41}, typ.Size())[:typ.Size()]
		if typ.Variable() {
			elem = []byte("word")
		}
		allocs := testing.AllocsPerRun(10, func() {
			var buf [256]byte
			dst := typ.AppendText(buf[:0], elem)
			dst = typ.AppendJSON(dst, elem)
			if len(dst) == 0 {
				t.Error("nothing was written")
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations an element", typ, allocs)
		}
	}
}

func FuzzParseText(f *testing.F) {
	types := sample(f)
	for i := range types {
		for _, text := range []string{"true", "-1.5e3", "nan", "-inf", "0x7e01", "1.0+2.0j", "[nan,0x0]", "nan-infj"} {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, text string) {
		typ := types[int(i)%len(types)]
		if elem, err := typ.ParseText(text); err == nil {
			checkRoundTrip(t, typ, elem)
		} else if !errors.Is(err, ErrInvalid) {
			t.Fatalf("%s: %v", typ, err)
		}
	})
}

func BenchmarkAppendText(b *testing.B) {
	for _, typ := range []Type{Of[int32](), Of[Float16](), Of[float32](), Of[float64]()} {
		elem := bytes.Repeat([]byte{0x3e, 0x41}, typ.Size())[:typ.Size()]
		b.Run(typ.Name(), func(b *testing.B) {
			b.ReportAllocs()
			var buf [64]byte
			for range b.N {
				typ.AppendText(buf[:0], elem)
			}
		})
	}
}
