// SPDX-License-Identifier: Apache-2.0

package blocks

import "math"

// chain has the blocks of every stage, one line per axis.
type chain [][]*line

const (
	// mostTurns bounds how often read blocks and write blocks are chosen in turn.
	mostTurns = 6
	// leastGain is what another turn must gain, as a factor.
	leastGain = 0.99
)

// ends returns read blocks and write blocks of at most so many elements that cut each
// other into few pieces.
func ends(source, target []*line, most int64) (read, write []*line) {
	// Each choice is the best for the other one. To choose in turn may end in a local
	// minimum, so begin on both sides.
	r, w, n := inTurn(source, target, most)
	x, s, m := inTurn(target, source, most)
	if m < n {
		return s, x
	}
	return r, w
}

// inTurn chooses the first blocks with regard to the second units, then the second blocks
// with regard to the first ones, and so on. It returns the weight of both, too.
func inTurn(first, second []*line, most int64) (a, b []*line, weight float64) {
	units := [2][]*line{first, second}
	blocks := units
	for turn := range mostTurns {
		k := turn % 2
		chosen, w := choose(units[k], blocks[1-k], most, (*tally).requests)
		if turn > 1 && w > weight*leastGain {
			break
		}
		blocks[k], weight = chosen, w
	}
	return blocks[0], blocks[1], weight
}

// between returns a chain from read blocks to write blocks with so many stages. The
// longest blocks of the stages between are spaced geometrically along each axis. So their
// volumes lie between those of the ends, but for rounding.
func between(read, write []*line, stages int) chain {
	c := make(chain, stages)
	c[0], c[stages-1] = read, write
	for k := 1; k < stages-1; k++ {
		c[k] = make([]*line, len(read))
	}
	for i := range read {
		c.space(i)
	}
	return c
}

// space sets the blocks of the stages between along one axis.
func (c chain) space(axis int) {
	last := len(c) - 1
	from, to := c[0][axis], c[last][axis]
	if from.longest < to.longest {
		// Each stage merges blocks of the one before it, so that all its borders are
		// shared. Only those of the last stage may not be.
		for k := 1; k < last; k++ {
			c[k][axis] = c[k-1][axis].merged(geometric(from.longest, to.longest, k, last))
		}
		return
	}
	// Towards shorter blocks it is the other way round.
	for k := last - 1; k > 0; k-- {
		c[k][axis] = c[k+1][axis].merged(geometric(from.longest, to.longest, k, last))
	}
}

// geometric returns the largest integer x with x^n <= from^(n-k) · to^k, up to rounding.
// n is below [mostStages], so that float64 holds the products. A root would round
// differently between processors.
func geometric(from, to int64, k, n int) int64 {
	limit := 1.0
	for i := range n {
		if i < k {
			limit *= float64(to)
		} else {
			limit *= float64(from)
		}
	}
	lo, hi := min(from, to), max(from, to)
	for lo < hi {
		x := lo + (hi-lo)/2 + (hi-lo)%2
		p := 1.0
		for range n {
			p *= float64(x)
		}
		if p <= limit {
			lo = x
		} else {
			hi = x - 1
		}
	}
	return lo
}

// fits reports whether no block of any stage has more elements than that.
func (c chain) fits(most int64) bool {
	for _, blocks := range c {
		n := count(1)
		for _, l := range blocks {
			n = n.times(count(l.longest))
		}
		// The second condition matters if the budget is the largest int64.
		if n.exact > most || n.approx >= math.MaxInt64 {
			return false
		}
	}
	return true
}
