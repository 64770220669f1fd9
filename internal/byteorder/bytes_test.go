// SPDX-License-Identifier: Apache-2.0

package byteorder

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve.dev/zarr/internal/clock"
)

// TestBytes compares both ways with numbers reversed byte by byte, at any length and
// alignment, and in place.
func TestBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]int{1, 2, 3, 4, 8, 12, 16, 24}).Draw(t, "unit")
		n := unit * rapid.IntRange(0, 200).Draw(t, "count")
		way := rapid.SampledFrom([]func(dst, src []byte, unit int){Bytes, bytesPlain}).Draw(t, "way")
		src := noise(n + 40)[rapid.IntRange(0, 40).Draw(t, "offset"):][:n]
		want := make([]byte, n)
		for i := range src {
			want[i/unit*unit+unit-1-i%unit] = src[i]
		}
		room := bytes.Repeat([]byte{0xee}, n+2)
		way(room[1:], src, unit)
		if !bytes.Equal(room[1:n+1], want) || room[0] != 0xee || room[n+1] != 0xee {
			t.Fatalf("unit %d: %x, want %x", unit, room, want)
		}
		if way(want, want, unit); !bytes.Equal(want, src) {
			t.Fatalf("unit %d in place: %x, want %x", unit, want, src)
		}
	})
}

func BenchmarkBytes(b *testing.B) {
	for _, unit := range []int{2, 4, 8, 16} {
		for _, n := range []int{64 << 10, 16 << 20} {
			b.Run(fmt.Sprintf("unit=%d/bytes=%d", unit, n), func(b *testing.B) {
				src, dst := noise(n), make([]byte, n)
				b.SetBytes(int64(n))
				for b.Loop() {
					Bytes(dst, src, unit)
				}
				turn, copied := clock.Beside(func() { Bytes(dst, src, unit) }, func() { copy(dst, src) }, time.Second/4)
				b.ReportMetric(float64(n)/turn.Seconds()/1e6, "best-MB/s")
				b.ReportMetric(copied.Seconds()/turn.Seconds(), "of-copy")
			})
		}
	}
}

func ExampleBytes() {
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	Bytes(b, b, 4)
	fmt.Println(b)
	// Output: [4 3 2 1 8 7 6 5]
}

// TestUnits reverses numbers of each width.
func TestUnits(t *testing.T) {
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
		Bytes(dst, []byte{1, 2, 3, 4, 5, 6, 7, 8}, tt.unit)
		if !bytes.Equal(dst, tt.want) {
			t.Errorf("unit %d: %v, want %v", tt.unit, dst, tt.want)
		}
	}
}
