package grid

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestTilesEqualPlain compares copies by squares with those by elements, of all shapes, orders of axes and sizes of elements.
func TestTilesEqualPlain(t *testing.T) {
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
		want := dst
		want.Data = bytes.Clone(dst.Data)
		copyElements(&want, &src, 0, 0, 0)
		if copyTiles(&dst, &src) {
			taken++
		} else {
			Copy(dst, src)
		}
		if !bytes.Equal(dst.Data, want.Data) {
			t.Fatalf("shape %v, strides %v and %v: other elements", shape, dst.Strides, src.Strides)
		}
	})
	if taken == 0 {
		t.Error("nothing was copied by squares")
	}
}

func BenchmarkTranspose(b *testing.B) {
	for _, size := range []int{1, 2, 4, 8, 16} {
		for _, n := range []int64{64, 1024} {
			shape := []int64{n, n}
			src := Contiguous(make([]byte, n*n*int64(size)), shape, size)
			src.Strides[0], src.Strides[1] = src.Strides[1], src.Strides[0]
			dst := Contiguous(make([]byte, n*n*int64(size)), shape, size)
			name := string(rune('0'+size/10)) + string(rune('0'+size%10)) + "/" + map[int64]string{64: "64", 1024: "1024"}[n]
			b.Run("turn"+name, func(b *testing.B) {
				b.SetBytes(int64(len(dst.Data)))
				for b.Loop() {
					Copy(dst, src)
				}
			})
			b.Run("copy"+name, func(b *testing.B) {
				b.SetBytes(int64(len(dst.Data)))
				for b.Loop() {
					copy(dst.Data, src.Data)
				}
			})
		}
	}
}
