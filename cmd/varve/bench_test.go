// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/trial"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

func TestBench(t *testing.T) {
	node := fixture(t, "rect_months.zarr")
	out := must(t, "", "bench", node, "--seconds", "0.05")
	for _, want := range []string{"in flight", "usual", "raw", "Bound by "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	for _, c := range []struct {
		sel              []string
		elements, chunks float64
	}{{nil, 366 * 6, 24}, {[]string{"--select", "0:40,5"}, 40, 2}, {[]string{"--select", `{"points": [[0, 365], [0, 5]]}`}, 2, 2}} {
		d := decode(t, must(t, "", append([]string{"bench", node, "--seconds", "0.05", "--json"}, c.sel...)...))
		if d["elements"] != c.elements || d["chunks"] != c.chunks || d["slabs"] != 1.0 || d["because"] == "" || d["bound_by"] == "" {
			t.Errorf("%q: %v", c.sel, d)
		}
		raw, _ := d["raw"].(map[string]any)
		if n, _ := raw["requests"].(float64); n < c.chunks || math.Mod(n, c.chunks) != 0 {
			t.Errorf("%q: raw is %v", c.sel, raw)
		}
		rounds, _ := d["rounds"].([]any)
		for _, r := range rounds {
			m, _ := r.(map[string]any)
			stats, _ := m["stats"].(map[string]any)
			requests, _ := stats["requests"].(map[string]any)
			if n, _ := m["slabs"].(float64); n < 1 || requests["get"] != n*c.chunks || stats["chunks_decoded"] != n*c.chunks || m["bytes"] != n*c.elements*4 {
				t.Errorf("%q: a round is %v", c.sel, m)
			}
		}
		if len(rounds) < 2 {
			t.Errorf("%q: %d rounds", c.sel, len(rounds))
		}
	}
}

func TestBenchOfWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	must(t, "", "create", dir+"/a.zarr", "--shape", "0", "--dtype", "int8")
	must(t, "", "create", dir+"/g.zarr", "--group")
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{dir + "/a.zarr"}, 1, "no elements"},
		{[]string{dir + "/g.zarr"}, 1, "it is a group"},
		{[]string{dir + "/nothing.zarr"}, 1, "nothing is here"},
		{[]string{dir + "/a.zarr", "--select", "9"}, 1, "9"},
		{[]string{dir + "/a.zarr", "--seconds", "0"}, 2, "--seconds"},
		{[]string{dir + "/a.zarr", "--seconds", "NaN"}, 2, "--seconds"},
	} {
		if _, errs, status := execute(t, "", append([]string{"bench"}, c.args...)...); status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("varve bench %q: status %d, %q", c.args, status, errs)
		}
	}
}

// TestBenchOfShards checks that the same ranges are read without decoding, and that fill
// values and text are measured, too.
func TestBenchOfShards(t *testing.T) {
	dir := t.TempDir()
	must(t, "", "create", dir+"/a.zarr", "--shape", "1000", "--dtype", "int32", "--shards", "500", "--chunks", "10", "--index-location", "start")
	must(t, "", "write", dir+"/a.zarr", "--value", "7")
	must(t, "", "create", dir+"/fill.zarr", "--shape", "1000", "--dtype", "int32", "--chunks", "100")
	must(t, "", "create", dir+"/text.zarr", "--shape", "10", "--dtype", "string", "--chunks", "5")
	must(t, "", "write", dir+"/text.zarr", "--value", "abc")
	for name, want := range map[string]float64{"a": 4000, "fill": 4000, "text": 30} {
		d := decode(t, must(t, "", "bench", dir+"/"+name+".zarr", "--seconds", "0.02", "--json"))
		rounds, _ := d["rounds"].([]any)
		for _, r := range rounds {
			m, _ := r.(map[string]any)
			if n, _ := m["slabs"].(float64); m["bytes"] != n*want {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

// TestReplay checks that recorded requests are repeated, byte for byte.
func TestReplay(t *testing.T) {
	ctx, m, counter := t.Context(), memstore.New(), new(observe.Counter)
	h := zarr.At(m, "")
	for i, inner := range [][]grid.Cut{nil, {grid.Every(10)}} {
		path := strconv.Itoa(i)
		a, err := h.At(path).CreateArray(ctx, zarr.Spec{
			Shape: []int64{1000}, Type: dtype.Uint16, Chunks: []grid.Cut{grid.Every(100)}, InnerChunks: inner,
		}, &zarr.CreateOptions{Options: zarr.Options{Write: true}})
		if err != nil {
			t.Fatal(err)
		}
		if err := zarr.Fill(ctx, a, nil, uint16(9)); err != nil {
			t.Fatal(err)
		}
		r := &trial.Recorder{Store: m}
		b, err := zarr.At(r, path).OpenArray(ctx, &zarr.Options{Observer: counter})
		if err != nil {
			t.Fatal(err)
		}
		before := counter.Stats()
		r.Begin()
		if _, err := zarr.Read[uint16](ctx, b, nil); err != nil {
			t.Fatal(err)
		}
		r.End()
		want := counter.Stats().Sub(before).Read
		requests, bytes, err := r.Replay(ctx, 3)
		if err != nil || requests != want.Times || bytes != want.Bytes || requests == 0 {
			t.Errorf("%d: %d requests of %d bytes, want %d of %d (%v)", i, requests, bytes, want.Times, want.Bytes, err)
		}
		if _, opens := store.As[store.Opener](r); !opens {
			t.Error("the recorder lacks a power of the store")
		}
		if _, err := zarr.Read[uint16](ctx, b, nil); err != nil {
			t.Fatal(err)
		}
		if again, _, _ := r.Replay(ctx, 1); again != requests {
			t.Errorf("%d: what came after the end is noted, too", i)
		}
	}
}

func TestLevels(t *testing.T) {
	for n, want := range map[int][]level{
		1: {{1, 1}, {0, 1}}, 2: {{1, 1}, {2, 2}, {0, 2}}, 6: {{1, 1}, {2, 2}, {4, 4}, {6, 6}, {0, 6}},
	} {
		if got := levelsOf(n); !slices.Equal(got, want) {
			t.Errorf("%d processors: %v, want %v", n, got, want)
		}
	}
}

// TestSlabFor checks the bounds of a slab for chunks of all sizes.
func TestSlabFor(t *testing.T) {
	for _, chunk := range []int64{1, 1 << 10, 1 << 20, 100 << 20, 1 << 29, 1 << 40} {
		a, err := zarr.At(memstore.New(), "").CreateArray(t.Context(), zarr.Spec{
			Shape: []int64{1 << 41}, Type: dtype.Uint8, Chunks: []grid.Cut{grid.Every(chunk)},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := source.New(t.Context(), a, "", false)
		if err != nil {
			t.Fatal(err)
		}
		if n := slabFor(s); n < min(chunk, mostSlab) || n > max(export.SlabBytes, min(chunk, mostSlab)) || n < min(leastSlab, mostRequested*chunk) || n/chunk > mostRequested && chunk < leastSlab/mostRequested {
			t.Errorf("chunks of %d bytes: slabs of %d", chunk, n)
		}
	}
}
