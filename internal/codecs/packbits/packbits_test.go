// SPDX-License-Identifier: Apache-2.0

package packbits

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
)

func parse(t testing.TB, name string) dtype.Type {
	t.Helper()
	typ, err := dtype.Parse(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// packable returns the data types of numbers.
func packable() []dtype.Type {
	var list []dtype.Type
	for _, typ := range dtype.All() {
		if _, ok := widthOf(typ); ok {
			list = append(list, typ)
		}
	}
	return list
}

func bound(t testing.TB, typ dtype.Type, configuration string) *coder {
	t.Helper()
	c, err := New([]byte(configuration))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.(*coder).Bind(codec.Spec{Type: typ, Rank: 1}); err != nil {
		t.Fatal(err)
	}
	return c.(*coder)
}

func row(typ dtype.Type, data []byte) codec.Block {
	return codec.Block{Shape: []int64{int64(len(data) / typ.Size())}, Data: data}
}

func TestContract(t *testing.T) {
	for _, padding := range []string{"none", "first_byte", "last_byte"} {
		for _, typ := range packable() {
			o := &codectest.Options{Specs: []codec.Spec{{Type: typ, Rank: 2}}, Lossy: typ.Bits()%8 != 0}
			codectest.Run(t, func() any {
				c, _ := New(codec.PackBits(&codec.PackBitsOptions{Padding: padding}).Configuration)
				return c
			}, o)
		}
	}
}

// TestLayout has stored bytes worked out by hand from the specification page.
func TestLayout(t *testing.T) {
	for _, tt := range []struct{ name, configuration, values, stored, decoded string }{
		{"bool", `{}`, "true false false true", "09", ""},
		{"bool", `{"padding_encoding":"first_byte"}`, "true false false true", "0409", ""},
		{"bool", `{"padding_encoding":"last_byte"}`, "true false false true false false false false true", "090107", ""},
		{"bool", `{"padding_encoding":"last_byte"}`, "true true true true true true true true", "ff00", ""},
		{"int2", `{}`, "1 -1 -2 0 1", "2d01", ""},
		{"uint4", `{}`, "1 2 15", "210f", ""},
		{"int4", `{"first_bit":null,"last_bit":null}`, "-1 -8 7", "8f07", ""},
		{"float6_e2m3fn", `{}`, "7.5 -0.0 1.0", "1f8800", ""}, // 011111, 100000, 001000 from below
		{"float4_e2m1fn", `{}`, "6 -0.5", "97", ""},
		{"complex_float4_e2m1fn", `{}`, "6-0.5j 1+0j", "9702", ""},
		{"uint16", `{}`, "258 65535", "0201ffff", ""},
		{"uint16", `{"last_bit":11}`, "4095 1 2", "ff1f000200", ""},
		{"uint16", `{"first_bit":4,"last_bit":11}`, "4095 291", "ff12", "4080 288"},
		{"int16", `{"first_bit":4,"last_bit":11}`, "4095 291", "ff12", "-16 288"},
		{"int32", `{"last_bit":2}`, "-1 3 -4 2", "1f05", ""}, // 111 011 100 010 from below
		{"complex64", `{"first_bit":30}`, "-2+2j", "07", "-2.0+2.0j"},
		{"int64", `{"last_bit":62}`, "-2 1", "feffffffffffffff0000000000000000", ""},
	} {
		typ := parse(t, tt.name)
		var data []byte
		for _, v := range strings.Fields(tt.values) {
			e, err := typ.ParseText(v)
			if err != nil {
				t.Fatal(err)
			}
			data = append(data, e...)
		}
		c := bound(t, typ, tt.configuration)
		stored, err := c.Encode(nil, row(typ, data))
		if got := fmt.Sprintf("%x", stored); err != nil || got != tt.stored {
			t.Errorf("%s %s: %s is stored as %s, %v, want %s", tt.name, tt.configuration, tt.values, got, err, tt.stored)
		}
		dst := row(typ, make([]byte, len(data)))
		if err := c.Decode(&dst, stored); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for rest := dst.Data; len(rest) > 0; rest = rest[typ.Size():] {
			texts = append(texts, string(typ.AppendText(nil, rest[:typ.Size()])))
		}
		if got := strings.Join(texts, " "); tt.decoded != "" && got != tt.decoded || tt.decoded == "" && !bytes.Equal(dst.Data, data) {
			t.Errorf("%s %s: decoded %s, want %s", tt.name, tt.configuration, got, tt.decoded)
		}
	}
}

// slowPack is the definition: a sequence of bits.
func slowPack(c *coder, data []byte) []byte {
	var sequence []byte
	for ; len(data) > 0; data = data[c.unit:] {
		x := byteorder.Load(data[:c.unit])
		for i := c.first; i <= c.last; i++ {
			sequence = append(sequence, byte(x>>i&1))
		}
	}
	out := make([]byte, (len(sequence)+7)/8)
	for i, b := range sequence {
		out[i/8] |= b << (i % 8)
	}
	return out
}

// slowUnpack is the way back.
func slowUnpack(c *coder, typ dtype.Type, stored []byte, n int) []byte {
	out := make([]byte, n*c.unit)
	for i := range n {
		var x uint64
		for k := range c.bits {
			at := i*c.bits + k
			x |= uint64(stored[at/8]>>(at%8)&1) << k
		}
		if c.signed && x>>(c.bits-1) == 1 {
			x |= ^uint64(0) << (c.bits - 1)
		}
		byteorder.Store(out[i*c.unit:][:c.unit], x<<c.first)
	}
	return out
}

// TestWays compares with the definition, for any bits of any type.
func TestWays(t *testing.T) {
	types := packable()
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(types).Draw(t, "type")
		width, _ := widthOf(typ)
		first := rapid.IntRange(0, width-1).Draw(t, "first")
		last := rapid.IntRange(first, width-1).Draw(t, "last")
		padding := rapid.SampledFrom([]string{"none", "first_byte", "last_byte"}).Draw(t, "padding")
		made, err := New(codec.PackBits(&codec.PackBitsOptions{Padding: padding, FirstBit: &first, LastBit: &last}).Configuration)
		if err != nil {
			t.Fatal(err)
		}
		c := made.(*coder)
		if err := c.Bind(codec.Spec{Type: typ}); err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(0, 40).Draw(t, "n")
		data := rapid.SliceOfN(rapid.Byte(), n*typ.Size(), n*typ.Size()).Draw(t, "data")
		if c.bools {
			for i := range data {
				data[i] &= 1
			}
		}
		got, err := c.Encode([]byte("x"), row(typ, data))
		want := slowPack(c, data)
		mark := byte(8*len(want) - n*c.parts*c.bits)
		whole := map[string][]byte{"none": want, "first_byte": append([]byte{mark}, want...), "last_byte": append(bytes.Clone(want), mark)}[padding]
		if err != nil || !bytes.Equal(got[1:], whole) {
			t.Fatalf("%x of %s is stored as %x, %v, want %x", data, typ, got[1:], err, whole)
		}
		dst := row(typ, bytes.Repeat([]byte{0xa5}, len(data)))
		if err := c.Decode(&dst, whole); err != nil || !bytes.Equal(dst.Data, slowUnpack(c, typ, want, n*c.parts)) {
			t.Fatalf("%x decodes to %x, %v, want %x", whole, dst.Data, err, slowUnpack(c, typ, want, n*c.parts))
		}
	})
}

