// SPDX-License-Identifier: Apache-2.0

package zarr_test

import (
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr"
)

func ExampleBlock() {
	b := zarr.Block[float32]{Shape: []int64{2, 3}, Data: []float32{1, 2, 3, 4, 5, 6}}
	b.Set(40, 1, 0)
	fmt.Println(b.At(1, 0), b.Row(1))
	for index, value := range b.All() {
		if value > 4 {
			fmt.Println(index, value)
		}
	}
	// Output:
	// 40 [40 5 6]
	// [1 0] 40
	// [1 1] 5
	// [1 2] 6
}

// TestBlock compares methods of blocks of all small shapes with loops over their data.
func TestBlock(t *testing.T) {
	for _, shape := range [][]int64{{}, {0}, {5}, {2, 3}, {3, 0, 2}, {2, 1, 400}} {
		n := int64(1)
		for _, k := range shape {
			n *= k
		}
		b := zarr.Block[int]{Shape: shape, Data: make([]int, n)}
		for i := range b.Data {
			b.Data[i] = i
		}
		var kept [][]int64
		next := 0
		for index, value := range b.All() {
			if value != next || b.At(index...) != value || len(shape) > 0 && !slices.Contains(b.Row(index[:len(index)-1]...), value) {
				t.Fatalf("shape %v: element %d is %d at %v", shape, next, value, index)
			}
			kept = append(kept, index)
			next++
		}
		if int64(next) != n {
			t.Errorf("shape %v: %d elements", shape, next)
		}
		for i, index := range kept {
			if b.At(index...) != i {
				t.Fatalf("shape %v: a kept index became %v", shape, index)
			}
		}
		if got := b.Row(); len(got) != len(b.Data) {
			t.Errorf("shape %v: all rows have %d elements", shape, len(got))
		}
	}
	b := zarr.Block[int]{Shape: []int64{2, 3}, Data: make([]int, 6)}
	for name, f := range map[string]func(){
		"beyond":   func() { b.At(0, 3) },
		"negative": func() { b.At(-1, 0) },
		"short":    func() { b.At(1) },
		"long row": func() { b.Row(0, 0, 0) },
		"set":      func() { b.Set(1, 2, 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
