// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"bytes"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/clock"
)

// swapPlain reverses the numbers of one element, by the definition of [Type.Swap].
func swapPlain(typ Type, dst, src []byte) {
	if typ.Unit() == 0 {
		for _, f := range typ.Fields() {
			swapPlain(f.Type, dst[f.Offset:f.Offset+f.Type.Size()], src[f.Offset:f.Offset+f.Type.Size()])
		}
		return
	}
	unit := typ.Unit()
	for i := range src {
		dst[i/unit*unit+unit-1-i%unit] = src[i]
	}
}

// drawType draws a type of fixed width, including nested structs.
func drawType(t *rapid.T, depth int) Type {
	if depth == 0 || rapid.IntRange(0, 2).Draw(t, "simple") == 0 {
		name := rapid.SampledFrom([]string{"bool", "uint8", "int16", "float32", "uint64", "complex64", "complex128", "r24", "r136"}).Draw(t, "type")
		typ, err := Parse(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return typ
	}
	var fields []Field
	for i := range rapid.IntRange(1, 12).Draw(t, "fields") {
		fields = append(fields, Field{Name: fmt.Sprint(i), Type: drawType(t, depth-1)})
	}
	typ, err := StructOf(fields...)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// TestSwap compares Swap with swapPlain, for any structs, and in place.
func TestSwap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 3)
		size := typ.Size()
		n := size * rapid.IntRange(0, 3+20_000/size).Draw(t, "elements")
		src, want := make([]byte, n), make([]byte, n)
		for i := range src {
			src[i] = byte(i*7 + i>>8)
		}
		for at := 0; at < n; at += size {
			swapPlain(typ, want[at:at+size], src[at:at+size])
		}
		got := bytes.Repeat([]byte{0xee}, n+1)
		if typ.Swap(got, src); !bytes.Equal(got[:n], want) || got[n] != 0xee {
			t.Fatalf("%s: %x, want %x", typ, got, want)
		}
		if typ.Swap(want, want); !bytes.Equal(want, src) {
			t.Fatalf("%s in place: %x, want %x", typ, want, src)
		}
	})
}

func TestLittleEndian(t *testing.T) {
	one := uint16(1)
	if first := *(*byte)(unsafe.Pointer(&one)); byteorder.Little() != (first == 1) {
		t.Errorf("Little() = %v, the first byte of 1 is %d", byteorder.Little(), first)
	}
}

func BenchmarkSwap(b *testing.B) {
	fields := func(names ...string) Type {
		var list []Field
		for i, name := range names {
			typ, err := Parse(name, nil)
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, Field{Name: fmt.Sprint(i), Type: typ})
		}
		typ, err := StructOf(list...)
		if err != nil {
			b.Fatal(err)
		}
		return typ
	}
	for _, typ := range []Type{Of[uint16](), Of[float32](), Of[float64](), fields("float64", "float32"),
		fields("uint8", "int16", "float32", "float64", "complex64")} {
		for _, n := range []int{64 << 10, 16 << 20} {
			b.Run(fmt.Sprintf("%s of %d/bytes=%d", typ.Name(), typ.Size(), n), func(b *testing.B) {
				n -= n % typ.Size()
				src, dst := bytes.Repeat([]byte{1}, n), make([]byte, n)
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					typ.Swap(dst, src)
				}
				swapped, copied := clock.Beside(func() { typ.Swap(dst, src) }, func() { copy(dst, src) }, time.Second/4)
				b.ReportMetric(float64(n)/swapped.Seconds()/1e6, "best-MB/s")
				b.ReportMetric(copied.Seconds()/swapped.Seconds(), "of-copy")
			})
		}
	}
}
