// SPDX-License-Identifier: Apache-2.0

// Dailyfiles appends one file per day to an archive. A file holds the fields of a day
// as 32-bit floats in the byte order of this machine: HOURS × LAT × LON. Every chunk is
// a month of the calendar, and the days of the month fill it. The array of times grows
// in the same transaction.
//
//	dailyfiles era5.zarr 2025-01-01.raw 2025-01-02.raw
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"math"
	"os"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

// The fields of the files.
const hours, lat, lon = 24, 18, 36

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: dailyfiles ARCHIVE FILE …")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, archive string, files []string) error {
	g, err := open(ctx, archive)
	if err != nil {
		return err
	}
	defer g.Close()
	steps, err := calendar.ParseSteps("2025-01-01", "1h", "standard")
	if err != nil {
		return err
	}
	months := &zarr.AppendOptions{Grow: grid.ByBoundaries("calendar:month", steps.Buckets(calendar.Month).Next)}
	for _, name := range files {
		if err := appendDay(ctx, g, name, months); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// open opens the archive, or creates it without elements. The grid then already has the
// chunk of January, and the first appends fill it.
func open(ctx context.Context, archive string) (*zarr.Group, error) {
	g, err := zarr.OpenGroup(ctx, archive, &zarr.Options{Write: true})
	if !errors.Is(err, fs.ErrNotExist) {
		return g, err
	}
	if g, err = zarr.CreateGroup(ctx, archive, nil, nil); err != nil {
		return nil, err
	}
	for name, spec := range map[string]zarr.Spec{
		"t2m": {
			Shape: []int64{0, lat, lon}, Type: dtype.Float32, Chunks: []grid.Cut{grid.Edges(744), grid.Every(lat), grid.Every(lon)},
			DimensionNames: []string{"time", "lat", "lon"}, FillValue: zarr.FillOf(math.NaN()),
		},
		"time": {
			Shape: []int64{0}, Type: dtype.Int64, Chunks: grid.Chunks(8784),
			DimensionNames: []string{"time"}, Attributes: map[string]any{"units": "hours since 2025-01-01"},
		},
	} {
		if _, err := g.At(name).CreateArray(ctx, spec, nil); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// appendDay appends one file and its times. After a crash, both arrays have the day or
// neither has it.
func appendDay(ctx context.Context, g *zarr.Group, name string, months *zarr.AppendOptions) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	a, err := g.At("time").OpenArray(ctx, nil)
	if err != nil {
		return err
	}
	times := make([]int64, hours)
	for i := range times {
		// The unit is hours since the first element.
		times[i] = a.Shape()[0] + int64(i)
	}
	fields := zarr.Addition{Path: "t2m", From: zarr.SourceAt(f, hours, lat, lon), Options: months}
	return g.Append(ctx, fields, zarr.Add("time", 0, times, nil))
}
