// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/internal/racing"
)

func TestParseFill(t *testing.T) {
	f32, f64 := math.Float32frombits, math.Float64frombits
	tests := []struct {
		name, json string
		want       []byte
		canonical  string
	}{
		{"bool", "true", []byte{1}, "true"},
		{"bool", " false\n", []byte{0}, "false"},
		{"int8", "-128", elem(int8(-128)), "-128"},
		{"int8", "-0", elem(int8(0)), "0"},
		{"uint8", "-0.0", elem(uint8(0)), "0"},
		{"uint8", "4.0", elem(uint8(4)), "4"},
		{"uint8", "2.5e1", elem(uint8(25)), "25"},
		{"uint8", "2500e-1", elem(uint8(250)), "250"},
		{"int16", "-3e4", elem(int16(-30000)), "-30000"},
		{"int64", "-9223372036854775808", elem(int64(math.MinInt64)), "-9223372036854775808"},
		{"int64", "9223372036854775807", elem(int64(math.MaxInt64)), "9223372036854775807"},
		{"uint64", "18446744073709551615", elem(uint64(math.MaxUint64)), "18446744073709551615"},
		{"uint64", "18446744073709551615.000", elem(uint64(math.MaxUint64)), "18446744073709551615"},
		{"float64", "0", elem(0.0), "0.0"},
		{"float64", "-0", elem(math.Copysign(0, -1)), "-0.0"},
		{"float32", "-0.0", elem(float32(math.Copysign(0, -1))), "-0.0"},
		{"float16", "-0e0", elem(Float16(0x8000)), "-0.0"},
		{"float64", "1e30", elem(1e30), "1e+30"},
		{"float64", "0.1", elem(0.1), "0.1"},
		{"float32", "0.1", elem(float32(0.1)), "0.1"},
		{"float16", "0.1", elem(Float16(0x2e66)), "0.1"},
		{"float32", "0.10000000149011612", elem(float32(0.1)), "0.1"},
		{"float64", "1e-400", elem(0.0), "0.0"},
		{"float64", "-1e-400", elem(math.Copysign(0, -1)), "-0.0"},
		// 1+2^-11 is the middle. A much later digit decides, which rounding to a
		// float64 or float32 first would lose.
		{"float16", "1.00048828125", elem(Float16(0x3c00)), "1.0"},
		{"float16", "1.00048828125000000000000000000001", elem(Float16(0x3c01)), "1.001"},
		{"float16", "1.00146484374999999999999999999999", elem(Float16(0x3c01)), "1.001"},
		{"float16", "65519.999999999999999999999", elem(Float16(0x7bff)), "65504.0"},
		{"float16", "6e-8", elem(Float16(1)), "6e-08"},
		{"float16", "2.98023223876953125e-8", elem(Float16(0)), "0.0"},
		{"float16", "2.980232238769531250000000000001e-8", elem(Float16(1)), "6e-08"},
		{"float16", "1e-60", elem(Float16(0)), "0.0"},
		{"float16", "-1e-60", elem(Float16(0x8000)), "-0.0"},
		// 1+2^-24 is the middle of two float32.
		{"float32", "1.000000059604644775390625", elem(float32(1)), "1.0"},
		{"float32", "1.00000005960464477539062500001", elem(math.Nextafter32(1, 2)), "1.0000001"},
		{"float16", `"NaN"`, elem(Float16(0x7e00)), `"NaN"`},
		{"float32", `"NaN"`, elem(f32(0x7fc00000)), `"NaN"`},
		{"float64", `"NaN"`, elem(f64(0x7ff8000000000000)), `"NaN"`},
		{"float64", `"\u004eaN"`, elem(f64(0x7ff8000000000000)), `"NaN"`},
		{"float64", `"Infinity"`, elem(math.Inf(1)), `"Infinity"`},
		{"float64", "1e309", elem(math.Inf(1)), `"Infinity"`},
		{"float64", "-1e99999999999999999999", elem(math.Inf(-1)), `"-Infinity"`},
		{"float64", "1e-400", elem(0.0), "0.0"},
		{"float32", "1e39", elem(float32(math.Inf(1))), `"Infinity"`},
		{"float32", "3.4028235677973365e38", elem(float32(math.MaxFloat32)), "3.4028235e+38"},
		{"float16", "65519.99", elem(Float16(0x7bff)), "65504.0"},
		{"float16", "65520", elem(Float16(0x7c00)), `"Infinity"`},
		{"float16", `"-Infinity"`, elem(Float16(0xfc00)), `"-Infinity"`},
		{"float32", `"0x7fc00001"`, elem(f32(0x7fc00001)), `"0x7fc00001"`},
		{"float32", `"0x7F800001"`, elem(f32(0x7f800001)), `"0x7f800001"`},
		{"float32", `"0x7fc00000"`, elem(f32(0x7fc00000)), `"NaN"`},
		{"float32", `"0x3fc00000"`, elem(float32(1.5)), "1.5"},
		{"float64", `"0xfff8000000000000"`, elem(f64(0xfff8000000000000)), `"0xfff8000000000000"`},
		{"float16", `"0xfe00"`, elem(Float16(0xfe00)), `"0xfe00"`},
		{"complex64", "[0.0, 0.0]", elem(complex64(0)), "[0.0,0.0]"},
		{"complex64", ` [ "NaN" , "Infinity" ] `, append(elem(f32(0x7fc00000)), elem(f32(0x7f800000))...), `["NaN","Infinity"]`},
		{"complex128", `[1, "0x7ff0000000000001"]`, append(elem(1.0), elem(f64(0x7ff0000000000001))...), `[1.0,"0x7ff0000000000001"]`},
		{"r8", "[7]", []byte{7}, "[7]"},
		{"r24", "[0, 128.0, 255]", []byte{0, 128, 255}, "[0,128,255]"},
	}
	for _, tt := range tests {
		typ := parse(t, tt.name)
		got, err := typ.ParseFill([]byte(tt.json))
		if err != nil || !bytes.Equal(got, tt.want) {
			t.Errorf("%s: %s is %x, want %x: %v", typ, tt.json, got, tt.want, err)
			continue
		}
		if text, err := typ.FormatFill(got); err != nil || string(text) != tt.canonical {
			t.Errorf("%s: %s becomes %s, want %s: %v", typ, tt.json, text, tt.canonical, err)
		}
	}
}

