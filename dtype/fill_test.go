// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/internal/byteorder"
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
		{"float4_e2m1fn", []string{`448`, `-6.5e9`}, `a number from -6.0 to 6.0, or "0x" and 2 hexadecimal digits`},
		{"float6_e2m3fn", []string{`448`}, "a number from -7.5 to 7.5"},
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
		typ.SetText(elem, rapid.StringN(0, typ.Size()/4, -1).Draw(t, "text"))
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
		byteorder.Store(number, rapid.OneOf(special, rapid.Uint64(), rapid.Uint64Range(0, math.MaxUint32)).Draw(t, "bits"))
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

// extended returns types beyond the core of the specification by short names.
func extended(t testing.TB) map[string]Type {
	m := map[string]Type{
		"utf32": mustType(FixedUTF32(3)), "terminated": mustType(NullTerminated(4)), "raw": mustType(RawBytes(3)),
		"date": mustType(DatetimeOf("D", 1)), "delta": mustType(TimedeltaOf("ms", 10)),
	}
	m["struct"] = mustType(StructOf(Field{Name: "x", Type: Of[int16]()}, Field{Name: "y", Type: mustType(Parse("float8_e4m3", nil))}))
	m["nested"] = mustType(StructOf(Field{Name: "in", Type: m["struct"]}, Field{Name: "t", Type: m["date"]}))
	for _, typ := range All() {
		m[typ.Name()] = typ
	}
	return m
}

