// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	_ "varve.dev/zarr/internal/codecs/bitround"
	"varve.dev/zarr/metadata"
)

func newFilter(t testing.TB, ext metadata.Extension) codec.ArrayArray {
	t.Helper()
	f, err := codec.Default.New(ext)
	if err != nil {
		t.Fatal(err)
	}
	return f.(codec.ArrayArray)
}

// boundFilter returns a filter for arrays of a type, and the spec of what it makes of
// them.
func boundFilter(t testing.TB, ext metadata.Extension, typ dtype.Type) (codec.ArrayArray, codec.Spec) {
	t.Helper()
	f := newFilter(t, ext)
	out, err := f.Bind(codec.Spec{Type: typ, Fill: make([]byte, typ.Size()), Rank: 1})
	if err != nil {
		t.Fatalf("%s %s: %v", ext.Name, ext.Configuration, err)
	}
	return f, out
}

func row(typ dtype.Type, data []byte) codec.Block {
	return codec.Block{Shape: []int64{int64(len(data) / typ.Size())}, Data: data}
}

// filtered returns the encoded form of a row of elements.
func filtered(t testing.TB, f codec.ArrayArray, out codec.Spec, src codec.Block) codec.Block {
	t.Helper()
	shape, err := f.EncodedShape(nil, src.Shape)
	if err != nil {
		t.Fatal(err)
	}
	dst := codec.Block{Shape: shape, Data: bytes.Repeat([]byte{0xa5}, int(shape[0])*out.Type.Size())}
	if err := f.Encode(&dst, src); err != nil {
		t.Fatal(err)
	}
	return dst
}

// host returns the elements that hexadecimal digits have in little-endian order.
func host(t testing.TB, typ dtype.Type, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	if !byteorder.Little() {
		byteorder.Bytes(b, b, typ.Unit())
	}
	return b
}

func numPyType(t testing.TB, text string) dtype.Type {
	t.Helper()
	typ, err := parseNumPy("type", text)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// TestFilterGolden compares with chunks that numcodecs made.
func TestFilterGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/filters.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var c struct {
			Filter        string
			Configuration json.RawMessage
			Type, Stored  string
			Array         string
			Encoded       string
			Decoded       string
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		seen[c.Filter]++
		typ, stored := numPyType(t, c.Type), numPyType(t, c.Stored)
		f, out := boundFilter(t, metadata.Extension{Name: "numcodecs." + c.Filter, Configuration: c.Configuration}, typ)
		if out.Type != stored {
			t.Errorf("%s: stored as %s, want %s", line, out.Type, stored)
			continue
		}
		src := row(typ, host(t, typ, c.Array))
		encoded := filtered(t, f, out, src)
		if want := host(t, stored, c.Encoded); !bytes.Equal(encoded.Data, want) {
			t.Errorf("%s: encoded %x, want %x", line, encoded.Data, want)
			continue
		}
		decoded := row(typ, make([]byte, len(src.Data)))
		if err := f.Decode(&decoded, encoded); err != nil || !bytes.Equal(decoded.Data, host(t, typ, c.Decoded)) {
			t.Errorf("%s: decoded %x, %v", line, decoded.Data, err)
		}
	}
	for _, name := range []string{"delta", "fixedscaleoffset", "quantize", "bitround", "packbits", "astype"} {
		if seen[name] < 10 {
			t.Errorf("%s: %d chunks", name, seen[name])
		}
	}
}

