// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// FuzzChunking cuts an array by a text. Accepted chunks must cover the array, and give
// the same text again.
func FuzzChunking(f *testing.F) {
	for _, text := range []string{
		"auto", "8MiB", "1.5 kB", "10", "-1", "[10,20]", "[[10,20,30],25]", "[[[25,4],10],[50,50]]", "calendar:month", "calendar:year",
		"groups:x", `["calendar:month",7]`, `[[1,3],"groups:x"]`, "bounded:[4,-1]", "bounded:[[4]]", "[[1,[9,9223372036854775807]],1]",
	} {
		f.Add(text, int64(60), int64(100), []byte("20\n40"))
	}
	f.Add("groups:x", int64(3), int64(1), []byte("a\nb\nb\n"))
	f.Add("groups:x", int64(3), int64(1), []byte(`["a","b","b"]`))
	f.Add("groups:x", int64(3), int64(1), []byte("\x93NUMPY\x01\x00"))
	f.Add("calendar:year", int64(1)<<62, int64(0), []byte(nil))
	f.Fuzz(func(t *testing.T, text string, n, m int64, file []byte) {
		c, err := chunking.Parse(text)
		if err != nil {
			return
		}
		shape := []int64{max(n, 0), max(m, 0)}
		when := &growth.Times{Start: "2024-02-20", Step: "1d"}
		read := func(string) ([]byte, error) { return file, nil }
		g, err := c.Grid(t.Context(), shape, dtype.Int16, chunking.Site{Location: "a", Times: when, ReadFile: read, Options: grid.ParseOptions{}})
		if err != nil {
			if k := zarr.KindOf(err); k != "invalid-argument" && k != "overflow" && k != "unsupported" && k != "limit" {
				t.Fatalf("%q: kind %s of %v", text, k, err)
			}
			return
		}
		if !slices.Equal(g.Shape(), shape) {
			t.Fatalf("%q: shape %v", text, g.Shape())
		}
		again, err := grid.Parse(shape, g.Name(), g.AppendConfiguration(nil), nil)
		if err != nil || string(again.AppendConfiguration(nil)) != string(g.AppendConfiguration(nil)) || again.Name() != g.Name() {
			t.Fatalf("%q: %v (%v), then %v", text, g, err, again)
		}
		for i, extent := range shape {
			if a := g.Axis(i); a.Extent() != extent || a.Chunks() > 0 && a.Covered() < extent {
				t.Fatalf("%q: axis %d covers %d of %d", text, i, a.Covered(), extent)
			}
		}
	})
}

// FuzzPolicy grows an axis by a policy. The old edges must stay, and the new ones must
// cover the new elements.
func FuzzPolicy(f *testing.F) {
	for _, text := range []string{
		"append-one", "repeat-last", "fixed:7", "pattern:31,28,31", "preplanned:[[7,4],3]", "calendar:month", "calendar:year",
		"fixed:9223372036854775807", "pattern:1,9223372036854775807", "preplanned:[[1,9223372036854775807]]", "calendar:", "pattern:,",
	} {
		f.Add(text, int64(2), int64(30), true)
		f.Add(text, int64(1), int64(1000), false)
	}
	f.Fuzz(func(t *testing.T, text string, edge, more int64, aligned bool) {
		p, err := growth.ParsePolicy(text)
		if err != nil {
			return
		}
		if edge < 1 || edge > 1<<40 || more < 0 || more > 1<<16 {
			return
		}
		when := &growth.Times{Start: "2024-02-20", Step: "1d"}
		l, err := when.Timeline(t.Context(), p.Unit, "a", nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Buckets(edge)
		if err != nil {
			t.Fatal(err)
		}
		axis, err := grid.NewAxis(edge, grid.Edges(edge))
		if err == nil && aligned {
			axis, err = grid.NewAxis(10, grid.Edges(10))
		}
		if err != nil {
			t.Fatal(err)
		}
		grown, err := axis.Grown(axis.Extent()+more, p.Along(growth.Timeline{}, b, axis.Extent()))
		if err != nil {
			if !errors.Is(err, grid.ErrInvalid) && !errors.Is(err, grid.ErrOverflow) && !errors.Is(err, grid.ErrUnsupported) && !errors.Is(err, zarr.ErrInvalidArgument) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		first, ok := grown.Cell(0)
		if !ok || first.Edge != axis.Covered() || grown.Covered() < grown.Extent() || grown.Extent() != axis.Extent()+more {
			t.Fatalf("%q: %v became %v", text, axis, grown)
		}
		if _, err := growth.ParsePolicy(p.Along(growth.Timeline{}, b, 0).String()); err != nil {
			t.Fatalf("%q is written as %q: %v", text, p.Along(growth.Timeline{}, b, 0), err)
		}
	})
}

// FuzzSelect parses selections. A selection that an array accepts must not be wrong
// usage, and none may panic.
func FuzzSelect(f *testing.F) {
	for _, text := range []string{"", "0:10, ..., 3", "time=::-1", `{"orthogonal": [[0,2,5], "1:5"]}`, `{"points": [[0,1],[3,4]]}`, `{"blocks": ["0", "1:3"]}`,
		`{"fields": ["a"], "basic": "0:5"}`, `{"basic": "x=1"}`, `{"mask": "x"}`, "0\v", "x=...", "=1", `{"basic": "{}"}`} {
		f.Add(text)
	}
	h := zarr.At(memstore.New(), "")
	a, err := h.At("").CreateArray(f.Context(), zarr.Spec{Shape: []int64{20, 7}, Type: dtype.Int8, DimensionNames: []string{"time", "x"}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		usage := selection.Syntax(text)
		if v, err := source.Selected(t.Context(), a, text); err == nil && usage != nil {
			t.Errorf("%q selects %v, and is wrong usage: %v", text, v.Shape(), usage)
		}
	})
}
