// SPDX-License-Identifier: Apache-2.0

package bitround

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
)

func bound(t testing.TB, typ dtype.Type, keep int) codec.ArrayArray {
	t.Helper()
	c, err := codec.Default.New(codec.BitRound(keep))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.(codec.ArrayArray).Bind(codec.Spec{Type: typ, Rank: 1}); err != nil {
		t.Fatal(err)
	}
	return c.(codec.ArrayArray)
}

func parse(t testing.TB, name, configuration string) dtype.Type {
	t.Helper()
	typ, err := dtype.Parse(name, []byte(configuration))
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func row(typ dtype.Type, data []byte) codec.Block {
	return codec.Block{Shape: []int64{int64(len(data) / typ.Size())}, Data: data}
}

func rounded(t testing.TB, c codec.ArrayArray, src codec.Block) []byte {
	t.Helper()
	dst := codec.Block{Shape: src.Shape, Data: make([]byte, len(src.Data))}
	if err := c.Encode(&dst, src); err != nil {
		t.Fatal(err)
	}
	return dst.Data
}

// supported has the data types of the specification page.
func supported(t testing.TB) []dtype.Type {
	moment := `{"unit":"ns","scale_factor":1}`
	list := []dtype.Type{parse(t, "numpy.datetime64", moment), parse(t, "numpy.timedelta64", moment)}
	for _, name := range strings.Fields(`float16 float32 float64 bfloat16 complex_float16 complex_float32 complex_float64 complex_bfloat16
		complex64 complex128 int8 int16 int32 int64 uint8 uint16 uint32 uint64`) {
		list = append(list, parse(t, name, ""))
	}
	return list
}

func TestContract(t *testing.T) {
	for _, typ := range supported(t) {
		o := &codectest.Options{Specs: []codec.Spec{{Type: typ, Rank: 2}}, Lossy: true}
		codectest.Run(t, func() any {
			c, _ := New([]byte(`{"keepbits":4}`))
			return c
		}, o)
		o.Lossy = false
		codectest.Run(t, func() any {
			c, _ := New([]byte(`{"keepbits":64}`))
			return c
		}, o)
	}
}

// TestPage has the sample data of the specification page, whose chunks are stored with
// three bits.
func TestPage(t *testing.T) {
	var floats []byte
	for _, v := range []float64{0, 0.1, 1.2, 12.3, 123.4, 1234.5, math.NaN(), math.Inf(1), math.Inf(-1)} {
		bits := math.Float32bits(float32(v))
		if v != v {
			bits = 0x7fc00000
		}
		floats = binary.NativeEndian.AppendUint32(floats, bits)
	}
	want, err := os.ReadFile("testdata/keep3-float32")
	if !byteorder.Little() {
		byteorder.Bytes(want, want, 4)
	}
	if got := rounded(t, bound(t, dtype.Float32, 3), row(dtype.Float32, floats)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("float32: %x, want %x: %v", got, want, err)
	}
	want, err = os.ReadFile("testdata/keep3-uint8")
	got := rounded(t, bound(t, dtype.Uint8, 3), row(dtype.Uint8, []byte{0, 1, 10, 11, 100, 123, 200, 208, 209, 255}))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("uint8: %d, want %d: %v", got, want, err)
	}
}

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		name         string
		keep         int
		value, wants string
	}{
		{"int8", 3, "-11", "-12"}, {"int8", 3, "-1", "-1"}, {"int8", 3, "127", "112"}, {"int8", 3, "-127", "-128"}, {"int8", 3, "-128", "-128"},
		{"uint32", 3, "1685", "1792"}, {"uint32", 3, "123145182", "117440512"}, {"uint32", 3, "4294967295", "3758096384"},
		{"int64", 1, "-9223372036854775808", "-9223372036854775808"}, {"int64", 2, "9223372036854775807", "6917529027641081856"},
		{"uint64", 1, "18446744073709551615", "9223372036854775808"},
		{"float64", 2, "1.3", "1.25"}, {"float64", 1, "1.25", "1.0"}, {"float64", 1, "1.75", "2.0"}, {"float64", 1, "-1.75", "-2.0"},
		{"float16", 1, "65504", "inf"}, {"bfloat16", 2, "1.9", "2.0"}, {"complex64", 2, "1.3-2.2j", "1.25-2.0j"},
		{"float8_e5m2", 1, "1.75", "2.0"}, {"int4", 1, "7", "4"},
	} {
		typ := parse(t, tt.name, "")
		elem, err := typ.ParseText(tt.value)
		if err != nil {
			t.Fatal(err)
		}
		got := rounded(t, bound(t, typ, tt.keep), row(typ, elem))
		if text := string(typ.AppendText(nil, got)); text != tt.wants {
			t.Errorf("%s of %s, %d bits: %s, want %s", tt.value, tt.name, tt.keep, text, tt.wants)
		}
	}
}