// TestFilterPages has the examples of the documentation of numcodecs.
func TestFilterPages(t *testing.T) {
	for _, tt := range []struct {
		ext           metadata.Extension
		typ           dtype.Type
		values, wants string
	}{
		{Delta(dtype.Int16, dtype.Int8), dtype.Int16, "100 102 104 106 108", "100 2 2 2 2"},
		{FixedScaleOffset(1000, 10, dtype.Float64, dtype.Uint8), dtype.Float64, "1000 1000.11111111 1000.55555556 1000.66666667 1001", "0 1 6 7 10"},
		{Quantize(1, dtype.Float64, dtype.Type{}), dtype.Float64, "0 0.11111111 0.33333333 0.55555556 1", "0.0 0.125 0.3125 0.5625 1.0"},
		{Quantize(2, dtype.Float64, dtype.Type{}), dtype.Float64, "0.11111111 0.44444444", "0.109375 0.4453125"},
		{PackBits(), dtype.Bool, "true false false true", "4 144"},
		{AsType(dtype.Int8, dtype.Int16), dtype.Int16, "100 118 300", "100 118 44"},
		{BitRound(3), dtype.Float32, "0.1 1.2 12.3 123.4 1234.5 nan inf -inf", "0.1015625 1.25 12.0 120.0 1280.0 nan inf -inf"},
	} {
		f, out := boundFilter(t, tt.ext, tt.typ)
		var data []byte
		for _, v := range strings.Fields(tt.values) {
			e, err := tt.typ.ParseText(v)
			if err != nil {
				t.Fatal(err)
			}
			data = append(data, e...)
		}
		encoded := filtered(t, f, out, row(tt.typ, data))
		var got []string
		for ; len(encoded.Data) > 0; encoded.Data = encoded.Data[out.Type.Size():] {
			got = append(got, string(out.Type.AppendText(nil, encoded.Data[:out.Type.Size()])))
		}
		if strings.Join(got, " ") != tt.wants {
			t.Errorf("%s %s: %s, want %s", tt.ext.Name, tt.ext.Configuration, got, tt.wants)
		}
	}
}

func TestFilterContract(t *testing.T) {
	specs := func(types ...dtype.Type) []codec.Spec {
		var list []codec.Spec
		for _, typ := range types {
			for rank := range 4 {
				list = append(list, codec.Spec{Type: typ, Fill: make([]byte, typ.Size()), Rank: rank})
			}
		}
		return list
	}
	for _, tt := range []struct {
		ext metadata.Extension
		o   codectest.Options
	}{
		{Delta(dtype.Int16, dtype.Type{}), codectest.Options{Specs: specs(dtype.Int16, dtype.Uint16)}},
		{Delta(dtype.Uint8, dtype.Int64), codectest.Options{Specs: specs(dtype.Uint8)}},
		{Delta(dtype.Int64, dtype.Type{}), codectest.Options{Specs: specs(dtype.Int64, numPyType(t, "<M8[ns]"))}},
		{Delta(dtype.Float64, dtype.Float32), codectest.Options{Specs: specs(dtype.Float64), Lossy: true}},
		{Delta(dtype.Complex64, dtype.Type{}), codectest.Options{Specs: specs(dtype.Complex64), Lossy: true}},
		{FixedScaleOffset(3, 0.5, dtype.Float32, dtype.Int16), codectest.Options{Specs: specs(dtype.Float32), Lossy: true}},
		{FixedScaleOffset(3, 2, dtype.Int16, dtype.Int32), codectest.Options{Specs: specs(dtype.Int16), Lossy: true}},
		{Quantize(3, dtype.Float32, dtype.Float64), codectest.Options{Specs: specs(dtype.Float32), Lossy: true}},
		{BitRound(5), codectest.Options{Specs: specs(dtype.Float32, dtype.Float64, dtype.Of[dtype.Float16]()), Lossy: true}},
		{PackBits(), codectest.Options{Specs: specs(dtype.Bool)}},
		{AsType(dtype.Int64, dtype.Int16), codectest.Options{Specs: specs(dtype.Int16)}},
		{AsType(dtype.Bool, dtype.Bool), codectest.Options{Specs: specs(dtype.Bool)}},
	} {
		t.Run(tt.ext.Name, func(t *testing.T) {
			codectest.Run(t, func() any { return newFilter(t, tt.ext) }, &tt.o)
		})
	}
}

