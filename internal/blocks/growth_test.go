// SPDX-License-Identifier: Apache-2.0

package blocks_test

import (
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
)

// TestGrownAgainstModel plans for a part of an array, and executes the plan that follows
// from it for the whole. Blocks before the old end are the same.
func TestGrownAgainstModel(t *testing.T) {
	var kept, grown, unfit int
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		p.options.Parts = nil
		shape := p.source.Shape()
		box := make(grid.Box, len(shape))
		for i, n := range shape {
			if n == 0 {
				return
			}
			// Mostly, one axis has grown.
			if box[i].Stop = n; rapid.IntRange(0, 1+i).Draw(t, "grows") == 0 {
				box[i].Stop = rapid.Int64Range(1, n).Draw(t, "old extent")
			}
		}
		source, err := p.source.Restrict(box)
		if err != nil {
			t.Fatal(err)
		}
		target, err := p.target.Restrict(box)
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(2, 6).Draw(t, "stages")
		memory := p.size * max(1, largest(p.source), largest(p.target))
		p.memory = max(p.memory, memory)
		old, err := blocks.Staged(source, target, p.size, p.memory, n, p.options)
		if err != nil || old == nil {
			return
		}
		plan, err := old.Grown(p.source, p.target, p.size, p.memory, p.options)
		if err != nil {
			unfit++
			return
		}
		grown++
		for k, s := range plan.Stages {
			for i := range shape {
				a, b := old.Stages[k].Blocks.Axis(i), s.Blocks.Axis(i)
				for c := range a.Chunks() - 1 {
					was, _ := a.Cell(c)
					is, _ := b.Cell(c)
					if was.Start != is.Start || was.Logical != is.Logical {
						t.Fatalf("stage %d, axis %d: block %d was %+v and is %+v", k, i, c, was, is)
					}
					kept++
				}
			}
		}
		(&machine{t: t, p: p, plan: plan}).run()
	})
	if grown < 5*unfit/4 || kept == 0 {
		t.Errorf("%d plans, %d kept blocks; %d plans do not fit", grown, kept, unfit)
	}
}
