package dtype

import (
	"bytes"
	"fmt"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

func TestSwapBytes(t *testing.T) {
	tests := []struct {
		unit int
		want []byte
	}{
		{0, []byte{1, 2, 3, 4, 5, 6, 7, 8}},
		{1, []byte{1, 2, 3, 4, 5, 6, 7, 8}},
		{2, []byte{2, 1, 4, 3, 6, 5, 8, 7}},
		{4, []byte{4, 3, 2, 1, 8, 7, 6, 5}},
		{8, []byte{8, 7, 6, 5, 4, 3, 2, 1}},
	}
	for _, tt := range tests {
		dst := make([]byte, 8)
		SwapBytes(dst, []byte{1, 2, 3, 4, 5, 6, 7, 8}, tt.unit)
		if !bytes.Equal(dst, tt.want) {
			t.Errorf("unit %d: %v, want %v", tt.unit, dst, tt.want)
		}
	}
}

// TestSwapBytesEqualsPlain compares the fast paths with the plain loop, at any length and alignment, and in place.
func TestSwapBytesEqualsPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]int{1, 2, 3, 4, 8, 16}).Draw(t, "unit")
		n := unit * rapid.IntRange(0, 50).Draw(t, "count")
		offset := rapid.IntRange(0, 7).Draw(t, "offset")
		src := rapid.SliceOfN(rapid.Byte(), offset+n, offset+n).Draw(t, "src")[offset:]
		want := make([]byte, n)
		swapPlain(want, src, unit)

		got := bytes.Repeat([]byte{0xee}, n+1)
		SwapBytes(got, src, unit)
		if !bytes.Equal(got[:n], want) || got[n] != 0xee {
			t.Fatalf("unit %d: %x, want %x", unit, got, want)
		}
		again := bytes.Clone(got[:n])
		SwapBytes(again, again, unit)
		if !bytes.Equal(again, src) {
			t.Fatalf("unit %d in place: %x, want %x", unit, again, src)
		}
	})
}

func TestLittleEndian(t *testing.T) {
	one := uint16(1)
	if first := *(*byte)(unsafe.Pointer(&one)); LittleEndian() != (first == 1) {
		t.Errorf("LittleEndian() = %v, the first byte of 1 is %d", LittleEndian(), first)
	}
}

func BenchmarkSwapBytes(b *testing.B) {
	for _, unit := range []int{2, 4, 8} {
		for _, size := range []int{64 << 10, 16 << 20} {
			src, dst := make([]byte, size), make([]byte, size)
			b.Run(fmt.Sprintf("unit=%d/bytes=%d", unit, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				for range b.N {
					SwapBytes(dst, src, unit)
				}
			})
		}
	}
	b.Run("plain/unit=4", func(b *testing.B) {
		src, dst := make([]byte, 64<<10), make([]byte, 64<<10)
		b.SetBytes(64 << 10)
		for range b.N {
			swapPlain(dst, src, 4)
		}
	})
}