// TestFilterFill has the fill value keep its number in the type of the encoded array.
func TestFilterFill(t *testing.T) {
	for _, tt := range []struct {
		ext       metadata.Extension
		typ       dtype.Type
		fill      string
		want      dtype.Type
		wantFill  string
		wantsRank int
	}{
		{FixedScaleOffset(10, 100, dtype.Float64, dtype.Int32), dtype.Float64, "7", dtype.Int32, "7", 3},
		{AsType(dtype.Float64, dtype.Float32), dtype.Float32, `"NaN"`, dtype.Float64, "nan", 3},
		{Delta(dtype.Int32, dtype.Int8), dtype.Int32, "-3", dtype.Int8, "-3", 3},
		{Delta(dtype.Int64, dtype.Type{}), dtype.Uint64, "3", dtype.Int64, "3", 3},
		{PackBits(), dtype.Bool, "true", dtype.Uint8, "1", 1},
		{Quantize(2, dtype.Type{}, dtype.Type{}), dtype.Float32, "1.5", dtype.Float32, "1.5", 3},
	} {
		fill, err := tt.typ.ParseFill([]byte(tt.fill))
		if err != nil {
			t.Fatal(err)
		}
		out, err := newFilter(t, tt.ext).Bind(codec.Spec{Type: tt.typ, Fill: fill, Rank: 3})
		if err != nil || out.Rank != tt.wantsRank {
			t.Errorf("%s: %+v, %v", tt.ext.Name, out, err)
		}
		if got := string(out.Type.AppendText(nil, out.Fill)); out.Type.Size() != tt.want.Size() || got != tt.wantFill {
			t.Errorf("%s: fill is %s of %s, want %s of %s", tt.ext.Name, got, out.Type, tt.wantFill, tt.want)
		}
	}
}

func TestFilterConfigurations(t *testing.T) {
	for _, tt := range []struct{ id, configuration, says string }{
		{"delta", `{"dtype":"<i4"}`, ""}, {"delta", `{"dtype":"<i4","astype":null}`, ""}, {"delta", `{"dtype":"int32","astype":"i2"}`, ""},
		{"delta", `{"dtype":"=i4"}`, ""}, {"delta", `{"dtype":">i4","astype":"|i1"}`, ""},
		{"delta", `{}`, "dtype is missing"}, {"delta", `{"dtype":null}`, "dtype is missing"}, {"delta", `{"dtype":"|O"}`, "dtype"},
		{"delta", `{"dtype":"<i3"}`, "dtype"}, {"delta", `{"dtype":5}`, "dtype"}, {"delta", `{"dtype":"<i4","id":"delta"}`, `unknown member "id"`},
		{"delta", `{"dtype":"<i4","astype":"<"}`, "astype"}, {"delta", `[]`, "not a JSON object"}, {"delta", `null`, "null"},
		{"fixedscaleoffset", `{"offset":1,"scale":2}`, ""}, {"fixedscaleoffset", `{"offset":1e3,"scale":2.5,"dtype":"<f4","astype":"u1"}`, ""},
		{"fixedscaleoffset", `{"scale":2}`, "offset is missing"}, {"fixedscaleoffset", `{"offset":2}`, "scale is missing"},
		{"fixedscaleoffset", `{"offset":1,"scale":0}`, "scale is 0"}, {"fixedscaleoffset", `{"offset":1,"scale":0.0}`, "scale is 0"},
		{"fixedscaleoffset", `{"offset":"1","scale":2}`, "not a number"}, {"fixedscaleoffset", `{"offset":true,"scale":2}`, "not a number"},
		{"fixedscaleoffset", `{"offset":1,"scale":1e999}`, "not a number"}, {"fixedscaleoffset", `{"offset":null,"scale":2}`, "null"},
		{"fixedscaleoffset", `{"offset":1,"scale":2,"round":1}`, "unknown member"},
		{"quantize", `{"digits":3}`, ""}, {"quantize", `{"digits":-3,"dtype":"<f4"}`, ""}, {"quantize", `{"digits":307,"dtype":"<f4"}`, ""},
		{"quantize", `{}`, "digits is missing"}, {"quantize", `{"digits":308}`, "digits is 308"}, {"quantize", `{"digits":2.5}`, "digits"},
		{"quantize", `{"digits":"3"}`, "digits"}, {"quantize", `{"digits":3,"mode":1}`, "unknown member"},
		{"bitround", `{"keepbits":0}`, ""}, {"bitround", `{"keepbits":-1}`, "keepbits is -1"}, {"bitround", `{}`, "keepbits is missing"},
		{"bitround", `{"keepbits":1.5}`, "keepbits"}, {"bitround", `{"keepbits":3,"x":1}`, "unknown member"},
		{"packbits", `{}`, ""}, {"packbits", `{"x":1}`, "unknown member"}, {"packbits", `5`, "not a JSON object"},
		{"astype", `{"encode_dtype":"<f8","decode_dtype":"<f4"}`, ""}, {"astype", `{"encode_dtype":"<f8"}`, ""},
		{"astype", `{"decode_dtype":"<f8"}`, "encode_dtype is missing"}, {"astype", `{"encode_dtype":"<x8"}`, "encode_dtype"},
		{"astype", `{"encode_dtype":"<f8","casting":"safe"}`, "unknown member"},
	} {
		_, err := codec.Default.New(metadata.Extension{Name: "numcodecs." + tt.id, Configuration: []byte(tt.configuration)})
		if (err == nil) != (tt.says == "") || err != nil && (!errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s %s: %v, want %q", tt.id, tt.configuration, err, tt.says)
		}
	}
}

