// SPDX-License-Identifier: Apache-2.0

package zarr_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// created returns a new array in memory.
func created(ctx context.Context, spec zarr.Spec) *zarr.Array {
	a, err := zarr.At(memstore.New(), "a").CreateArray(ctx, spec, nil)
	if err != nil {
		log.Fatal(err)
	}
	return a
}

// A reanalysis has a chunk for every year. The days of the present year arrive one by
// one. Each becomes a chunk, so no append reads or writes another chunk.
func Example_daysOntoYears() {
	ctx := context.Background()
	a := created(ctx, zarr.Spec{
		Shape: []int64{3 * 8760, 18, 36}, Type: dtype.Float32, FillValue: zarr.FillOf(math.NaN()),
		Chunks: []grid.Cut{grid.Runs(grid.Run{Length: 8760, Count: 3}), grid.Every(18), grid.Every(36)},
	})
	day := make([]float32, 24*18*36) // hourly
	for range 5 {
		if err := zarr.Append(ctx, a, 0, day, nil); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%v %s\n", a.Shape(), a.Grid().AppendConfiguration(nil))
	// Output: [26400 18 36] {"kind": "inline", "chunk_shapes": [[[8760, 3], [24, 5]], 18, 36]}
}

// Daily output of a climate model without leap years, one chunk a month. The files have
// any length: the next append completes a month that has begun.
func Example_monthsOfAModel() {
	ctx := context.Background()
	days, err := calendar.ParseSteps("1850-01-01", "1d", "noleap")
	if err != nil {
		log.Fatal(err)
	}
	months := grid.ByBoundaries("calendar:month", days.Buckets(calendar.Month).Next)
	a := created(ctx, zarr.Spec{
		Shape: []int64{59, 4}, Type: dtype.Float32,
		Chunks: []grid.Cut{grid.Edges(31, 28), grid.Every(4)},
	})
	for _, length := range []int{40, 20, 31} {
		err := zarr.Append(ctx, a, 0, make([]float32, length*4), &zarr.AppendOptions{Grow: months})
		if err != nil {
			log.Fatal(err)
		}
		last, _ := a.Grid().Axis(0).Cell(a.Grid().Chunks()[0] - 1)
		fmt.Println(a.Shape()[0], "days in", last.Index+1, "months; of the last,", last.Logical, "days of", last.Edge)
	}
	// Output:
	// 99 days in 4 months; of the last, 9 days of 30
	// 119 days in 4 months; of the last, 29 days of 30
	// 150 days in 5 months; of the last, 30 days of 31
}

// Every start of a forecast is a chunk, whatever its number of members. No start is
// padded to the largest ensemble.
func Example_ensembles() {
	ctx := context.Background()
	a := created(ctx, zarr.Spec{
		Shape: []int64{11, 3}, Type: dtype.Float32, // the first start has 11 members
		Chunks: []grid.Cut{grid.Edges(11), grid.Every(3)},
	})
	for _, members := range []int{11, 31, 51} {
		forecast := make([]float32, members*3)
		for i := range forecast {
			forecast[i] = float32(members)
		}
		if err := zarr.Append(ctx, a, 0, forecast, nil); err != nil {
			log.Fatal(err)
		}
	}
	start, _ := a.Grid().Chunk([]int64{2, 0})
	block, err := zarr.Read[float32](ctx, a, selection.BoxOf(start.Box()))
	fmt.Println(a.Shape(), a.Grid().Axis(0).Sizes())
	fmt.Println(start.Box(), block.Shape, block.Data[0], err)
	// Output:
	// [104 3] [{11 2} {31 1} {51 1}]
	// [{22 53} {0 3}] [31 3] 31 <nil>
}

// Three instruments deliver batches of different lengths. Each writes its part when it
// is ready, without waiting for the others. Readers see all parts at the same time.
func ExampleArray_Reserve() {
	ctx := context.Background()
	a := created(ctx, zarr.Spec{Shape: []int64{2}, Type: dtype.Int16, Chunks: []grid.Cut{grid.Edges(2)}})
	r, err := a.Reserve(ctx, 0, 3, 1, 2)
	if err != nil {
		log.Fatal(err)
	}
	var instruments sync.WaitGroup
	for part, batch := range [][]int16{{10, 11, 12}, {20}, {30, 31}} {
		instruments.Go(func() {
			if err := zarr.WritePart(ctx, r, part, batch); err != nil {
				log.Fatal(err)
			}
		})
	}
	instruments.Wait()
	fmt.Println("before", a.Shape())
	if err := r.Publish(ctx); err != nil {
		log.Fatal(err)
	}
	all, err := zarr.Read[int16](ctx, a, nil)
	fmt.Println("after", a.Shape(), all.Data, a.Grid().Axis(0).Sizes(), err)
	// Output:
	// before [2]
	// after [8] [0 0 10 11 12 20 30 31] [{2 1} {3 1} {1 1} {2 1}] <nil>
}

// All variables of a group grow together with their time coordinate, or none does.
// Readers of the consolidated metadata never see one without the other.
func ExampleGroup_Append() {
	ctx := context.Background()
	h := zarr.At(memstore.New(), "")
	g, err := h.At("era5").CreateGroup(ctx, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	for name, spec := range map[string]zarr.Spec{
		"time": {Shape: []int64{24}, Type: dtype.Int64, Chunks: grid.Chunks(8760)},
		"t2m":  {Shape: []int64{24, 2}, Type: dtype.Float32, Chunks: []grid.Cut{grid.Edges(24), grid.Every(2)}},
	} {
		if _, err := g.At(name).CreateArray(ctx, spec, nil); err != nil {
			log.Fatal(err)
		}
	}
	if err := g.Consolidate(ctx); err != nil {
		log.Fatal(err)
	}
	err = g.Append(ctx,
		zarr.Add("t2m", 0, make([]float32, 6*2), nil),
		zarr.Add("time", 0, []int64{24, 25, 26, 27, 28, 29}, nil),
	)
	if err != nil {
		log.Fatal(err)
	}
	err = g.Append(ctx,
		zarr.Add("t2m", 0, make([]float32, 2*2), nil),
		zarr.Add("time", 1, []int64{30, 31}, nil),
	)
	fmt.Println(err)
	if g, err = h.At("era5").OpenGroup(ctx, nil); err != nil {
		log.Fatal(err)
	}
	for m, err := range g.Members(ctx, false) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.Path, m.Node.(*zarr.Array).Shape())
	}
	// Output:
	// append era5/time: invalid argument: there is no axis 1: the array has rank 1, and axes are numbered from 0
	// t2m [30 2]
	// time [30]
}

