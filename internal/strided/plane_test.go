// SPDX-License-Identifier: Apache-2.0

package strided

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve.dev/zarr/internal/clock"
)

// TestPlanesEqualPlain compares copies by planes with copies by elements, for any shape,
// order of axes and size of elements.
func TestPlanesEqualPlain(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(2, 4).Draw(t, "rank")
		size := rapid.SampledFrom([]int{1, 2, 3, 4, 8, 16}).Draw(t, "size")
		shape := make([]int64, rank)
		for i := range shape {
			shape[i] = rapid.Int64Range(1, 40).Draw(t, "extent")
			if rank > 2 && i > 1 {
				shape[i] = rapid.Int64Range(1, 12).Draw(t, "extent")
			}
		}
		axes := make([]int, rank)
		for i := range axes {
			axes[i] = i
		}
		views := [2]View{}
		for k := range views {
			order := rapid.Permutation(axes).Draw(t, "order")
			gap := rapid.Int64Range(0, 2).Draw(t, "gap")
			v := View{Shape: shape, Strides: make([]int64, rank), Size: size}
			step := int64(size)
			for i, axis := range order {
				v.Strides[axis] = step
				step *= shape[axis]
				if i == 0 {
					step += gap * int64(size)
				}
			}
			v.Data = make([]byte, step)
			for i := range v.Data {
				v.Data[i] = byte(i*7 + i/251 + k)
			}
			views[k] = v
		}
		dst, src := views[0], views[1]
		want, moved := dst, dst
		want.Data, moved.Data = bytes.Clone(dst.Data), bytes.Clone(dst.Data)
		copyElements(&want, &src, 0, 0, 0)
		if copyPlanes(&dst, &src, rank, int64(size)) {
			taken++
		} else {
			Copy(dst, src)
		}
		Move(moved, src) // in longer runs if there are any
		if !bytes.Equal(dst.Data, want.Data) || !bytes.Equal(moved.Data, want.Data) {
			t.Fatalf("shape %v, strides %v and %v: other elements", shape, dst.Strides, src.Strides)
		}
	})
	if taken == 0 {
		t.Error("nothing was copied by planes")
	}
}

func BenchmarkTranspose(b *testing.B) {
	for _, size := range []int{1, 2, 4, 8, 16} {
		for _, n := range []int64{64, 1000, 1024, 4096} {
			b.Run(fmt.Sprintf("size=%d/side=%d", size, n), func(b *testing.B) {
				shape, bytes := []int64{n, n}, n*n*int64(size)
				src, dst := Contiguous(make([]byte, bytes), shape, size), Contiguous(make([]byte, bytes), shape, size)
				src.Strides[0], src.Strides[1] = src.Strides[1], src.Strides[0]
				for i := range src.Data {
					src.Data[i] = byte(i * 7) // give every page memory of its own
				}
				b.SetBytes(bytes)
				b.ReportAllocs()
				for b.Loop() {
					Move(dst, src)
				}
				turn, plain := clock.Beside(func() { Move(dst, src) }, func() { copy(dst.Data, src.Data) }, time.Second/4)
				b.ReportMetric(float64(bytes)/turn.Seconds()/1e6, "best-MB/s")
				b.ReportMetric(plain.Seconds()/turn.Seconds(), "of-copy")
			})
		}
	}
}
