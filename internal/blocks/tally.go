// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"math"

	"varve.dev/zarr/internal/checked"
)

// tally counts what the blocks along an axis read of a line of units. Feed it the blocks
// in order.
type tally struct {
	units   *line
	extent  int64 // elements of the blocks so far
	at      int   // a run of units that starts before the end of the next block
	cells   int64 // blocks
	longest int64 // elements of the longest block
	shared  int64 // borders of blocks that are borders of units, the extent included
	extra   total // encoded length of the units that are cut, once for every cut
}

// tallyOf compares finished blocks with the units.
func tallyOf(blocks, units *line) tally {
	t := tally{units: units}
	for _, r := range blocks.runs {
		t.add(r.length, r.count)
	}
	return t
}

// add counts the next blocks.
func (t *tally) add(length, count int64) {
	b := run{start: t.extent, length: length, count: count}
	t.cells += count
	t.longest = max(t.longest, length)
	t.extent = b.end()
	// Only the unit at the end of a single block matters.
	if count == 1 {
		t.at = t.units.holding(t.extent, t.at)
		t.meet(b, t.extent)
		return
	}
	if count == 0 {
		return
	}
	t.at = t.units.holding(b.start+1, t.at)
	for t.units.runs[t.at].end() < t.extent {
		t.meet(b, t.units.runs[t.at].end())
		t.at++
	}
	t.meet(b, t.extent)
}

// meet counts the borders of b within the present run of units, up to and including hi.
func (t *tally) meet(b run, hi int64) {
	u := t.units.runs[t.at]
	lo := max(b.start, u.start)
	n := b.countBorders(lo, hi)
	if n == 0 {
		return
	}
	shared := commonBorders(b, u, lo, hi).count
	t.shared += shared
	t.extra = t.extra.addProduct(u.stored, n-shared)
}

// pieces returns the number of pairs of a block and a unit that overlap, which is the
// number of cells of their common refinement.
func (t *tally) pieces() int64 { return t.cells + t.units.cells - t.shared }

// read returns the encoded lengths of the units that all blocks read.
func (t *tally) read() total { return t.units.stored.add(t.extra) }

// amplification returns the encoded lengths that are read, divided by those of the units.
func (t *tally) amplification() float64 {
	if t.units.cells == 0 {
		return 1
	}
	return t.read().approx / t.units.stored.approx
}

// blockWeight is the share of a piece that a block counts in [tally.requests].
const blockWeight = 1.0 / 16

// requests returns the number of pieces, and a little more for every block on either
// side. Of two lines with about as many pieces, that with longer blocks makes fewer
// scratch objects.
func (t *tally) requests() float64 {
	return float64(t.pieces()) + float64(blockWeight*float64(t.cells+t.units.cells))
}

// total is a sum of products that may exceed int64.
type total struct {
	exact  int64   // math.MaxInt64 if the number is larger
	approx float64 // the number itself, rounded
}

// count returns n as a total.
func count(n int64) total { return total{n, float64(n)} }

// addProduct returns t + a·b. Neither factor may be negative.
func (t total) addProduct(a, b int64) total {
	// The conversion keeps processors from fusing the product with the sum, which rounds
	// differently.
	t.approx += float64(float64(a) * float64(b))
	p, ok := checked.Mul(a, b)
	if ok {
		t.exact, ok = checked.Add(t.exact, p)
	}
	if !ok {
		t.exact = math.MaxInt64
	}
	return t
}

// times returns t·u.
func (t total) times(u total) total {
	return total{checked.Capped(t.exact, u.exact), t.approx * u.approx}
}

// add returns t + u.
func (t total) add(u total) total {
	s := t.addProduct(u.exact, 1)
	s.approx = t.approx + u.approx
	return s
}
