// SPDX-License-Identifier: Apache-2.0

package scaleoffset

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
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
	"varve.dev/zarr/internal/number"
)

func parse(t testing.TB, name string) dtype.Type {
	t.Helper()
	typ, err := dtype.Parse(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func bound(t testing.TB, typ dtype.Type, configuration string) *coder {
	t.Helper()
	c, err := New([]byte(configuration))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.(*coder).Bind(codec.Spec{Type: typ, Rank: 1}); err != nil {
		t.Fatal(err)
	}
	return c.(*coder)
}

func one(e []byte) codec.Block { return codec.Block{Shape: []int64{1}, Data: e} }

func word(size int, x uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, x)[:size]
	if !byteorder.Little() {
		byteorder.Bytes(b, b, size)
	}
	return b
}

// TestGolden compares with zarr-python. NaN payloads aside.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/values.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var name, encoded, decoded string
		var offset, scale, x uint64
		if _, err := fmt.Sscanf(line, "%s %x %x %x %s %s", &name, &offset, &scale, &x, &encoded, &decoded); err != nil {
			t.Fatal(err)
		}
		typ := parse(t, name)
		n := typ.Size()
		c := bound(t, typ, string(codec.ScaleOffset(typ.AppendJSON(nil, word(n, offset)), typ.AppendJSON(nil, word(n, scale))).Configuration))
		enc, dec := one(make([]byte, n)), one(make([]byte, n))
		same(t, line, typ, enc.Data, encoded, c.Encode(&enc, one(word(n, x))))
		same(t, line, typ, dec.Data, decoded, c.Decode(&dec, one(word(n, x))))
	}
}

func same(t *testing.T, line string, typ dtype.Type, got []byte, result string, err error) {
	t.Helper()
	var want uint64
	if _, scanErr := fmt.Sscanf(result, "%x", &want); scanErr != nil {
		if err == nil {
			t.Errorf("%s: got %x, want an error", line, got)
		}
		return
	}
	expected := string(typ.AppendText(nil, word(typ.Size(), want)))
	if text := string(typ.AppendText(nil, got)); err != nil || text != expected {
		t.Errorf("%s: got %s, %v, want %s", line, text, err, expected)
	}
}

func TestContract(t *testing.T) {
	for _, typ := range dtype.All() {
		if _, ok := number.Of(typ); !ok {
			continue
		}
		codectest.Run(t, func() any {
			c, _ := New(nil)
			return c
		}, &codectest.Options{Specs: []codec.Spec{{Type: typ, Fill: make([]byte, typ.Size()), Rank: 2}}, Lossy: typ.Kind() == dtype.KindFloat || typ.Bits() < 8})
	}
}

// TestPage has the examples of the specification page.
func TestPage(t *testing.T) {
	for _, tt := range []struct{ name, configuration, value, want string }{
		{"float32", `{"offset":5,"scale":0.1}`, "25", "2.0"},
		{"float32", `{"offset":5,"scale":0.1}`, `"NaN"`, "nan"},
		{"float32", `{"offset":5}`, `"-Infinity"`, "-inf"},
		{"uint16", `{"offset":1000}`, "1000", "0"},
		{"uint16", `{"offset":1000}`, "1255", "255"},
		{"float64", `{"offset":-10,"scale":0.1}`, "0", "1.0"},
		{"float64", `{"offset":-10,"scale":0.1}`, "2540", "255.0"},
		{"float64", `{}`, "-0.0", "-0.0"},
		{"float16", `{"offset":-60000}`, "60000", "inf"},
		{"int8", `{"scale":-1}`, "127", "-127"},
	} {
		typ := parse(t, tt.name)
		c := bound(t, typ, tt.configuration)
		elem, err := typ.ParseFill([]byte(tt.value))
		if err != nil {
			t.Fatal(err)
		}
		enc := one(make([]byte, len(elem)))
		err = c.Encode(&enc, one(elem))
		if got := string(typ.AppendText(nil, enc.Data)); err != nil || got != tt.want {
			t.Errorf("%s %s: %s is stored as %s, %v, want %s", tt.name, tt.configuration, tt.value, got, err, tt.want)
		}
	}
}

