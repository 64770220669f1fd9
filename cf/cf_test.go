// SPDX-License-Identifier: Apache-2.0

package cf_test

import (
	"errors"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// TestStation calls every function for the arrays of the examples. The tests of
// internal/cf look at single cases.
func TestStation(t *testing.T) {
	ctx := t.Context()
	t2m, err := station(ctx).At("t2m").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	times, err := cf.Coordinate(ctx, t2m, "time")
	if err != nil {
		t.Fatal(err)
	}
	defer times.Close()
	if u := cf.UnitsOf(times); u != (cf.Units{Units: "days since 2024-01-01", Calendar: "standard"}) {
		t.Errorf("units %v", u)
	}
	at, in, ok, err := cf.Instants(ctx, times)
	if err != nil || !ok || in != calendar.Standard || len(at) != 91 || at[90].Day-at[0].Day != 90 {
		t.Errorf("%d instants, %v, %t, %v", len(at), in, ok, err)
	}
	items, err := selection.Parser{Names: t2m.DimensionNames(), Lookup: func(dimension string, v selection.Values) (selection.Item, error) {
		return cf.Lookup(ctx, t2m, dimension, v)
	}}.Parse("time=2023-06")
	if !errors.Is(err, cf.ErrEmptyRange) {
		t.Errorf("a month without elements: %v, %v", items, err)
	}
	if err := cf.CheckAxes(ctx, times, t2m, cf.AxisPair{}); err != nil {
		t.Errorf("the axis differs from itself: %v", err)
	}
	packing(t, t2m)
}

// packing packs and unpacks numbers of the temperatures.
func packing(t *testing.T, a *zarr.Array) {
	t.Helper()
	p, err := cf.PackingOf(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if factor, offset := p.Scale(); factor != 0.1 || offset != 10 || p.Type() != dtype.Int16 || len(p.Missing()) != 1 || !p.IsMissing(p.Missing()[0]) {
		t.Errorf("scale %v, offset %v, type %v, missing %v", factor, offset, p.Type(), p.Missing())
	}
	stored, numbers := make([]byte, 4), make([]float64, 2)
	err = p.Pack(stored, []float64{10.5, -3})
	if p.Floats(numbers, stored); err != nil || numbers[0] != 10.5 || numbers[1] != -3 {
		t.Errorf("packed %v (%v)", numbers, err)
	}
	d, err := cf.DecodingOf(t.Context(), a)
	if err != nil || d.Type() != dtype.Float64 || !d.Fits(stored) || d.AsText() != d {
		t.Fatalf("decoding %v, %v", d, err)
	}
	decoded := make([]byte, 16)
	if d.Decode(decoded, stored); d.Format(decoded[:8]) != "10.5" {
		t.Errorf("decoded to %s", d.Format(decoded[:8]))
	}
}

// TestNoDecoding takes an array whose elements are what they are.
func TestNoDecoding(t *testing.T) {
	a, err := zarr.At(memstore.New(), "x").CreateArray(t.Context(), zarr.Spec{Shape: []int64{2}, Type: dtype.Int16}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := cf.DecodingOf(t.Context(), a); d != nil || err != nil {
		t.Errorf("a decoding %v, %v", d, err)
	}
}

// TestTimesAsText decodes days that datetime64 lacks.
func TestTimesAsText(t *testing.T) {
	a, err := zarr.At(memstore.New(), "x").CreateArray(t.Context(), zarr.Spec{
		Shape: []int64{2}, Type: dtype.Int64, Attributes: map[string]any{"units": "days since 0001-01-01"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := cf.DecodingOf(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	day := make([]byte, 8)
	if d.Fits(day) || d.AsText() == d {
		t.Fatal("the year 1 fits into datetime64[ns]")
	}
	if got := d.AsText().DecodeText(day); got != "0001-01-01" {
		t.Errorf("the day is %q", got)
	}
}