// TestExtendedFill has valid fill values of every type of zarr-extensions, their bytes,
// with numbers in little-endian order, and their canonical form.
func TestExtendedFill(t *testing.T) {
	types := extended(t)
	for _, tt := range []struct{ name, json, want, canonical string }{
		{"int2", "-2", "fe", "-2"}, {"int2", "1", "01", "1"}, {"int2", "1.0", "01", "1"}, {"int4", "-8", "f8", "-8"}, {"int4", "7", "07", "7"},
		{"uint2", "3", "03", "3"}, {"uint4", "15", "0f", "15"}, {"uint4", "-0", "00", "0"},
		{"bfloat16", `"NaN"`, "c07f", `"NaN"`}, {"bfloat16", `"0x7fc1"`, "c17f", `"0x7fc1"`}, {"bfloat16", "1.5", "c03f", "1.5"}, {"bfloat16", "1e39", "807f", `"Infinity"`},
		{"bfloat16", "3.3895314e38", "7f7f", "3.39e+38"}, {"bfloat16", "-0.0", "0080", "-0.0"},
		{"float8_e3m4", `"NaN"`, "78", `"NaN"`}, {"float8_e3m4", `"-Infinity"`, "f0", `"-Infinity"`}, {"float8_e3m4", "15.5", "6f", "15.5"}, {"float8_e3m4", "15.75", "70", `"Infinity"`},
		{"float8_e4m3", `"NaN"`, "7c", `"NaN"`}, {"float8_e4m3", `"0x7f"`, "7f", `"0x7f"`}, {"float8_e4m3", "240", "77", "240.0"}, {"float8_e4m3", `"0xfc"`, "fc", `"0xfc"`},
		{"float8_e5m2", `"NaN"`, "7e", `"NaN"`}, {"float8_e5m2", `"Infinity"`, "7c", `"Infinity"`}, {"float8_e5m2", "57344", "7b", "57344.0"},
		{"float8_e4m3b11fnuz", `"NaN"`, "80", `"NaN"`}, {"float8_e4m3b11fnuz", "-0.0", "00", "0.0"}, {"float8_e4m3b11fnuz", "30", "7f", "30.0"},
		{"float8_e4m3fn", `"NaN"`, "7f", `"NaN"`}, {"float8_e4m3fn", `"0xff"`, "ff", `"0xff"`}, {"float8_e4m3fn", "-448", "fe", "-448.0"},
		{"float8_e4m3fnuz", `"0x80"`, "80", `"NaN"`}, {"float8_e4m3fnuz", "240", "7f", "240.0"}, {"float8_e5m2fnuz", "-57344", "ff", "-57344.0"},
		{"float8_e8m0fnu", `"NaN"`, "ff", `"NaN"`}, {"float8_e8m0fnu", "1", "7f", "1.0"}, {"float8_e8m0fnu", "0.5", "7e", "0.5"}, {"float8_e8m0fnu", `"0x00"`, "00", "5.877471754111438e-39"},
		{"float6_e2m3fn", "7.5", "1f", "7.5"}, {"float6_e2m3fn", "-0.125", "21", "-0.125"}, {"float6_e3m2fn", "28", "1f", "28.0"}, {"float6_e3m2fn", `"0x3f"`, "3f", "-28.0"},
		{"float4_e2m1fn", "-6", "0f", "-6.0"}, {"float4_e2m1fn", "0.5", "01", "0.5"}, {"float4_e2m1fn", `"0x08"`, "08", "-0.0"},
		{"complex_float16", `["NaN", "0x3c00"]`, "007e003c", `["NaN",1.0]`}, {"complex_bfloat16", "[1, -1]", "803f80bf", "[1.0,-1.0]"}, {"complex_float64", "[0,0]", "00000000000000000000000000000000", "[0.0,0.0]"},
		{"complex_float4_e2m1fn", "[1, -1]", "020a", "[1.0,-1.0]"}, {"complex_float8_e5m2", `["Infinity", "0x7f"]`, "7c7f", `["Infinity","0x7f"]`},
		{"string", `""`, "", `""`}, {"string", `"a\u00e9\u0000"`, "61c3a900", `"aé\u0000"`}, {"string", `"\ud83d\ude00"`, "f09f9880", `"😀"`}, {"string", ` "0" `, "30", `"0"`},
		{"bytes", `""`, "", `""`}, {"bytes", `"AQID"`, "010203", `"AQID"`}, {"bytes", "[1, 2, 255]", "0102ff", `"AQL/"`}, {"bytes", "[]", "", `""`}, {"bytes", "[1.0]", "01", `"AQ=="`},
		{"utf32", `""`, "000000000000000000000000", `""`}, {"utf32", `"Hi"`, "480000006900000000000000", `"Hi"`}, {"utf32", `"日本語"`, "e5650000 2c670000 9e8a0000", `"日本語"`},
		{"utf32", `"a\u0000b"`, "610000000000000062000000", `"a\u0000b"`}, {"utf32", `"a\u0000"`, "610000000000000000000000", `"a"`}, {"utf32", `"\ud83d\ude00"`, "00f601000000000000000000", `"😀"`},
		{"terminated", `""`, "00000000", `""`}, {"terminated", `"YWI="`, "61620000", `"YWI="`}, {"terminated", `"YWJjZA=="`, "61626364", `"YWJjZA=="`}, {"terminated", "[97, 0, 98]", "61006200", `"YQBi"`},
		{"raw", `"AQID"`, "010203", `"AQID"`}, {"raw", "[1, 2, 3]", "010203", `"AQID"`},
		{"date", "0", "0000000000000000", "0"}, {"date", `"NaT"`, "0000000000000080", "-9223372036854775808"}, {"date", "-9223372036854775808", "0000000000000080", "-9223372036854775808"},
		{"date", "9223372036854775807", "ffffffffffffff7f", "9223372036854775807"}, {"delta", "-1", "ffffffffffffffff", "-1"}, {"delta", `"NaT"`, "0000000000000080", "-9223372036854775808"},
		{"struct", `{"x": 1, "y": 1.5}`, "01003c", `{"x":1,"y":1.5}`}, {"struct", ` {"y": "NaN", "x": -1} `, "ffff7c", `{"x":-1,"y":"NaN"}`}, {"struct", `"AQA8"`, "01003c", `{"x":1,"y":1.5}`},
		{"nested", `{"in": {"x": 258, "y": 0}, "t": "NaT"}`, "0201000000000000000080", `{"in":{"x":258,"y":0.0},"t":-9223372036854775808}`},
		{"nested", `{"t": 1, "in": "AgEA"}`, "0201000100000000000000", `{"in":{"x":258,"y":0.0},"t":1}`},
	} {
		typ := types[tt.name]
		want, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(tt.want), []byte(" "), nil)))
		if err != nil {
			t.Fatal(err)
		}
		if !byteorder.Little() && !typ.Variable() {
			typ.Swap(want, want)
		}
		got, err := typ.ParseFill([]byte(tt.json))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %s is %x, want %x: %v", typ, tt.json, got, want, err)
			continue
		}
		if text, err := typ.FormatFill(got); err != nil || string(text) != tt.canonical {
			t.Errorf("%s: %s becomes %s, want %s: %v", typ, tt.json, text, tt.canonical, err)
		}
		checkRoundTrip(t, typ, got)
	}
}