// TestBitRoundOther rounds what NumPy has no floats of as the codec "bitround" does,
// under the names that zarrs has for both.
func TestBitRoundOther(t *testing.T) {
	f, out := boundFilter(t, BitRound(3), dtype.Uint8)
	if got := filtered(t, f, out, row(dtype.Uint8, []byte{11, 123, 255})); !bytes.Equal(got.Data, []byte{12, 128, 224}) {
		t.Errorf("elements are %d", got.Data)
	}
	for _, ext := range []metadata.Extension{
		{Name: "https://codec.zarrs.dev/array_to_array/bitround", Configuration: []byte(`{"keepbits":3}`)},
		{Name: "https://codec.zarrs.dev/array_to_array/fixedscaleoffset", Configuration: []byte(`{"offset":1,"scale":2,"dtype":"f4"}`)},
	} {
		boundFilter(t, ext, dtype.Float32)
	}
}

func TestFilterBindRefuses(t *testing.T) {
	var none dtype.Type
	for _, tt := range []struct {
		ext    metadata.Extension
		typ    dtype.Type
		target error
	}{
		{Delta(dtype.Int32, none), dtype.Int16, codec.ErrConfiguration},
		{Delta(dtype.Int32, none), dtype.Float32, codec.ErrConfiguration},
		{Delta(dtype.Float32, none), dtype.Int32, codec.ErrConfiguration},
		{Delta(dtype.Bool, none), dtype.Bool, codec.ErrUnsupported},
		{Delta(dtype.Complex64, dtype.Float32), dtype.Complex64, codec.ErrUnsupported},
		{Delta(numPyType(t, "|V4"), none), numPyType(t, "|V4"), codec.ErrConfiguration},
		{Delta(numPyType(t, "<U4"), none), numPyType(t, "<U4"), codec.ErrConfiguration},
		{FixedScaleOffset(0, 1, dtype.Complex128, none), dtype.Complex128, codec.ErrUnsupported},
		{FixedScaleOffset(0, 1, dtype.Int32, numPyType(t, "|S4")), dtype.Int32, codec.ErrConfiguration},
		{Quantize(1, none, none), dtype.Int32, codec.ErrConfiguration},
		{Quantize(1, none, none), bfloat16(t), codec.ErrConfiguration},
		{FixedScaleOffset(1, 2, none, none), bfloat16(t), codec.ErrConfiguration},
		{AsType(dtype.Float32, none), bfloat16(t), codec.ErrConfiguration},
		{Quantize(1, dtype.Float32, dtype.Int32), dtype.Float32, codec.ErrConfiguration},
		{BitRound(24), dtype.Float32, codec.ErrConfiguration},
		{BitRound(1e9), dtype.Float64, codec.ErrConfiguration},
		{BitRound(2), dtype.Bool, codec.ErrConfiguration},
		{BitRound(0), dtype.Int8, codec.ErrConfiguration},
		{PackBits(), dtype.Uint8, codec.ErrConfiguration},
		{AsType(dtype.Complex64, dtype.Float32), dtype.Float32, codec.ErrUnsupported},
		{AsType(dtype.Int8, dtype.Float32), dtype.Float64, codec.ErrConfiguration},
	} {
		_, err := newFilter(t, tt.ext).Bind(codec.Spec{Type: tt.typ, Fill: make([]byte, tt.typ.Size()), Rank: 1})
		if !errors.Is(err, tt.target) || !strings.Contains(err.Error(), tt.ext.Name) {
			t.Errorf("%s %s of %s: %v, want %v", tt.ext.Name, tt.ext.Configuration, tt.typ, err, tt.target)
		}
	}
	if _, err := newFilter(t, PackBits()).EncodedShape(nil, []int64{math.MaxInt64, 3}); !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("error is %v", err)
	}
}

