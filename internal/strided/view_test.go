// SPDX-License-Identifier: Apache-2.0

package strided_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
)

// drawView draws a view of part of a larger block, with axes in any order and gaps
// between elements.
func drawView(t *rapid.T, shape []int64, size int) strided.View {
	rank := len(shape)
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	order := rapid.Permutation(axes).Draw(t, "order")
	v := strided.View{Shape: shape, Strides: make([]int64, rank), Size: size}
	stride := int64(size)
	for i := rank - 1; i >= 0; i-- {
		axis := order[i]
		step := rapid.Int64Range(1, 3).Draw(t, "step")
		if rapid.Bool().Draw(t, "dense") {
			step = 1
		}
		v.Strides[axis] = stride * step
		stride *= shape[axis]*step + rapid.Int64Range(0, 1).Draw(t, "gap")
	}
	v.Offset = rapid.Int64Range(0, 5).Draw(t, "offset")
	v.Data = rapid.SliceOfN(rapid.Byte(), int(v.Offset+stride), int(v.Offset+stride)).Draw(t, "data")
	return v
}

// element returns the bytes of the element at index, computed by definition.
func element(v strided.View, index []int64) []byte {
	at := v.Offset
	for i, n := range index {
		at += n * v.Strides[i]
	}
	return v.Data[at : at+int64(v.Size)]
}

func drawShape(t *rapid.T) ([]int64, int) {
	shape := rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 4).Draw(t, "shape")
	return shape, rapid.SampledFrom([]int{1, 2, 3, 4, 8, 16}).Draw(t, "size")
}

func TestCopyAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, size := drawShape(t)
		src, dst := drawView(t, shape, size), drawView(t, shape, size)
		want := strided.View{Data: bytes.Clone(dst.Data), Offset: dst.Offset, Shape: shape, Strides: dst.Strides, Size: size}
		for index := range grid.BoxOf(shape).Indices() {
			copy(element(want, index), element(src, index))
		}
		strided.Copy(dst, src)
		if !bytes.Equal(dst.Data, want.Data) {
			t.Fatalf("shape %v, strides %v to %v: %x, want %x", shape, src.Strides, dst.Strides, dst.Data, want.Data)
		}
	})
}

func TestFillAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, size := drawShape(t)
		v := drawView(t, shape, size)
		elem := rapid.SliceOfN(rapid.ByteRange(0, 1), size, size).Draw(t, "elem")
		want := bytes.Clone(v.Data)
		w := v
		w.Data = want
		equal := true
		for index := range grid.BoxOf(shape).Indices() {
			equal = equal && bytes.Equal(element(v, index), elem)
			copy(element(w, index), elem)
		}
		if v.AllEqual(elem) != equal {
			t.Fatalf("AllEqual is %v before", !equal)
		}
		strided.Fill(v, elem)
		if !bytes.Equal(v.Data, want) || !v.AllEqual(elem) {
			t.Fatalf("filled to %x, want %x", v.Data, want)
		}
		n, _ := grid.BoxOf(shape).Len()
		if data, ok := v.Bytes(); ok && int64(len(data)) != n*int64(size) {
			t.Fatalf("Bytes returns %d bytes of %d elements", len(data), n)
		}
	})
}

func TestSub(t *testing.T) {
	v := strided.Contiguous([]byte{0, 1, 2, 3, 4, 5}, []int64{2, 3}, 1)
	part := v.Sub(grid.Box{{Start: 1, Stop: 2}, {Start: 1, Stop: 3}})
	got := make([]byte, 2)
	strided.Copy(strided.Contiguous(got, []int64{1, 2}, 1), part)
	if !bytes.Equal(got, []byte{4, 5}) {
		t.Errorf("got %v", got)
	}
}

func BenchmarkCopy(b *testing.B) {
	const n = 256
	for _, bench := range []struct {
		name string
		src  []int64 // strides in elements
	}{{"rows", []int64{2 * n * n, n, 1}}, {"transposed", []int64{1, n, n * n}}} {
		b.Run(bench.name, func(b *testing.B) {
			shape := []int64{n, n, n}
			src := strided.View{Data: make([]byte, 2*n*n*n*2), Shape: shape, Strides: []int64{}, Size: 2}
			for _, s := range bench.src {
				src.Strides = append(src.Strides, 2*s)
			}
			dst := strided.Contiguous(make([]byte, n*n*n*2), shape, 2)
			b.SetBytes(n * n * n * 2)
			b.ReportAllocs()
			for b.Loop() {
				strided.Copy(dst, src)
			}
		})
	}
	for _, row := range []int64{4, 8, 16, 32} {
		// A small inner chunk within a larger block.
		b.Run(fmt.Sprintf("rows of %d", row), func(b *testing.B) {
			shape := []int64{4, 4, row}
			src := strided.View{Data: make([]byte, 4*64*row*64), Shape: shape, Strides: []int64{64 * row * 64, row * 64, 1}, Size: 1}
			dst := strided.Contiguous(make([]byte, 16*row), shape, 1)
			b.ReportAllocs()
			for b.Loop() {
				strided.Copy(dst, src)
			}
		})
	}
}