// TestNaN keeps NaNs whose payload is in the lower bits alone, which the addition would
// turn into infinities or zeros.
func TestNaN(t *testing.T) {
	for _, bits := range []uint32{0x7f800001, 0x7fffffff, 0xffffffff, 0xff800001, 0x7fc00000} {
		e := binary.NativeEndian.AppendUint32(nil, bits)
		if got := rounded(t, bound(t, dtype.Float32, 1), row(dtype.Float32, e)); !bytes.Equal(got, e) {
			t.Errorf("%#x becomes %x", bits, got)
		}
	}
}

// TestModel compares with exact arithmetic: the number of so many bits that is nearest.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.IntRange(1, 70).Draw(t, "keep")
		made, err := New(codec.BitRound(keep).Configuration)
		if err != nil {
			t.Fatal(err)
		}
		c := made.(codec.ArrayArray)
		typ := rapid.SampledFrom([]dtype.Type{dtype.Float64, dtype.Int64, dtype.Uint64, dtype.Int16}).Draw(t, "type")
		if _, err := c.Bind(codec.Spec{Type: typ}); err != nil {
			t.Fatal(err)
		}
		x := rapid.Uint64().Draw(t, "bits") >> rapid.IntRange(0, 63).Draw(t, "shift")
		elem := binary.NativeEndian.AppendUint64(nil, x)
		if typ.Size() == 2 {
			elem = binary.NativeEndian.AppendUint16(nil, uint16(x))
		}
		dst := codec.Block{Shape: []int64{1}, Data: make([]byte, len(elem))}
		if err := c.Encode(&dst, row(typ, elem)); err != nil {
			t.Fatal(err)
		}
		v, ok := exact(typ, elem)
		got, finite := exact(typ, dst.Data)
		digits := uint(keep)
		if typ.Kind() == dtype.KindFloat {
			digits++ // the one before the point
		}
		if !ok || !finite || digits > v.MinPrec() {
			return
		}
		if typ.Kind() == dtype.KindFloat && new(big.Float).Abs(v).Cmp(big.NewFloat(0x1p-1022)) < 0 {
			return // fewer digits, all of them in the fraction
		}
		want := new(big.Float).SetPrec(digits).SetMode(big.ToNearestEven).Set(v)
		if elem, err := typ.ParseFill([]byte(want.Text('f', 0))); typ.Kind() != dtype.KindFloat && err != nil {
			t.Skip("the greatest", elem)
		}
		if got.Cmp(want) != 0 {
			t.Fatalf("%s %v, %d bits: %v, want %v", typ, v, keep, got, want)
		}
	})
}

func exact(typ dtype.Type, e []byte) (*big.Float, bool) {
	if typ.Kind() == dtype.KindFloat {
		x := math.Float64frombits(binary.NativeEndian.Uint64(e))
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, false
		}
		return new(big.Float).SetFloat64(x), true
	}
	return new(big.Float).SetPrec(1100).SetString(string(typ.AppendText(nil, e)))
}

func TestRefuses(t *testing.T) {
	for configuration, says := range map[string]string{
		`{}`: "missing", `{"keepbits":0}`: "keepbits is 0", `{"keepbits":-3}`: "keepbits is -3", `{"keepbits":"3"}`: "keepbits",
		`{"keepbits":3.5}`: "keepbits", `{"keepbits":3,"x":1}`: "unknown member", `{"keepbits":null}`: "null", `3`: "JSON object",
	} {
		if _, err := New([]byte(configuration)); !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", configuration, err, says)
		}
	}
	for _, name := range []string{"bool", "r16", "string", "float8_e4m3fnuz", "complex_float4_e2m1fn"} {
		c, _ := New([]byte(`{"keepbits":3}`))
		if _, err := c.(codec.ArrayArray).Bind(codec.Spec{Type: parse(t, name, "")}); !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzEncode(f *testing.F) {
	types := supported(f)
	f.Add(uint8(3), uint8(1), []byte("\x01\x02\x03\x04\x05\x06\x07\x08"))
	f.Fuzz(func(t *testing.T, keep, i uint8, data []byte) {
		typ := types[int(i)%len(types)]
		c := bound(t, typ, 1+int(keep))
		src := row(typ, data[:len(data)/typ.Size()*typ.Size()])
		once := rounded(t, c, src)
		if again := rounded(t, c, row(typ, once)); !bytes.Equal(once, again) {
			t.Errorf("%x is rounded to %x and then to %x", src.Data, once, again)
		}
	})
}

func Benchmark(b *testing.B) {
	for _, typ := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Int32, dtype.Of[dtype.Float16]()} {
		c := bound(b, typ, 4)
		src := row(typ, make([]byte, typ.Size()<<18))
		for i := range src.Data {
			src.Data[i] = byte(i * 37)
		}
		dst := codec.Block{Shape: src.Shape, Data: make([]byte, len(src.Data))}
		b.Run(typ.Name(), func(b *testing.B) {
			b.SetBytes(int64(len(src.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Encode(&dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