// TestSteps has an integer type overflow at one step or the other.
func TestSteps(t *testing.T) {
	for _, tt := range []struct {
		name, configuration, value string
		decode                     bool
	}{
		{"uint8", `{"offset":10}`, "9", false},
		{"uint8", `{"scale":2}`, "128", false},
		{"uint64", `{"scale":2}`, "9223372036854775808", false},
		{"int8", `{"offset":-100,"scale":-1}`, "28", false}, // 128, and then -128
		{"int64", `{"offset":1}`, "-9223372036854775808", false},
		{"int64", `{"scale":-1}`, "-9223372036854775808", false},
		{"int64", `{"scale":4294967296}`, "2147483648", false},
		{"int2", `{"offset":1}`, "-2", false},
		{"uint8", `{"offset":10}`, "246", true},
		{"uint8", `{"scale":2}`, "3", true},
		{"int16", `{"scale":3}`, "-7", true},
		{"int8", `{"scale":-1,"offset":-100}`, "-128", true}, // 128, and then 28
		{"int64", `{"scale":-1}`, "-9223372036854775808", true},
		{"int64", `{"offset":1}`, "9223372036854775807", true},
		{"uint64", `{"offset":1}`, "18446744073709551615", true},
		{"uint4", `{"offset":1}`, "15", true},
		{"float8_e4m3fnuz", `{"scale":2}`, "240", false},
		{"float4_e2m1fn", `{"offset":-1}`, "6", false},
		{"float8_e8m0fnu", `{"offset":1}`, "1", false},
	} {
		typ, err := dtype.Parse(tt.name, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := bound(t, typ, tt.configuration)
		elem, err := typ.ParseFill([]byte(tt.value))
		if err != nil {
			t.Fatal(err)
		}
		is, run := dtype.ErrInvalid, c.Encode
		if tt.decode {
			is, run = codec.ErrCorrupt, c.Decode
		}
		dst := one(make([]byte, len(elem)))
		if err := run(&dst, one(elem)); !errors.Is(err, is) || !strings.Contains(err.Error(), "element [0]: ") {
			t.Errorf("%s %s of %s: %v, %v", tt.name, tt.configuration, tt.value, dst.Data, err)
		}
	}
}

func TestNamesFirst(t *testing.T) {
	c := bound(t, dtype.Uint16, `{"offset":10}`)
	src := codec.Block{Shape: []int64{2, 700}, Data: make([]byte, 2800)}
	for i := range 1400 {
		binary.NativeEndian.PutUint16(src.Data[2*i:], 20)
	}
	binary.NativeEndian.PutUint16(src.Data[2*1300:], 3)
	binary.NativeEndian.PutUint16(src.Data[2*1301:], 2)
	dst := codec.Block{Shape: src.Shape, Data: make([]byte, 2800)}
	want := "element [1 600]: (3 - offset) * scale, with offset 10 and scale 1, is not in uint16 at every step"
	if err := c.Encode(&dst, src); !errors.Is(err, dtype.ErrInvalid) || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want %q", err, want)
	}
}

func TestFill(t *testing.T) {
	c, _ := New([]byte(`{"offset":5,"scale":2}`))
	out, err := c.(codec.ArrayArray).Bind(codec.Spec{Type: dtype.Int16, Fill: word(2, 7)})
	if err != nil || string(out.Fill) != string(word(2, 4)) {
		t.Errorf("fill is %x, %v", out.Fill, err)
	}
	if _, err = c.(codec.ArrayArray).Bind(codec.Spec{Type: dtype.Uint8, Fill: []byte{4}}); !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), "fill value: (4 - offset)") {
		t.Errorf("error is %v", err)
	}
}