// An archive with chunks of 30 days continues with a chunk a day. MakeRectilinear
// changes only the document. The next appends complete the last chunk of 30 days, and
// then each becomes a chunk.
func ExampleArray_MakeRectilinear() {
	ctx := context.Background()
	a := created(ctx, zarr.Spec{Shape: []int64{89}, Type: dtype.Float32, Chunks: grid.Chunks(30)})
	fmt.Println(a.Grid().Name(), a.Grid().Axis(0).Sizes())
	if err := a.MakeRectilinear(ctx, nil); err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if err := zarr.Append(ctx, a, 0, []float32{1}, nil); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(a.Grid().Name(), a.Grid().Axis(0).Sizes())
	// Output:
	// regular [{30 2} {29 1}]
	// rectilinear [{30 3} {1 2}]
}

// A file longer than memory is appended as a whole or not at all. It is read chunk by
// chunk while it is stored.
func ExampleArray_AppendFrom() {
	ctx := context.Background()
	a := created(ctx, zarr.Spec{Shape: []int64{0, 3}, Type: dtype.Uint8, Chunks: grid.Chunks(2, 3)})
	file := strings.NewReader("abcdefghi") // or an *os.File
	if err := a.AppendFrom(ctx, 0, zarr.SourceAt(file, 3, 3), nil); err != nil {
		log.Fatal(err)
	}
	row := make([]byte, 3)
	if err := a.ReadBytes(ctx, selection.Basic{selection.At(1)}, row); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v %s\n", a.Shape(), row)
	// Output: [3 3] def
}
