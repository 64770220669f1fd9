// SPDX-License-Identifier: Apache-2.0

package zarr_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// Text of any length, in chunks of different lengths.
func Example_text() {
	ctx := context.Background()
	a, err := zarr.At(memstore.New(), "stations").CreateArray(ctx, zarr.Spec{
		Shape: []int64{3}, Type: dtype.String, Chunks: []grid.Cut{grid.Edges(1, 2)}, FillValue: zarr.FillJSON(`"?"`),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := zarr.Write(ctx, a, selection.Box{{0, 2}}, []string{"Zürich", "Oslo"}); err != nil {
		log.Fatal(err)
	}
	if err := zarr.Append(ctx, a, 0, []string{"Reykjavík"}, nil); err != nil {
		log.Fatal(err)
	}
	names, err := zarr.Read[string](ctx, a, nil)
	fmt.Printf("%q %v\n", names.Data, err)
	// Output: ["Zürich" "Oslo" "?" "Reykjavík"] <nil>
}

// Times, like datetime64 of NumPy, as time.Time and as the stored numbers.
func Example_times() {
	ctx := context.Background()
	hours, err := dtype.DatetimeOf("h", 1)
	if err != nil {
		log.Fatal(err)
	}
	a, err := zarr.At(memstore.New(), "time").CreateArray(ctx, zarr.Spec{Shape: []int64{3}, Type: hours}, nil)
	if err != nil {
		log.Fatal(err)
	}
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	if err := zarr.Write(ctx, a, selection.Box{{0, 2}}, []time.Time{noon, noon.Add(time.Hour)}); err != nil {
		log.Fatal(err)
	}
	times, err := zarr.Read[time.Time](ctx, a, nil)
	if err != nil {
		log.Fatal(err)
	}
	numbers, err := zarr.Read[int64](ctx, a, selection.Box{{0, 2}})
	fmt.Println(times.Data[1], times.Data[2].IsZero(), numbers.Data, err)
	// Output: 2024-02-29 13:00:00 +0000 UTC true [474780 474781] <nil>
}

// Structs, read as Go structs and field by field.
func ExampleReadStructs() {
	ctx := context.Background()
	id, err := dtype.NullTerminated(8)
	if err != nil {
		log.Fatal(err)
	}
	t, err := dtype.StructOf(
		dtype.Field{Name: "id", Type: id},
		dtype.Field{Name: "height", Type: dtype.Float32},
		dtype.Field{Name: "open", Type: dtype.Bool},
	)
	if err != nil {
		log.Fatal(err)
	}
	type station struct {
		Open   bool    `zarr:"open"`
		Height float32 `zarr:"height"`
		ID     string  `zarr:"id"`
	}
	a, err := zarr.At(memstore.New(), "stations").CreateArray(ctx, zarr.Spec{Shape: []int64{3}, Type: t}, nil)
	if err != nil {
		log.Fatal(err)
	}
	stations := []station{{true, 569, "SMA"}, {false, 2691, "JFJ"}}
	if err := zarr.WriteStructs(ctx, a, selection.Box{{0, 2}}, stations); err != nil {
		log.Fatal(err)
	}

	all, err := zarr.ReadStructs[station](ctx, a, nil)
	fmt.Println(all.Shape, all.Data, err)
	heights, err := zarr.Read[float32](ctx, a, selection.Fields{Names: []string{"height"}})
	fmt.Println(heights.Data, err)
	// Output:
	// [3] [{true 569 SMA} {false 2691 JFJ} {false 0 }] <nil>
	// [569 2691 0] <nil>
}

// Structs are appended like other elements.
func ExampleAppendStructs() {
	ctx := context.Background()
	t, err := dtype.StructOf(
		dtype.Field{Name: "at", Type: dtype.Of[time.Time]()}, dtype.Field{Name: "celsius", Type: dtype.Float32},
	)
	if err != nil {
		log.Fatal(err)
	}
	type observation struct {
		At      time.Time `zarr:"at"`
		Celsius float32   `zarr:"celsius"`
	}
	log2024 := zarr.Spec{Shape: []int64{0}, Chunks: []grid.Cut{grid.Edges()}, Type: t}
	a, err := zarr.At(memstore.New(), "log").CreateArray(ctx, log2024, nil)
	if err != nil {
		log.Fatal(err)
	}
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	for _, c := range []float32{7.5, 9} {
		if err := zarr.AppendStructs(ctx, a, 0, []observation{{day, c}, {day.Add(time.Hour), c + 1}}, nil); err != nil {
			log.Fatal(err)
		}
	}
	all, err := zarr.ReadStructs[observation](ctx, a, nil)
	fmt.Println(a.Shape(), a.Grid(), all.Data[3].Celsius, err)
	// Output: [4] (4) in chunks of ([2×2]) 10 <nil>
}

// One field of all elements is written. The other fields do not change.
func ExampleWriteStructs_fields() {
	ctx := context.Background()
	t, err := dtype.StructOf(
		dtype.Field{Name: "x", Type: dtype.Int32}, dtype.Field{Name: "y", Type: dtype.Int32}, dtype.Field{Name: "weight", Type: dtype.Float64},
	)
	if err != nil {
		log.Fatal(err)
	}
	a, err := zarr.At(memstore.New(), "points").CreateArray(ctx, zarr.Spec{Shape: []int64{2}, Type: t}, nil)
	if err != nil {
		log.Fatal(err)
	}
	type position struct {
		X int32 `zarr:"x"`
		Y int32 `zarr:"y"`
	}
	if err := zarr.Write(ctx, a, selection.Fields{Names: []string{"weight"}}, []float64{0.5, 0.25}); err != nil {
		log.Fatal(err)
	}
	if err := zarr.WriteStructs(ctx, a, selection.Fields{Names: []string{"x", "y"}}, []position{{1, 2}, {3, 4}}); err != nil {
		log.Fatal(err)
	}
	elems := make([]byte, 2*t.Size())
	if err := a.ReadBytes(ctx, nil, elems); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s\n", t.AppendText(nil, elems[:16]), t.AppendText(nil, elems[16:]))
	// Output: (1, 2, 0.5) (3, 4, 0.25)
}

// Small floats, which Go does not have, are read as float32 or as bytes.
func ExampleReadAs() {
	ctx := context.Background()
	float8, err := dtype.Parse("float8_e4m3", nil)
	if err != nil {
		log.Fatal(err)
	}
	a, err := zarr.At(memstore.New(), "weights").CreateArray(ctx, zarr.Spec{Shape: []int64{4}, Type: float8}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := zarr.WriteAs(ctx, a, nil, []float32{1, 0.1, -240, 0.002}); err != nil {
		log.Fatal(err)
	}
	numbers, err := zarr.ReadAs[float32](ctx, a, nil)
	if err != nil {
		log.Fatal(err)
	}
	codes := make([]byte, 4)
	err = a.ReadBytes(ctx, nil, codes)
	fmt.Printf("%v %x %v\n", numbers.Data, codes, err)

	fmt.Println(zarr.WriteAs(ctx, a, selection.Box{{0, 1}}, []float32{1000}))
	// Output:
	// [1 0.1015625 -240 0.001953125] 381df701 <nil>
	// write weights: invalid argument: value [0], 1000.0, does not fit float8_e4m3
}

// Integers are read as another type if every value fits.
func ExampleWriteAs() {
	ctx := context.Background()
	a := counted(ctx) // 1 to 6, of int16
	if err := zarr.WriteAs(ctx, a, selection.Box{{0, 1}, {0, 1}}, []int64{300}); err != nil {
		log.Fatal(err)
	}
	wide, err := zarr.ReadAs[float64](ctx, a, nil)
	fmt.Println(wide.Data, err)
	_, err = zarr.ReadAs[uint8](ctx, a, nil)
	fmt.Println(err)
	// Output:
	// [300 2 3 4 5 6] <nil>
	// read a: invalid argument: element [0 0] of the selection, 300, does not fit uint8
}