// bfloat16 returns bfloat16, which NumPy does not have.
func bfloat16(t testing.TB) dtype.Type {
	t.Helper()
	typ, err := dtype.Parse("bfloat16", nil)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func TestPackBitsDamage(t *testing.T) {
	f, _ := boundFilter(t, PackBits(), dtype.Bool)
	for first := range 256 {
		dst := codec.Block{Shape: []int64{5}, Data: make([]byte, 5)}
		err := f.Decode(&dst, codec.Block{Shape: []int64{2}, Data: []byte{byte(first), 0xff}})
		if first == 3 && (err != nil || !bytes.Equal(dst.Data, []byte{1, 1, 1, 1, 1})) || first != 3 && !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("first byte %d: %x, %v", first, dst.Data, err)
		}
	}
}

// TestPackBitsWays looks for every bit where it belongs.
func TestPackBitsWays(t *testing.T) {
	f, out := boundFilter(t, PackBits(), dtype.Bool)
	rapid.Check(t, func(t *rapid.T) {
		src := row(dtype.Bool, rapid.SliceOfN(rapid.ByteRange(0, 1), 0, 50).Draw(t, "bools"))
		shape, _ := f.EncodedShape(nil, src.Shape)
		enc := codec.Block{Shape: shape, Data: bytes.Repeat([]byte{0xa5}, int(shape[0])*out.Type.Size())}
		if err := f.Encode(&enc, src); err != nil || int(enc.Data[0]) != 8*(len(enc.Data)-1)-len(src.Data) {
			t.Fatalf("%x, %v", enc.Data, err)
		}
		for i, v := range src.Data {
			if enc.Data[1+i/8]>>(7-i%8)&1 != v {
				t.Fatalf("bit %d of %x", i, enc.Data)
			}
		}
		dst := codec.Block{Shape: src.Shape, Data: make([]byte, len(src.Data))}
		if err := f.Decode(&dst, enc); err != nil || !bytes.Equal(dst.Data, src.Data) {
			t.Fatalf("%x, %v", dst.Data, err)
		}
	})
}

// TestDeltaIntegers gets integers back whatever they are, over the borders of blocks too.
func TestDeltaIntegers(t *testing.T) {
	names := []string{"<i1", "<i2", "<i4", "<i8", "<u1", "<u2", "<u4", "<u8"}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, 7).Draw(t, "type")
		typ, _ := parseNumPy("", names[i])
		wider, _ := parseNumPy("", names[rapid.IntRange(i%4, 3).Draw(t, "wider")+i/4*4])
		made, err := codec.Default.New(Delta(typ, wider))
		if err != nil {
			t.Fatal(err)
		}
		f := made.(codec.ArrayArray)
		out, err := f.Bind(codec.Spec{Type: typ, Rank: 1})
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.SampledFrom([]int{0, 1, 2, 511, 512, 513, 1300}).Draw(t, "n")
		src := row(typ, make([]byte, n*typ.Size()))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for i := range src.Data {
			src.Data[i] = byte(r.Uint32())
		}
		enc := codec.Block{Shape: src.Shape, Data: make([]byte, n*out.Type.Size())}
		dst := codec.Block{Shape: src.Shape, Data: make([]byte, len(src.Data))}
		if err := errors.Join(f.Encode(&enc, src), f.Decode(&dst, enc)); err != nil || !bytes.Equal(dst.Data, src.Data) {
			t.Fatalf("%s as %s: %v", typ, wider, err)
		}
	})
}

