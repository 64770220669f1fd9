// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"os"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// durable are the durabilities of a local store: the default of Varve, and that of
// zarr-python.
var durable = []struct {
	what string
	d    store.Durability
}{{"local, synced", store.Sync}, {"local, not synced", store.Flush}}

// shrinks removes one element, which is a chunk, from arrays of many chunks. Only the
// last chunks are stored.
func (b *timeTable) shrinks() {
	const chunks, rounds = 10_000_000, 20
	for _, g := range []struct {
		what   string
		cut    grid.Cut
		rounds int // of zarr-python
	}{{"10^7 regular chunks", grid.Every(1), rounds}, {"a run of 10^7 edges", grid.Runs(grid.Run{Length: 1, Count: chunks}), 1}} {
		fresh := func() string {
			path := b.array([]int64{chunks}, g.cut)
			b.put(path, selection.Box{{chunks - rounds, chunks}})
			return path
		}
		measure := func(a *zarr.Array) float64 {
			defer a.Close()
			return best(rounds, 1, func() { check(b.T, a.Resize(b.Context(), []int64{a.Shape()[0] - 1}, nil)) })
		}
		r := timeRequest{Op: "shrink", Path: fresh(), Rounds: g.rounds, Times: 1}
		python := b.zarr(r)
		for _, way := range durable {
			b.seconds(g.what+": shrink by one, "+way.what, measure(b.open(fresh(), way.d)), python)
		}
		r.Path, r.Memory = fresh(), true
		b.seconds(g.what+": shrink by one, memory", measure(b.writable(r.Path)), b.zarr(r))
	}
}

// writable opens a copy of an array in memory.
func (b *timeTable) writable(path string) *zarr.Array {
	a, err := b.loaded(path).At("").OpenArray(b.Context(), &zarr.Options{Write: true})
	check(b.T, err)
	return a
}

// appends appends a chunk to an open array of a million edges.
func (b *timeTable) appends() {
	lengths, extent := randomEdges()
	fresh := func() string { return b.array([]int64{extent}, grid.Edges(lengths...)) }
	data := slices.Repeat([]float32{1}, 500)
	what := "10^6 random edges: append a chunk, "
	measure := func(a *zarr.Array) float64 {
		defer a.Close()
		return best(20, 1, func() { check(b.T, zarr.Append(b.Context(), a, 0, data, nil)) })
	}
	r := timeRequest{Op: "append", Path: fresh(), Rounds: 8, Times: 1, Length: int64(len(data))}
	python := b.zarr(r)
	for _, way := range durable {
		b.seconds(what+way.what, measure(b.open(fresh(), way.d)), python)
	}
	r.Path, r.Memory = fresh(), true
	b.seconds(what+"memory", measure(b.writable(r.Path)), b.zarr(r))
	b.traffic("10^6 random edges: append a chunk", fresh(), fresh(), data, int64(len(data)))
}

// days appends a day of 90 × 180 values to eighty years and a half. The chunks have 365
// days, and the last year is one half-full chunk or is cut into days.
func (b *timeTable) days() {
	const past, half, lat, lon = 80 * 365, 182, 90, 180
	data := slices.Repeat([]float32{2}, lat*lon)
	for _, g := range []struct {
		what string
		cut  grid.Cut
	}{
		{"a day on 80 years, 365 days a chunk", grid.Every(365)},
		{"a day on 80 years, listed: years, then days", grid.Runs(grid.Run{Length: 365, Count: 80}, grid.Run{Length: 1, Count: half})},
	} {
		fresh := func() string {
			path := b.array([]int64{past + half, lat, lon}, g.cut, grid.Every(lat), grid.Every(lon))
			b.put(path, selection.Box{{past, past + half}, {0, lat}, {0, lon}})
			return path
		}
		python := b.zarr(timeRequest{Op: "append", Path: fresh(), Rounds: 10, Times: 1, Length: 1})
		for _, way := range durable {
			a := b.open(fresh(), way.d)
			b.seconds(g.what+": append, "+way.what, best(20, 1, func() { check(b.T, zarr.Append(b.Context(), a, 0, data, nil)) }), python)
			check(b.T, a.Close())
		}
		b.traffic(g.what+": append", fresh(), fresh(), data, 1)
	}
}

// traffic counts the bytes that one append reads and writes, if the system counts them.
func (b *timeTable) traffic(what, mine, other string, data []float32, length int64) {
	if _, err := os.Stat("/proc/self/io"); err != nil {
		return
	}
	a := b.open(mine, store.Sync)
	defer a.Close()
	first, before := b.moved(), b.moved()
	check(b.T, zarr.Append(b.Context(), a, 0, data, nil))
	after := b.moved()
	python := b.zarr(timeRequest{Op: "traffic", Path: other, Length: length})
	for i, p := range []float64{python.Read, python.Written} {
		count := after[i] - before[i] - (before[i] - first[i]) // reading the counters counts as well
		b.sizes(what+", "+[]string{"bytes read", "bytes written"}[i], count, p)
	}
}

// moved returns the bytes that this process has read and written, as counted by Linux.
func (b *timeTable) moved() (bytes [2]float64) {
	text, err := os.ReadFile("/proc/self/io")
	check(b.T, err)
	_, err = fmt.Sscanf(string(text), "rchar: %f\nwchar: %f\n", &bytes[0], &bytes[1])
	check(b.T, err)
	return bytes
}