func TestParseFillRefuses(t *testing.T) {
	tests := []struct {
		name string
		json []string
		says string
	}{
		{"bool", []string{"0", "1", `"true"`, "null", "[true]", "True"}, "true or false"},
		{"int8", []string{"128", "-129", "1.5", `"5"`, `"NaN"`, "true", "null", "[0]", "NaN", "{}"}, "an integer from -128 to 127"},
		{"uint8", []string{"256", "-1", "1e-1", "25.5e-1", "1e400", "0x1", "1_0"}, "an integer from 0 to 255"},
		{"int64", []string{"9223372036854775808", "-9223372036854775809", "1e19"}, "from -9223372036854775808 to 9223372036854775807"},
		{"uint64", []string{"18446744073709551616", "1e20", "-1", "1" + strings.Repeat("0", 60000)}, "from 0 to 18446744073709551615"},
		{"float16", []string{`"0x7e0"`, `"0x7fc00001"`}, `"0x" and 4 hexadecimal digits`},
		{"float32", []string{
			`"nan"`, `"inf"`, `"+Infinity"`, `"0"`, "true", "null", "[0,0]", `"0x3f80"`, `"0x7fcg0000"`, `"7fc00000"`,
			`"0X7fc00000"`, `"0x"`, `""`, `"NaN`, "NaN", "Infinity", "1.", "01", `"NaN" ` + "1",
		}, `"Infinity"`},
		{"complex64", []string{"0", "[0]", "[0,0,0]", `["a",0]`, "[]", "[0,]", "[,0]", "[[0,0]]", "[0,0", `"[0,0]"`, "null", "[0 0]"}, "two parts"},
		{"r16", []string{"[0]", "[0,0,0]", "[0,256]", "[-1,0]", "[0,0.5]", `"AAA="`, "0", "[]", `["0",0]`}, "an array of 2 integers from 0 to 255"},
	}
	for _, tt := range tests {
		typ := parse(t, tt.name)
		for _, json := range append(tt.json, "", " ") {
			got, err := typ.ParseFill([]byte(json))
			if !errors.Is(err, ErrInvalid) || got != nil {
				t.Errorf("%s: %.40s is taken for %x: %v", typ, json, got, err)
			} else if !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), tt.name) {
				t.Errorf("%s: %.40s: message %q does not say %q", typ, json, err, tt.says)
			}
		}
	}
	if _, err := (Type{}).ParseFill([]byte("0")); !errors.Is(err, ErrInvalid) {
		t.Errorf("zero Type takes a fill value: %v", err)
	}
}

func TestFormatFillRefuses(t *testing.T) {
	for _, tt := range []struct {
		typ  Type
		elem []byte
	}{
		{Type{}, nil},
		{Of[int16](), []byte{1}},
		{Of[int16](), make([]byte, 3)},
		{Of[bool](), []byte{2}},
	} {
		if text, err := tt.typ.FormatFill(tt.elem); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %x becomes %s: %v", tt.typ, tt.elem, text, err)
		}
	}
}

