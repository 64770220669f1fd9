// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
)

// TestPlan compares the numbers of tasks with the plans for empty arrays of the whole
// shape. The command prints the same:
//
//	varve create era.zarr --shape 5,350640,137,721,1440 --dtype float32 --chunks 1,16,1,721,1440
//	varve rechunk era.zarr --chunks 1,8766,1,43,44 --memory 32GiB --dry-run --json
func TestPlan(t *testing.T) {
	for _, o := range []objects{chunks, shards, large} {
		spec := zarr.Spec{Shape: shape, Type: dtype.Float32, Chunks: every(o.source)}
		r := rechunk.Rechunking{Chunks: every(o.target)}
		if o.name != chunks.name {
			spec.InnerChunks, r.Inner = every(unit), every([]int64{1, 8766, 1, 1, 1})
		}
		a, err := zarr.At(memstore.New(), "a").CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := rechunk.NewPlan(t.Context(), a, r, &rechunk.Options{Memory: 32 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if s := p.Stages; len(s) != 2 || s[0].Tasks != o.tasks[0] || s[1].Tasks != o.tasks[1] {
			t.Errorf("%s: the stages %v, want tasks %v", o.name, s, o.tasks)
		}
	}
}

func every(lengths []int64) []grid.Cut {
	cuts := make([]grid.Cut, len(lengths))
	for i, n := range lengths {
		cuts[i] = grid.Every(n)
	}
	return cuts
}

// TestRechunking checks the objects of a rechunking, and that each stage moves all bytes
// once.
func TestRechunking(t *testing.T) {
	c := quiet(t)
	w := rechunking(&c, chunks)
	if w.sources != 5*21915*137 || w.targets != 5*40*137*17*33 || w.bytes < 0.99e15 {
		t.Errorf("%d sources, %d targets, %g bytes", w.sources, w.targets, w.bytes)
	}
	read, write := &w.stages[0], &w.stages[1]
	for k, moved := range []float64{read.each.out * float64(read.tasks), write.each.in * float64(write.tasks)} {
		if !near(moved/w.bytes, 1) {
			t.Errorf("stage %d moves %g of the bytes", k, moved/w.bytes)
		}
	}
	if puts := float64(write.each.puts) * float64(write.tasks); puts < float64(w.targets) || puts > 1.05*float64(w.targets) {
		t.Errorf("%g writes of %d chunks", puts, w.targets)
	}
}

// TestPairs compares the number of pairs with that of all pairs that are tried.
func TestPairs(t *testing.T) {
	for extent := int64(1); extent < 40; extent++ {
		for a := int64(1); a < 12; a++ {
			for b := int64(1); b < 12; b++ {
				want := int64(0)
				for i := int64(0); i < extent; i += a {
					for k := int64(0); k < extent; k += b {
						if max(i, k) < min(i+a, k+b, extent) {
							want++
						}
					}
				}
				if n := pairs(extent, a, b); n != want {
					t.Fatalf("%d in chunks of %d and %d: %d pairs, want %d", extent, a, b, n, want)
				}
			}
		}
	}
}

// TestParts checks that the steps of a load add up to it.
func TestParts(t *testing.T) {
	l := load{in: 7, out: 9, compute: 3, gets: 1001, puts: 13, pages: 30001, pagesAtOnce: 2, records: 5, looks: 3, changes: 7}
	n := l.steps()
	var sum load
	for k := range n {
		p := l.part(k, n)
		sum.in, sum.compute = sum.in+p.in, sum.compute+p.compute
		sum.gets, sum.puts, sum.pages = sum.gets+p.gets, sum.puts+p.puts, sum.pages+p.pages
		sum.records, sum.looks, sum.changes = sum.records+p.records, sum.looks+p.looks, sum.changes+p.changes
	}
	if !near(sum.in, l.in) || !near(sum.compute, l.compute) || sum.gets != l.gets || sum.puts != l.puts || sum.pages != l.pages ||
		sum.records != l.records || sum.looks != l.looks || sum.changes != l.changes || n != 7 {
		t.Errorf("%d steps: %+v", n, sum)
	}
}