func TestPaddingDamage(t *testing.T) {
	for _, configuration := range []string{`{"padding_encoding":"first_byte"}`, `{"padding_encoding":"last_byte"}`} {
		c := bound(t, dtype.Bool, configuration)
		for mark := range 256 {
			src := []byte{byte(mark), byte(mark)}
			dst := codec.Block{Shape: []int64{5}, Data: make([]byte, 5)}
			if err := c.Decode(&dst, src); (err == nil) != (mark == 3) || err != nil && !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s, %d unused bits: %v", configuration, mark, err)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, tt := range []struct{ name, configuration, says string }{
		{"bool", `{"padding_encoding":"start_byte"}`, "start_byte"},
		{"bool", `{"padding_encoding":null}`, "null"},
		{"bool", `{"padding_encoding":1}`, "padding_encoding"},
		{"bool", `{"bits":1}`, "unknown member"},
		{"bool", `{"start_bit":0}`, "unknown member"},
		{"bool", `[]`, "JSON object"},
		{"int8", `{"first_bit":-1}`, "-1 is not the index"},
		{"int8", `{"first_bit":1.5}`, "first_bit"},
		{"int8", `{"first_bit":"1"}`, "first_bit"},
		{"int8", `{"last_bit":1000000}`, "1000000 is not the index"},
		{"int8", `{"first_bit":3,"last_bit":2}`, "last_bit is 2, before first_bit 3"},
		{"int8", `{"last_bit":8}`, "bits 0 to 8 of int8, which has 8"},
		{"int8", `{"first_bit":8}`, "bits 8 to 7 of int8"},
		{"bool", `{"first_bit":1}`, "bits 1 to 0 of bool, which has 1"},
		{"int4", `{"last_bit":4}`, "which has 4"},
		{"complex64", `{"last_bit":32}`, "which has 32"},
		{"r16", `{}`, "r16 is not a type"},
		{"string", `{}`, "string is not a type"},
	} {
		made, err := New([]byte(tt.configuration))
		if err == nil {
			err = made.(codec.ArrayBytes).Bind(codec.Spec{Type: parse(t, tt.name)})
		}
		if !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s %s: %v, want %q", tt.name, tt.configuration, err, tt.says)
		}
	}
}

func FuzzDecode(f *testing.F) {
	types := packable()
	f.Add(uint8(0), uint8(9), []byte(`{"padding_encoding":"first_byte"}`), []byte("\x07\xff\x01"))
	f.Add(uint8(3), uint8(2), []byte(`{"first_bit":3,"last_bit":17}`), []byte("\x07\xff\x01\x00"))
	f.Fuzz(func(t *testing.T, i, n uint8, configuration, data []byte) {
		made, err := New(configuration)
		if err != nil {
			return
		}
		typ := types[int(i)%len(types)]
		c := made.(*coder)
		if c.Bind(codec.Spec{Type: typ, Rank: 1}) != nil {
			return
		}
		dst := row(typ, make([]byte, int(n)*typ.Size()))
		if err := c.Decode(&dst, data); err != nil {
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("error is %v", err)
			}
			return
		}
		again, err := c.Encode(nil, dst)
		if err != nil || len(again) != len(data) {
			t.Errorf("%x comes back as %x, %v", data, again, err)
		}
	})
}

func Benchmark(b *testing.B) {
	for _, s := range []struct{ name, configuration string }{
		{"bool", `{}`}, {"int4", `{}`}, {"float6_e2m3fn", `{}`}, {"uint16", `{"last_bit":11}`}, {"float32", `{"first_bit":8}`}, {"int32", `{}`},
	} {
		typ := parse(b, s.name)
		c := bound(b, typ, s.configuration)
		src := row(typ, make([]byte, 1<<20))
		stored, err := c.Encode(nil, src)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(s.name+s.configuration+"/encode", func(b *testing.B) {
			b.SetBytes(1 << 20)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Encode(stored[:0], src); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.name+s.configuration+"/decode", func(b *testing.B) {
			b.SetBytes(1 << 20)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Decode(&src, stored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