// TestQuantizeScale compares with the definition in numcodecs, whose logarithms are exact
// where these are not.
func TestQuantizeScale(t *testing.T) {
	for digits := -maxDigits; digits <= maxDigits; digits++ {
		s := scaleOf(digits)
		if fraction, _ := math.Frexp(s); fraction != 0.5 || s < math.Pow10(digits) || s/2 >= math.Pow10(digits) {
			t.Errorf("%d digits: %v", digits, s)
		}
	}
}

// FuzzFilters decodes and encodes any bytes with any filter.
func FuzzFilters(f *testing.F) {
	for i, c := range []string{`{"dtype":"<i4"}`, `{"offset":1,"scale":2,"astype":"u1"}`, `{"digits":3}`, `{"keepbits":3}`, `{}`, `{"encode_dtype":"<f8"}`} {
		f.Add(uint8(i), uint8(i), []byte(c), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08"))
	}
	names := []string{"delta", "fixedscaleoffset", "quantize", "bitround", "packbits", "astype"}
	types := append(dtype.All(), numPyType(f, "<M8[ns]"), numPyType(f, "|V3"))
	f.Fuzz(func(t *testing.T, i, j uint8, configuration, data []byte) {
		made, err := codec.Default.New(metadata.Extension{Name: "numcodecs." + names[int(i)%len(names)], Configuration: configuration})
		if err != nil {
			if !errors.Is(err, codec.ErrConfiguration) {
				t.Errorf("error is %v", err)
			}
			return
		}
		typ := types[int(j)%len(types)]
		c := made.(codec.ArrayArray)
		out, err := c.Bind(codec.Spec{Type: typ, Fill: make([]byte, typ.Size()), Rank: 1})
		if err != nil {
			return
		}
		n := len(data) / typ.Size()
		src := row(typ, data[:n*typ.Size()])
		if typ.Kind() == dtype.KindBool {
			for i := range src.Data {
				src.Data[i] &= 1
			}
		}
		shape, err := c.EncodedShape(nil, src.Shape)
		if err != nil {
			t.Fatal(err)
		}
		enc := codec.Block{Shape: shape, Data: make([]byte, shape[0]*int64(out.Type.Size()))}
		if err := c.Encode(&enc, src); err != nil {
			t.Fatal(err)
		}
		if err := c.Decode(&src, enc); err != nil {
			t.Fatal(err)
		}
		copy(enc.Data, data)
		if err := c.Decode(&src, enc); err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("error is %v", err)
		}
	})
}

func BenchmarkFilters(b *testing.B) {
	var none dtype.Type
	for _, s := range []struct {
		ext metadata.Extension
		typ dtype.Type
	}{
		{Delta(dtype.Int32, none), dtype.Int32}, {Delta(dtype.Int64, none), dtype.Int64}, {Delta(dtype.Float32, none), dtype.Float32},
		{FixedScaleOffset(10, 100, dtype.Float64, dtype.Int32), dtype.Float64}, {Quantize(3, none, none), dtype.Float32},
		{BitRound(8), dtype.Float32}, {PackBits(), dtype.Bool}, {AsType(dtype.Float64, dtype.Float32), dtype.Float32},
	} {
		const n = 1 << 18
		f, out := boundFilter(b, s.ext, s.typ)
		src := row(s.typ, make([]byte, n*s.typ.Size()))
		for i := range n {
			if s.typ.Kind() == dtype.KindFloat && s.typ.Size() == 4 {
				binary.NativeEndian.PutUint32(src.Data[4*i:], math.Float32bits(float32(i%1000)+0.3))
			}
		}
		enc := filtered(b, f, out, src)
		run := func(name string, code func() error) {
			b.Run(fmt.Sprintf("%s/%s/%s", strings.TrimPrefix(s.ext.Name, "numcodecs."), s.typ, name), func(b *testing.B) {
				b.SetBytes(int64(len(src.Data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := code(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("encode", func() error { return f.Encode(&enc, src) })
		run("decode", func() error { return f.Decode(&src, enc) })
	}
}

func ExampleDelta() {
	ext := Delta(dtype.Int32, dtype.Int16)
	fmt.Println(ext.Name, string(ext.Configuration))
	// Output: numcodecs.delta {"dtype":"<i4","astype":"<i2"}
}
