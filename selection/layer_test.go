// SPDX-License-Identifier: Apache-2.0

package selection_test

import (
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// TestLayer cuts random selections into slabs of one layer and checks that no two slabs
// touch the same chunk. If chunks are cut into inner chunks, slabs of one layer of these
// must not touch an inner chunk twice.
func TestLayer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 3).Draw(t, "rank")
		shape, cuts, inner := make([]int64, rank), make([]grid.Cut, rank), make([]grid.Cut, rank)
		sel := make(selection.Basic, rank)
		for i := range shape {
			shape[i] = rapid.Int64Range(1, 12).Draw(t, "length")
			n := rapid.Int64Range(1, 4).Draw(t, "inner")
			cuts[i], inner[i] = grid.Every(n*rapid.Int64Range(1, 3).Draw(t, "chunk")), grid.Every(n)
			start := rapid.Int64Range(0, shape[i]-1).Draw(t, "start")
			stop := rapid.Int64Range(start+1, shape[i]).Draw(t, "stop")
			sel[i] = selection.Stepped(start, stop, rapid.SampledFrom([]int64{1, 1, 2, 3}).Draw(t, "step"))
			if rapid.Bool().Draw(t, "backwards") {
				sel[i] = selection.Stepped(stop-1, start-1, -1)
				if start == 0 {
					sel[i] = selection.Span(start, stop)
				}
			}
		}
		g, err := grid.New(shape, cuts...)
		if err != nil {
			t.Fatal(err)
		}
		fine, err := g.Divided(inner...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := selection.Resolve(sel, shape)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []*grid.Grid{g, fine} {
			chunk, layer := r.Layer(cut, 8)
			if chunk < 8 || layer < chunk {
				t.Fatalf("a chunk of %d bytes, a layer of %d", chunk, layer)
			}
			touchedOnce(t, r, g, fine, cut, layer)
		}
	})
}

// touchedOnce fails if two slabs touch the same chunk of a grid.
func touchedOnce(t *rapid.T, r *selection.Resolved, g, fine, cut *grid.Grid, layer int64) {
	seen := map[string]bool{}
	for places := range r.Slabs(g, 8, layer, fine) {
		part := r.Part(places)
		plan := selection.NewPlan(part, cut)
		p := selection.NewVisit(cut.Rank())
		for plan.Next(p) {
			key := ""
			for _, k := range p.Chunk {
				key += string(rune('0' + k))
			}
			if seen[key] {
				t.Fatalf("chunk %v is touched twice", p.Chunk)
			}
			seen[key] = true
		}
	}
}