// TestExtendedFillRefuses has invalid fill values for every type.
func TestExtendedFillRefuses(t *testing.T) {
	always := []string{"", " ", "null", "true", "{", "[", `"`, "NaN", "nan", "0x00", "[[0]]", `{"x": 0}`, "\x00", "0 0", "[1", `"\ud800"`, `"\x"`, "'a'", "1_0"}
	no := map[string][]string{
		"int2": {"2", "-3", "0.5", `"0"`, "[0]", `"NaN"`}, "int4": {"8", "-9"}, "uint2": {"4", "-1"}, "uint4": {"16", "-1", "1e2"},
		"bfloat16":    {`"0x7fc"`, `"0x7fc00000"`, `"nan"`, `"+Infinity"`, `"1"`, "[0]"},
		"float8_e4m3": {`"0x7"`, `"0x07c0"`, `"7c"`}, "float8_e3m4": {`"0x078"`}, "float8_e5m2": {`"Inf"`},
		"float8_e4m3b11fnuz": {`"Infinity"`, `"-Infinity"`, "31", "1e9", "-1e400"}, "float8_e4m3fn": {`"Infinity"`, "465", "-1e9"}, "float8_e4m3fnuz": {`"Infinity"`, "248"}, "float8_e5m2fnuz": {`"-Infinity"`, "61440"},
		"float8_e8m0fnu": {"0", "-0.0", "-1", `"Infinity"`, `"-Infinity"`, "1e40", "-1e-50"},
		"float6_e2m3fn":  {`"NaN"`, `"Infinity"`, "7.75", "-8", `"0x40"`, `"0xff"`}, "float6_e3m2fn": {`"NaN"`, "30", `"0x80"`}, "float4_e2m1fn": {`"NaN"`, `"-Infinity"`, "7", `"0x10"`},
		"complex_bfloat16": {"0", "[0]", "[0,0,0]", `["NaN","x"]`, `{"re": 0, "im": 0}`}, "complex_float6_e2m3fn": {`[0,"NaN"]`, "[8,0]"},
		"string": {"0", "[]", "[97]", "a"}, "bytes": {"0", "[256]", "[-1]", "[0.5]", `["a"]`, `"A"`, `"AQ"`, `"AQ==="`, `"AQI=\n"`, `"-_-_"`, `"AR=="`, `"A QID"`, `"-Infinity"`},
		"utf32": {`"four"`, "0", "[]", `"日本語語"`}, "terminated": {`"YWJjZGU="`, "[1,2,3,4,5]", "[256]", `"ab"`, "0"}, "raw": {`"AQI="`, `"AQIDBA=="`, "[1,2]", "[1,2,3,4]", `""`, "[]", "0"},
		"date": {"0.5", `"nat"`, `"NaN"`, `"0"`, "9223372036854775808", "-9223372036854775809", `"2024-01-01"`, "[0]"}, "delta": {"1e19", `"10 ms"`, `"NaT "`},
		"struct": {`{"x": 1}`, `{"x": 1, "y": 1, "z": 1}`, `{"x": 1, "y": 1, "x": 2}`, `{"x": 1, "y": null}`, `{"x": 40000, "y": 0}`, "0", "[1, 1.5]", `"AQA="`, `"AQA8AA=="`, "{}", `{"X": 1, "y": 0}`},
		"nested": {`{"in": {"x": 1}, "t": 0}`, `{"x": 1, "y": 0, "t": 0}`, `{"in": [1, 0], "t": 0}`, `{"in": {"x": 1, "y": 0}, "t": 0.5}`},
	}
	types := extended(t)
	for name, typ := range types {
		for i, json := range append(no[name], always...) {
			if i >= len(no[name]) && (typ.Kind() == KindBool && json == "true") {
				continue
			}
			got, err := typ.ParseFill([]byte(json))
			if !errors.Is(err, ErrInvalid) || got != nil {
				t.Errorf("%s: %s is taken for %x: %v", typ, json, got, err)
			}
		}
	}
	for name := range no {
		if types[name].IsZero() {
			t.Errorf("no type %s", name)
		}
	}
}