func TestRefuses(t *testing.T) {
	for _, tt := range []struct{ name, configuration, says string }{
		{"int32", `{"scale":0}`, "scale is 0"},
		{"int32", `{"scale":-0}`, "scale is 0"},
		{"int32", `{"scale":0.0e5}`, "scale is 0"},
		{"int32", `{"scale":"0"}`, "scale: "},
		{"uint64", `{"scale":0}`, "scale is 0"},
		{"float64", `{"scale":0}`, "scale is 0"},
		{"float64", `{"scale":-0.0}`, "scale is 0"},
		{"float64", `{"scale":"0x0000000000000000"}`, "scale is 0"},
		{"float64", `{"scale":"0x8000000000000000"}`, "scale is 0"},
		{"float32", `{"scale":1e-60}`, "scale is 0"},
		{"float64", `{"scale":"0.0"}`, "scale: "},
		{"float64", `{"scale":"NaN"}`, "not finite"},
		{"float64", `{"offset":"Infinity"}`, "not finite"},
		{"int32", `{"offset":1.5}`, "offset: "},
		{"int32", `{"scale":0.5}`, "scale: "},
		{"int16", `{"offset":"NaN"}`, "offset: "},
		{"int8", `{"offset":128}`, "offset: "},
		{"float64", `{"offset":[1,2]}`, "offset: "},
		{"float64", `{"offset":true}`, "offset: "},
		{"float64", `{"offset":null}`, "null"},
		{"float64", `{"factor":1}`, `unknown member "factor"`},
		{"float64", `[]`, "not a JSON object"},
		{"bool", `{}`, "bool is neither an integer"},
		{"complex64", `{}`, "complex64 is neither an integer"},
	} {
		made, err := New([]byte(tt.configuration))
		if err == nil {
			_, err = made.(codec.ArrayArray).Bind(codec.Spec{Type: parse(t, tt.name)})
		}
		if !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s %s: %v, want %q", tt.name, tt.configuration, err, tt.says)
		}
	}
}

// TestIntegers compares with exact arithmetic, both ways.
func TestIntegers(t *testing.T) {
	var types []dtype.Type
	for _, typ := range dtype.All() {
		if typ.Kind() == dtype.KindInt || typ.Kind() == dtype.KindUint {
			types = append(types, typ)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(types).Draw(t, "type")
		f, _ := number.Of(typ)
		low, high := f.Limits()
		draw := func(name string) *big.Int {
			x := rapid.OneOf(rapid.SampledFrom([]int64{low, int64(high >> 1), int64(high >> 1), 0, -1, 1}), rapid.Int64Range(-9, 9), rapid.Int64()).Draw(t, name)
			v := new(big.Int).SetInt64(x)
			if x > 9 && rapid.Bool().Draw(t, "double") {
				v.Lsh(v, 1).Add(v, big.NewInt(1))
			}
			least, most := big.NewInt(low), new(big.Int).SetUint64(high)
			if v.Cmp(least) < 0 || v.Cmp(most) > 0 {
				v.Mod(v, new(big.Int).Lsh(big.NewInt(1), uint(f.Bits-1)))
			}
			return v
		}
		fits := func(v *big.Int) bool { return v.Cmp(big.NewInt(low)) >= 0 && v.Cmp(new(big.Int).SetUint64(high)) <= 0 }
		offset, scale, x := draw("offset"), draw("scale"), draw("x")
		if scale.Sign() == 0 {
			return
		}
		made, _ := New(codec.ScaleOffset(json.RawMessage(offset.String()), json.RawMessage(scale.String())).Configuration)
		c := made.(*coder)
		if _, err := c.Bind(codec.Spec{Type: typ}); err != nil {
			t.Fatal(err)
		}
		elem, err := typ.ParseFill([]byte(x.String()))
		if err != nil {
			t.Fatal(err)
		}
		d := new(big.Int).Sub(x, offset)
		p := new(big.Int).Mul(d, scale)
		dst := one(make([]byte, len(elem)))
		err = c.Encode(&dst, one(elem))
		if want := fits(d) && fits(p); want != (err == nil) || want && string(typ.AppendText(nil, dst.Data)) != p.String() {
			t.Fatalf("(%v-%v)*%v: %s, %v, want %v", x, offset, scale, typ.AppendText(nil, dst.Data), err, p)
		}
		q, rest := new(big.Int).QuoRem(x, scale, new(big.Int))
		s := new(big.Int).Add(q, offset)
		err = c.Decode(&dst, one(elem))
		if want := rest.Sign() == 0 && fits(q) && fits(s); want != (err == nil) || want && string(typ.AppendText(nil, dst.Data)) != s.String() {
			t.Fatalf("%v/%v+%v: %s, %v, want %v", x, scale, offset, typ.AppendText(nil, dst.Data), err, s)
		}
	})
}