// checkRoundTrip formats an element, reads it back and compares the bits. It does the
// same with text, if that keeps all bits.
func checkRoundTrip(t rapid.TB, typ Type, elem []byte) {
	json, err := typ.FormatFill(elem)
	if err != nil {
		t.Fatalf("%s: %x: %v", typ, elem, err)
	}
	if back, err := typ.ParseFill(json); err != nil || !bytes.Equal(back, elem) {
		t.Fatalf("%s: %x as %s is %x: %v", typ, elem, json, back, err)
	}
	if back, err := typ.ParseText(string(json)); err != nil || !bytes.Equal(back, elem) {
		t.Fatalf("%s: %x as the text %s is %x: %v", typ, elem, json, back, err)
	}
	text := string(typ.AppendText(nil, elem))
	if typ.Kind() == KindDatetime {
		text = `"` + text + `"` // a year alone is a number of steps
	}
	if typ.Kind() == KindStruct || typ.Kind() == KindTerminated || typ.Kind() != KindDatetime && strings.HasPrefix(text, `"`) || typ.Kind() != KindRaw && strings.HasPrefix(text, "0x") {
		return // text that is read in another way
	}
	back, err := typ.ParseText(text)
	if err != nil || !strings.Contains(text, "nan") && !bytes.Equal(back, elem) {
		t.Fatalf("%s: %x as text %s is %x: %v", typ, elem, text, back, err)
	}
}

func TestFillRoundTripAll(t *testing.T) {
	racing.Skip(t)
	for _, typ := range sample(t) {
		switch {
		case typ.Kind() == KindBool:
			checkRoundTrip(t, typ, []byte{0})
			checkRoundTrip(t, typ, []byte{1})
		case typ.Size() == 1:
			for i := range 1 << 8 {
				if elem := []byte{byte(i)}; typ.Check(elem) == nil {
					checkRoundTrip(t, typ, elem)
				}
			}
		case typ.Size() == 2:
			for i := range 1 << 16 {
				if elem := binary.NativeEndian.AppendUint16(nil, uint16(i)); typ.Check(elem) == nil {
					checkRoundTrip(t, typ, elem)
				}
			}
		}
	}
}

func TestFillRoundTrip(t *testing.T) {
	for _, typ := range sample(t) {
		if typ.Size() <= 2 && !typ.Variable() {
			continue
		}
		t.Run(typ.String(), rapid.MakeCheck(func(t *rapid.T) {
			checkRoundTrip(t, typ, drawElem(t, typ))
		}))
	}
}

// drawElem draws an element. It prefers the bits of special numbers.
func drawElem(t *rapid.T, typ Type) []byte {
	special := rapid.SampledFrom([]uint64{
		0, math.MaxUint64, 1 << 63, 0x7ff0000000000000, 0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001, 0x7fefffffffffffff, 0x3ff0000000000000,
		1 << 31, 0x7f800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7f7fffff, 0x3f800000,
	})
	switch typ.Kind() {
	case KindString:
		return []byte(rapid.String().Draw(t, "text"))
	case KindBytes:
		return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
	case KindUTF32:
		elem := make([]byte, typ.Size())
		typ.setText(elem, rapid.StringN(0, typ.Size()/4, -1).Draw(t, "text"))
		return elem
	case KindStruct:
		var elem []byte
		for _, f := range typ.Fields() {
			elem = append(elem, drawElem(t, f.Type)...)
		}
		return elem
	case KindBool:
		return []byte{rapid.ByteRange(0, 1).Draw(t, "bool")}
	}
	var elem []byte
	for len(elem) < typ.Size() {
		number := make([]byte, typ.Unit())
		putBits(number, rapid.OneOf(special, rapid.Uint64(), rapid.Uint64Range(0, math.MaxUint32)).Draw(t, "bits"))
		elem = append(elem, number...)
	}
	typ.Normalize(elem)
	return elem
}

func FuzzParseFill(f *testing.F) {
	types := sample(f)
	for i := range types {
		for _, json := range []string{
			"true", "0", "-0.0", "4.0", "1e400", "18446744073709551615", `"NaN"`, `"-Infinity"`, `"0x7e01"`, `"0x7fc00001"`, "[1,2]", `["NaN", 1e-5]`, "[0, 1, 255]", "null",
		} {
			f.Add(uint8(i), []byte(json))
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, json []byte) {
		typ := types[int(i)%len(types)]
		elem, err := typ.ParseFill(json)
		if err != nil {
			if elem != nil || !errors.Is(err, ErrInvalid) {
				t.Fatalf("%s: %x, %v", typ, elem, err)
			}
			return
		}
		checkRoundTrip(t, typ, elem)
	})
}
