// SPDX-License-Identifier: Apache-2.0

package vlen_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/codecs/vlen"
)

func typeOf(t testing.TB, name string) dtype.Type {
	t.Helper()
	typ, err := dtype.Parse(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// newCodec returns the codec of a data type whose elements differ in length.
func newCodec(t testing.TB, typ dtype.Type) codec.ArrayBytes {
	t.Helper()
	c, err := codec.Default.New(codec.VariableLength(typ))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.(codec.ArrayBytes).Bind(codec.Spec{Type: typ, Rank: 1}); err != nil {
		t.Fatal(err)
	}
	return c.(codec.ArrayBytes)
}

func TestContract(t *testing.T) {
	typ := typeOf(t, "bytes")
	var specs []codec.Spec
	for rank := range 4 {
		specs = append(specs, codec.Spec{Type: typ, Rank: rank})
	}
	codectest.Run(t, func() any {
		c, _ := vlen.NewBytes(nil)
		return c
	}, &codectest.Options{Specs: specs})
}

// blockOf returns a block with these elements.
func blockOf(words ...string) codec.Block {
	b := codec.Block{Shape: []int64{int64(len(words))}, Offsets: []int64{0}}
	for _, w := range words {
		b.Data = append(b.Data, w...)
		b.Offsets = append(b.Offsets, int64(len(b.Data)))
	}
	return b
}

// TestVectors encodes elements whose bytes were worked out by hand, and decodes them.
func TestVectors(t *testing.T) {
	for _, c := range []struct{ typ, words, stored string }{
		{"string", "", "01000000 00000000"},
		{"string", "a,é,", "03000000 01000000 61 02000000 c3a9 00000000"},
		{"string", "日本,x\x00", "02000000 06000000 e697a5e69cac 02000000 7800"},
		{"bytes", "\xff\xfe,a", "02000000 02000000 fffe 01000000 61"},
	} {
		typ, words := typeOf(t, c.typ), strings.Split(c.words, ",")
		want, err := hex.DecodeString(strings.ReplaceAll(c.stored, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		block := blockOf(words...)
		got, err := newCodec(t, typ).Encode(nil, block)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q is encoded as %x (%v), want %x", words, got, err, want)
		}
		back := codec.Block{Shape: block.Shape}
		if err := newCodec(t, typ).Decode(&back, want); err != nil || !bytes.Equal(back.Data, block.Data) || !slices.Equal(back.Offsets, block.Offsets) {
			t.Errorf("%x is decoded as %q, %d (%v)", want, back.Data, back.Offsets, err)
		}
	}
}

// TestRefuses decodes what does not hold together; of the memory that it claims, none is
// taken.
func TestRefuses(t *testing.T) {
	c := newCodec(t, typeOf(t, "string"))
	for _, bad := range []struct {
		stored, words string
		n             int64
	}{
		{"", "shape", 0},
		{"010000", "shape", 1},
		{"0200000000000000", "takes 3 elements", 3},
		{"00000040", "1073741824 elements", 1 << 30},
		{"ffffffff", "for 4294967295 elements", 1<<32 - 1},
		{"0100000002000000 61", "element 0 has 2 bytes, but 1 are left", 1},
		{"01000000ffffffff 61", "element 0 has 4294967295 bytes", 1},
		{"0200000005000000 6161616161", "ends before element 1 of 2", 2},
		{"0100000001000000 6161", "1 byte after the last element", 1},
		{"0100000002000000 c328", "not UTF-8", 1},
	} {
		stored, err := hex.DecodeString(strings.ReplaceAll(bad.stored, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		dst := codec.Block{Shape: []int64{bad.n}}
		err = c.Decode(&dst, stored)
		if !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), bad.words) {
			t.Errorf("%s: %v", bad.stored, err)
		}
		if cap(dst.Data)+cap(dst.Offsets) > 1000 {
			t.Errorf("%s: memory for %d bytes and %d elements", bad.stored, cap(dst.Data), cap(dst.Offsets))
		}
	}
}

func TestConfiguration(t *testing.T) {
	for _, f := range []codec.Factory{vlen.NewUTF8, vlen.NewBytes} {
		for raw, ok := range map[string]bool{"{}": true, `{"level":1}`: false, "[]": false, "null": false} {
			if _, err := f([]byte(raw)); (err == nil) != ok || !ok && !errors.Is(err, codec.ErrConfiguration) {
				t.Errorf("configuration %q: %v", raw, err)
			}
		}
	}
	c, err := vlen.NewUTF8(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.(codec.ArrayBytes).Bind(codec.Spec{Type: dtype.Int32}); !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), "int32") {
		t.Errorf("int32: %v", err)
	}
}

// FuzzDecode decodes any bytes as elements of both types: what is accepted is encoded to
// the same bytes.
func FuzzDecode(f *testing.F) {
	for _, words := range [][]string{{""}, {"a", "é", ""}, {"日本", "x\x00", "\xff"}} {
		stored, err := newCodec(f, typeOf(f, "bytes")).Encode(nil, blockOf(words...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stored, uint32(len(words)))
		f.Add(stored[:len(stored)-1], uint32(len(words)))
	}
	f.Add([]byte("\xff\xff\xff\xff"), uint32(1<<32-1))
	codecs := []codec.ArrayBytes{newCodec(f, typeOf(f, "bytes")), newCodec(f, typeOf(f, "string"))}
	f.Fuzz(func(t *testing.T, stored []byte, n uint32) {
		for _, c := range codecs {
			block := codec.Block{Shape: []int64{int64(n)}}
			if err := c.Decode(&block, stored); err != nil {
				if !errors.Is(err, codec.ErrCorrupt) {
					t.Errorf("error is %v", err)
				}
				continue
			}
			if again, err := c.Encode(nil, block); err != nil || !bytes.Equal(again, stored) {
				t.Errorf("%x comes back as %x (%v)", stored, again, err)
			}
		}
	})
}