// TestFloat32 compares with the arithmetic of the language.
func TestFloat32(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offset, scale := rapid.Float32().Draw(t, "offset"), rapid.Float32().Draw(t, "scale")
		bits := math.Float32bits
		x := math.Float32frombits(rapid.Uint32().Draw(t, "x"))
		if scale == 0 {
			return
		}
		typ := dtype.Float32
		made, _ := New(codec.ScaleOffset(typ.AppendJSON(nil, word(4, uint64(bits(offset)))), typ.AppendJSON(nil, word(4, uint64(bits(scale))))).Configuration)
		c := made.(*coder)
		if _, err := c.Bind(codec.Spec{Type: typ}); err != nil {
			t.Fatal(err)
		}
		enc, dec := one(make([]byte, 4)), one(make([]byte, 4))
		if err := errors.Join(c.Encode(&enc, one(word(4, uint64(bits(x))))), c.Decode(&dec, one(word(4, uint64(bits(x)))))); err != nil {
			t.Fatal(err)
		}
		there, back := float32(x-offset)*scale, float32(x/scale)+offset
		equal := func(e []byte, want float32) bool {
			return binary.NativeEndian.Uint32(e) == bits(want) || want != want && typ.AppendText(nil, e)[0] == 'n'
		}
		if !equal(enc.Data, there) || !equal(dec.Data, back) {
			t.Fatalf("x %v, offset %v, scale %v: %x and %x, want %v and %v", x, offset, scale, enc.Data, dec.Data, there, back)
		}
	})
}

// TestFloat16Ways compares the way of float16 with that of any format.
func TestFloat16Ways(t *testing.T) {
	c := bound(t, dtype.Of[dtype.Float16](), `{}`)
	rapid.Check(t, func(t *rapid.T) {
		a := float64(dtype.Float16(rapid.Uint16().Draw(t, "a")).Float32())
		b := float64(dtype.Float16(rapid.Uint16().Draw(t, "b")).Float32())
		for i, v := range []float64{a - b, a * b, a / b, a + b} {
			fast, slow := []float64{v}, []float64{v}
			if c.round(fast) >= 0 || c.roundSlowly(slow) >= 0 || math.Float64bits(fast[0]) != math.Float64bits(slow[0]) && v == v {
				t.Fatalf("operation %d of %v and %v: %v, want %v", i, a, b, fast, slow)
			}
		}
	})
}

func FuzzConfiguration(f *testing.F) {
	f.Add([]byte(`{"offset":-10,"scale":0.1}`), uint8(11), []byte("\x00\x01\x02\x03\x04\x05\x06\x07"))
	f.Add([]byte(`{"offset":3,"scale":2}`), uint8(3), []byte{})
	types := dtype.All()
	f.Fuzz(func(t *testing.T, configuration []byte, i uint8, data []byte) {
		made, err := New(configuration)
		if err != nil {
			return
		}
		typ := types[int(i)%len(types)]
		c := made.(*coder)
		if _, err := c.Bind(codec.Spec{Type: typ, Fill: make([]byte, typ.Size())}); err != nil {
			if !errors.Is(err, codec.ErrConfiguration) {
				t.Errorf("error is %v", err)
			}
			return
		}
		n := len(data) / typ.Size()
		src := codec.Block{Shape: []int64{int64(n)}, Data: data[:n*typ.Size()]}
		dst := codec.Block{Shape: src.Shape, Data: make([]byte, len(src.Data))}
		if err := c.Encode(&dst, src); err != nil && !errors.Is(err, dtype.ErrInvalid) {
			t.Errorf("error is %v", err)
		}
		if err := c.Decode(&dst, src); err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("error is %v", err)
		}
	})
}

func Benchmark(b *testing.B) {
	for _, s := range []struct{ name, configuration string }{
		{"float64", `{"offset":5,"scale":0.1}`}, {"float32", `{"offset":5,"scale":0.1}`}, {"float16", `{"offset":5,"scale":0.1}`},
		{"int16", `{"offset":1,"scale":2}`}, {"uint16", `{"offset":0}`}, {"int64", `{"offset":-1,"scale":3}`},
	} {
		c := bound(b, parse(b, s.name), s.configuration)
		src := codec.Block{Shape: []int64{1 << 18}, Data: make([]byte, c.format.Bytes<<18)}
		for i := range 1 << 18 {
			block := number.NewBlock()
			block.I[0], block.U[0], block.F[0] = int64(i%99), uint64(i%99), float64(i%99)
			c.format.Store(src.Data[i*c.format.Bytes:][:c.format.Bytes], block)
			block.Free()
		}
		dst := codec.Block{Shape: src.Shape, Data: make([]byte, len(src.Data))}
		run := func(name string, f func() error) {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(src.Data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("encode", func() error { return c.Encode(&dst, src) })
		run("decode", func() error { return c.Decode(&src, dst) })
	}
}
