// SPDX-License-Identifier: Apache-2.0

package zarr_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// The sea on a HEALPix grid. Cells are sorted by their parent, and each parent is a
// chunk, however many of its cells are water. Reading the surroundings of a place takes
// one chunk.
func Example_parents() {
	ctx := context.Background()
	parents := []int64{17, 17, 17, 17, 18, 18, 21, 21, 21} // of every cell
	cut, err := grid.Groups(parents)
	if err != nil {
		log.Fatal(err)
	}
	a := created(ctx, zarr.Spec{Shape: []int64{int64(len(parents))}, Type: dtype.Float32, Chunks: []grid.Cut{cut}})
	if err := zarr.Write(ctx, a, nil, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}); err != nil {
		log.Fatal(err)
	}
	for c := range a.Chunks() {
		cells, err := zarr.Read[float32](ctx, a, selection.BoxOf(c.Box()))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("parent", parents[c.Start[0]], "is", c.Key, "with", cells.Data)
	}
	// Output:
	// parent 17 is a/c/0 with [1 2 3 4]
	// parent 18 is a/c/1 with [5 6]
	// parent 21 is a/c/2 with [7 8 9]
}

// The human genome (GRCh38) as one axis, with a chunk for each chromosome. It has more
// elements than 32 bits can number. Chunks that were not written take no space.
func Example_chromosomes() {
	ctx := context.Background()
	cut, bases, err := grid.Counts([]int64{
		248956422, 242193529, 198295559, 190214555, 181538259, 170805979, 159345973, 145138636, 138394717, 133797422, 135086622, 133275309,
		114364328, 107043718, 101991189, 90338345, 83257441, 80373285, 58617616, 64444167, 46709983, 50818468, 156040895, 57227415,
	})
	if err != nil {
		log.Fatal(err)
	}
	a := created(ctx, zarr.Spec{Shape: []int64{bases}, Type: dtype.Uint8, FillValue: zarr.FillJSON("78"), Chunks: []grid.Cut{cut}})
	end := selection.Box{{bases - 7, bases - 2}}
	if err := zarr.Write(ctx, a, end, []uint8("GATTA")); err != nil {
		log.Fatal(err)
	}
	tail, err := zarr.Read[uint8](ctx, a, selection.Basic{selection.Span(-10, bases)})
	fmt.Println(a.Shape(), a.Grid().Chunks(), string(tail.Data), err)
	for index, err := range a.StoredChunks(ctx) {
		fmt.Println("stored:", index, err)
	}
	// Output:
	// [3088269832] [24] NNNGATTANN <nil>
	// stored: [23] <nil>
}

// The domains of a model are wider at the border. With one chunk for each domain, all
// processes write concurrently, and four processes share 25 domains without writing to
// the same chunk.
func Example_domains() {
	ctx := context.Background()
	domains := grid.Edges(10, 8, 8, 8, 10)
	a := created(ctx, zarr.Spec{Shape: []int64{44, 44}, Type: dtype.Int32, Chunks: []grid.Cut{domains, domains}})
	pieces, err := a.Grid().SafeWrites(grid.BoxOf(a.Shape()), 4)
	if err != nil {
		log.Fatal(err)
	}
	var processes sync.WaitGroup
	for rank, piece := range pieces {
		processes.Go(func() {
			if err := zarr.Fill(ctx, a, selection.BoxOf(piece), int32(rank)); err != nil {
				log.Fatal(err)
			}
		})
	}
	processes.Wait()
	all, err := zarr.Read[int32](ctx, a, nil)
	if err != nil {
		log.Fatal(err)
	}
	written := make([]int, len(pieces))
	for _, rank := range all.Data {
		written[rank]++
	}
	for rank, piece := range pieces {
		fmt.Println("rank", rank, "wrote", piece, written[rank])
	}
	// Output:
	// rank 0 wrote [{0 10} {0 44}] 440
	// rank 1 wrote [{10 18} {0 44}] 352
	// rank 2 wrote [{18 34} {0 44}] 704
	// rank 3 wrote [{34 44} {0 44}] 440
}
