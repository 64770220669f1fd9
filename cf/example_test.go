// SPDX-License-Identifier: Apache-2.0

package cf_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memstore"
)

// station makes a group with packed temperatures of the first months of 2024, and their
// time coordinate. The temperature of day i is 10 + i/10 degrees; that of day 3 is
// missing.
func station(ctx context.Context) *zarr.Group {
	g, err := zarr.At(memstore.New(), "").CreateGroup(ctx, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	chunks := []grid.Cut{grid.Edges(31, 29, 31)} // January, February, March
	time, err := g.At("time").CreateArray(ctx, zarr.Spec{
		Shape: []int64{91}, Type: dtype.Int32, Chunks: chunks, DimensionNames: []string{"time"},
		Attributes: map[string]any{"units": "days since 2024-01-01", "calendar": "standard"},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	t2m, err := g.At("t2m").CreateArray(ctx, zarr.Spec{
		Shape: []int64{91}, Type: dtype.Int16, Chunks: chunks, DimensionNames: []string{"time"},
		Attributes: map[string]any{"units": "degC", "scale_factor": 0.1, "add_offset": 10, "missing_value": -999},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	days, temperatures := make([]int32, 91), make([]int16, 91)
	for i := range days {
		days[i], temperatures[i] = int32(i), int16(i)
	}
	temperatures[3] = -999
	if err := zarr.Write(ctx, time, nil, days); err != nil {
		log.Fatal(err)
	}
	if err := zarr.Write(ctx, t2m, nil, temperatures); err != nil {
		log.Fatal(err)
	}
	return g
}

// Temperatures are stored as integers. They are selected by date and read in degrees.
func Example() {
	ctx := context.Background()
	g := station(ctx)
	t2m, err := g.At("t2m").OpenArray(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	week, err := cf.Select(ctx, t2m, "time=2024-01-02..2024-01-05")
	if err != nil {
		log.Fatal(err)
	}
	degrees, err := cf.ReadFloats(ctx, week, nil)
	fmt.Printf("%.1f %v\n", degrees.Data, err)
	// Output: [10.1 10.2 NaN 10.4] <nil>
}

// Numbers of days are read as times.
func ExampleReadTimes() {
	ctx := context.Background()
	time, err := station(ctx).At("time").OpenArray(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	february, err := cf.Select(ctx, time, "time=2024-02")
	if err != nil {
		log.Fatal(err)
	}
	t, err := cf.ReadTimes(ctx, february, nil)
	fmt.Println(len(t.Data), t.Data[28].Format("2 January 2006"), err)
	// Output: 29 29 February 2024 <nil>
}

// Numbers are packed as the attributes of the array describe.
func ExampleWriteFloats() {
	ctx := context.Background()
	t2m, err := station(ctx).At("t2m").OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		log.Fatal(err)
	}
	day, err := cf.Select(ctx, t2m, "time=2024-03-30..2024-03-31")
	if err != nil {
		log.Fatal(err)
	}
	if err := cf.WriteFloats(ctx, day, nil, []float64{-1.26, math.NaN()}); err != nil {
		log.Fatal(err)
	}
	stored, err := zarr.Read[int16](ctx, day, nil)
	fmt.Println(stored.Data, err)
	fmt.Println(cf.WriteFloats(ctx, day, nil, []float64{0, 9000}))
	// Output:
	// [-113 -999] <nil>
	// array t2m: number 1: 9000 is stored as 89900, which int16 does not have
}

// Go has no type for calendars with twelve months of 30 days, so their times are text.
func ExampleDecodingOf() {
	ctx := context.Background()
	a, err := zarr.At(memstore.New(), "time").CreateArray(ctx, zarr.Spec{
		Shape: []int64{2}, Type: dtype.Float64,
		Attributes: map[string]any{"units": "days since 2000-02-28", "calendar": "360_day"},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := zarr.Write(ctx, a, nil, []float64{2, 3.5}); err != nil {
		log.Fatal(err)
	}
	d, err := cf.DecodingOf(ctx, a)
	if err != nil {
		log.Fatal(err)
	}
	stored := make([]byte, 2*8)
	if err := a.ReadBytes(ctx, nil, stored); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Type(), d.DecodeText(stored[:8]), d.DecodeText(stored[8:]))
	// Output: string 2000-02-30 2000-03-01T12:00:00
}
