// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

// TestAmplificationIsLow compares one stage with all pairs of lengths up to which the
// units along two axes can be merged.
func TestAmplificationIsLow(t *testing.T) {
	worst, sum, n := 1.0, 0.0, 0
	rapid.Check(t, func(t *rapid.T) {
		var source, target []*line
		for range 2 {
			extent := rapid.Int64Range(1, 100).Draw(t, "extent")
			for _, lines := range []*[]*line{&source, &target} {
				a := drawLine(t, extent)
				if rapid.Bool().Draw(t, "regular") {
					a, _ = grid.NewAxis(extent, grid.Every(rapid.Int64Range(1, 12).Draw(t, "step")))
				}
				*lines = append(*lines, mustLine(t, a))
			}
		}
		most := volume(target) * rapid.Int64Range(10, 200).Draw(t, "budget") / 10
		if rapid.Bool().Draw(t, "odd") {
			most += rapid.Int64Range(0, 20).Draw(t, "more")
		}
		blocks, weight := choose(target, source, most, (*tally).amplification)
		if volume(blocks) > most {
			t.Fatalf("blocks of %d elements, at most %d fit", volume(blocks), most)
		}
		got := product(source, blocks, (*tally).amplification)
		if d := got - weight; d > 1e-9 || d < -1e-9 {
			t.Fatalf("amplification %g, want %g", weight, got)
		}
		best := bestOfMerges(source, target, most)
		worst = max(worst, got/best)
		sum += got / best
		n++
	})
	t.Logf("at most %.3f times as much as the best pair, %.4f on average", worst, sum/float64(n))
	if worst > 1.5 || sum > 1.01*float64(n) {
		t.Errorf("%.3f times as much as the best pair, %.3f on average", worst, sum/float64(n))
	}
}

// bestOfMerges returns the least amplification of two axes.
func bestOfMerges(source, target []*line, most int64) float64 {
	best := -1.0
	for l := target[0].longest; l <= target[0].extent; l++ {
		first := target[0].mergeUpTo(l)
		rest := most / first.longest
		for m := target[1].longest; m <= min(rest, target[1].extent); m++ {
			a := product(source, []*line{first, target[1].mergeUpTo(m)}, (*tally).amplification)
			if best < 0 || a < best {
				best = a
			}
		}
	}
	return best
}

// TestEndsAreGood compares read blocks and write blocks with all pairs of them that fit.
func TestEndsAreGood(t *testing.T) {
	worst, sum, n := 1.0, 0.0, 0
	rapid.Check(t, func(t *rapid.T) {
		var units [2][]*line
		for range 2 {
			extent := rapid.Int64Range(1, 30).Draw(t, "extent")
			for k := range units {
				l, step := new(line), rapid.SampledFrom([]int64{1, 2, 3, 5, 8, extent}).Draw(t, "step")
				l.addClipped(step, extent, step, extent)
				units[k] = append(units[k], l)
			}
		}
		most := max(volume(units[0]), volume(units[1])) * rapid.Int64Range(10, 60).Draw(t, "budget") / 10
		read, write := endBlocks(units[0], units[1], most)
		got := product(read, write, (*tally).requests)
		best := got
		writes := merges(units[1], most)
		for _, r := range merges(units[0], most) {
			for _, w := range writes {
				best = min(best, product(r, w, (*tally).requests))
			}
		}
		worst = max(worst, got/best)
		sum += got / best
		n++
	})
	t.Logf("at most %.3f times as many requests as the best pair, %.4f on average", worst, sum/float64(n))
	if worst > 1.7 || sum > 1.02*float64(n) {
		t.Errorf("%.3f times as many requests as the best pair, %.3f on average", worst, sum/float64(n))
	}
}

// merges returns the ways to merge units along two axes that fit.
func merges(units []*line, most int64) [][]*line {
	var all [][]*line
	for l := units[0].longest; l <= units[0].extent; l++ {
		for m := units[1].longest; m <= units[1].extent; m++ {
			b := []*line{units[0].mergeUpTo(l), units[1].mergeUpTo(m)}
			// Other lengths give the same blocks again.
			if b[0].longest == l && b[1].longest == m && volume(b) <= most {
				all = append(all, b)
			}
		}
	}
	return all
}

// product multiplies the weights of finished blocks along all axes.
func product(units, blocks []*line, w weigh) float64 {
	p := 1.0
	for i := range blocks {
		t := tallyOf(blocks[i], units[i])
		p *= w(&t)
	}
	return p
}
