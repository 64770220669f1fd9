// SPDX-License-Identifier: Apache-2.0

package zarr_test

import (
	"context"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// table creates an array of 4×5 numbers, 10 times the row plus the column.
func table() *zarr.Array {
	ctx := context.Background()
	a, err := zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{4, 5}, Type: dtype.Int32, Chunks: grid.Chunks(3, 2), DimensionNames: []string{"row", "column"},
	}, nil)
	if err != nil {
		panic(err)
	}
	data := make([]int32, 20)
	for i := range data {
		data[i] = int32(i/5*10 + i%5)
	}
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		panic(err)
	}
	return a
}

// Selections along every axis, of points, by a mask, and of chunks.
func ExampleRead_selections() {
	a := table()
	mask := selection.Mask{Shape: a.Shape(), Data: make([]bool, 20)}
	mask.Data[3], mask.Data[19] = true, true
	for _, sel := range []selection.Selection{
		selection.Basic{selection.At(-1), selection.Stepped(selection.Open, selection.Open, -2)},
		selection.Orthogonal{selection.List(3, 0, 0), selection.Span(1, 3)},
		selection.Points{selection.Coords(0, 3, 2), selection.Coords(4, 0, 2)},
		selection.Named{"column": selection.At(2)},
		mask,
		selection.Blocks{Items: []selection.Item{selection.At(1), selection.At(0)}},
	} {
		b, err := zarr.Read[int32](context.Background(), a, sel)
		fmt.Println(b.Shape, b.Data, err)
	}
	// Output:
	// [3] [34 32 30] <nil>
	// [3 2] [31 32 1 2 1 2] <nil>
	// [3] [4 30 22] <nil>
	// [4] [2 12 22 32] <nil>
	// [2] [3 34] <nil>
	// [1 2] [30 31] <nil>
}

// A view combines selections by their indices. Elements are read at the end, and written
// through it.
func ExampleArray_View() {
	ctx := context.Background()
	a := table()
	v, err := a.View(selection.Basic{selection.Span(1, 4)}) // rows 1 to 3
	if err == nil {
		v, err = v.Transpose()
	}
	if err == nil {
		v, err = v.View(selection.Orthogonal{selection.List(4, 0)}) // two columns of these rows
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Shape(), v.DimensionNames())
	err = zarr.Fill(ctx, v, selection.Basic{selection.All(), selection.At(0)}, int32(-1))
	b, readErr := zarr.Read[int32](ctx, v, nil)
	fmt.Println(b.Data, err, readErr)
	// Output:
	// [2 3] [column row]
	// [-1 24 34 -1 20 30] <nil> <nil>
}

// The rows of every chunk are summed up with only a few chunks in memory.
func ExamplePieces() {
	a := table()
	sum := int32(0)
	for p, err := range zarr.Pieces[int32](context.Background(), a, selection.Basic{selection.Span(2, 4)}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, n := range p.Data {
			sum += n
		}
		fmt.Println(p.Shape, p.Data)
	}
	fmt.Println(sum)
	// Output:
	// [1 2] [20 21]
	// [1 2] [22 23]
	// [1 1] [24]
	// [1 2] [30 31]
	// [1 2] [32 33]
	// [1 1] [34]
	// 270
}

// Two selections become the columns of one block.
func ExampleReadStrided() {
	ctx := context.Background()
	a := table()
	pairs := make([]int32, 8)
	for column, sel := range []selection.Basic{{selection.All(), selection.At(1)}, {selection.Stepped(selection.Open, selection.Open, -1), selection.At(4)}} {
		if err := zarr.ReadStrided(ctx, a, sel, pairs[column:], []int64{2}); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(pairs)
	// Output: [1 34 11 24 21 14 31 4]
}