// TestExtendedText has elements in the form that people read and write.
func TestExtendedText(t *testing.T) {
	types := extended(t)
	for _, tt := range []struct{ name, text, want string }{
		{"string", "plain text", "plain text"}, {"string", `"quoted\n"`, "quoted\n"}, {"string", "", ""}, {"string", `"half`, `"half`}, {"string", " a ", " a "},
		{"bytes", "0x00ff", "0x00ff"}, {"bytes", `"AQI="`, "0x0102"}, {"bytes", "[1,2]", "0x0102"}, {"utf32", "äöü", "äöü"}, {"terminated", "0x6100ff", "0x6100ff"}, {"terminated", `"YWI="`, "ab"}, {"terminated", "YWI=", "ab"}, {"terminated", "[97, 98]", "ab"}, {"bytes", "AQI=", "0x0102"}, {"raw", "AQID", "0x010203"},
		{"raw", "0x010203", "0x010203"}, {"delta", "30 ms", "30 ms"}, {"delta", "NaT", "NaT"}, {"delta", "-3", "-30 ms"}, {"float8_e4m3", "-inf", "-inf"}, {"float8_e8m0fnu", "nan", "nan"},
		{"int4", "-8", "-8"}, {"complex_float16", "1-infj", "1.0-infj"}, {"struct", `{"x": 1, "y": 2}`, "(1, 2.0)"}, {"bfloat16", "0.1", "0.1"},
	} {
		typ := types[tt.name]
		elem, err := typ.ParseText(tt.text)
		if got := string(typ.AppendText(nil, elem)); err != nil || got != tt.want {
			t.Errorf("%s: %q is %q, want %q: %v", typ, tt.text, got, tt.want, err)
		}
	}
	for name, texts := range map[string][]string{
		"utf32": {"four", "\xff"}, "string": {"\xff"}, "terminated": {"ab", "fives", "0x0102030405", "AAECAwQ="}, "raw": {"0x0102", "abc"}, "delta": {"31 ms", "30 s", "30ms", "ms"},
		"float6_e2m3fn": {"nan", "inf", "100"}, "int4": {"8", "0x01"}, "struct": {"(1, 2.0)"}, "bytes": {"words", "0x0"}, "uint2": {"4"},
	} {
		for _, text := range texts {
			if elem, err := types[name].ParseText(text); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %q is taken for %x: %v", name, text, elem, err)
			}
		}
	}
}

// TestChecks checks that bytes that are not elements are refused.
func TestChecks(t *testing.T) {
	types := extended(t)
	for name, elem := range map[string]string{
		"bool": "02", "int2": "02", "int4": "08", "uint2": "04", "uint4": "ff", "float6_e2m3fn": "40", "float4_e2m1fn": "1f", "complex_float4_e2m1fn": "0010", "string": "c3",
	} {
		b, _ := hex.DecodeString(elem)
		if err := types[name].Check(b); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s is a %s: %v", elem, name, err)
		}
		if text, err := types[name].FormatFill(b); err == nil {
			t.Errorf("%s: %s becomes %s", name, elem, text)
		}
	}
	for _, r := range []uint32{0xd800, 0xdfff, 0x110000, math.MaxUint32} {
		elem := make([]byte, 12)
		byteorder.Store(elem[4:8], uint64(r))
		if err := types["utf32"].Check(elem); !errors.Is(err, ErrInvalid) {
			t.Errorf("%#x is a code point: %v", r, err)
		}
		if got := string(types["utf32"].AppendText(nil, elem)); got != "\x00\ufffd" {
			t.Errorf("%#x is shown as %q", r, got)
		}
	}
	if err := types["float8_e4m3"].Check([]byte{0xff, 0x80}); err != nil {
		t.Error(err)
	}
}
