// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"fmt"
	"math"

	"varve.dev/zarr/grid"
)

// Place is where a stage reads from or writes to.
type Place int

const (
	// Array stands for units of the source or of the target.
	Array Place = iota
	// Scratch stands for scratch objects, one for each block of the stage that writes
	// them.
	Scratch
)

// String returns "array" or "scratch".
func (p Place) String() string {
	if p == Scratch {
		return "scratch"
	}
	return "array"
}

// Stage is one pass over the array. Numbers above the largest int64 are given as that.
type Stage struct {
	// Blocks cuts the array into blocks. Its chunks, in C order, are the tasks.
	Blocks *grid.Grid
	// From and To are what the blocks read and write.
	From, To Place
	// Tasks is the number of blocks.
	Tasks int64
	// Reads is the number of read requests: one for each unit or piece of a scratch
	// object that a block touches.
	Reads int64
	// Writes is the number of objects that are written.
	Writes int64
	// BytesRead is the number of bytes that the requests return, decoded. A unit, or
	// a part of [Options.Parts], counts with its encoded length, as often as it is read.
	BytesRead int64
	// BytesWritten is the number of bytes of the objects, before they are encoded.
	BytesWritten int64
	// Amplification is BytesRead divided by the bytes of all units or pieces.
	Amplification float64
	// LargestBlock is the number of bytes of the largest block within the array.
	LargestBlock int64
}

// Index sets index, which has one number per axis, to the block of a task.
func (s *Stage) Index(task int64, index []int64) {
	for i := len(index) - 1; i >= 0; i-- {
		n := s.Blocks.Axis(i).Chunks()
		index[i] = task % n
		task /= n
	}
}

// draft is a chain with its figures. The grids of the stages are not made yet.
type draft struct {
	chain  chain
	stages []Stage
	cost   float64
}

// measureChain returns a draft of a chain.
func (p *planner) measureChain(c chain) draft {
	d := draft{chain: c, stages: make([]Stage, len(c))}
	for k := range c {
		d.cost += p.measure(c, k, &d.stages[k])
	}
	return d
}

// measure sets the figures of one stage and returns its cost.
func (p *planner) measure(c chain, stage int, s *Stage) float64 {
	from, parts := p.source, p.parts
	if stage > 0 {
		from, parts, s.From = c[stage-1], c[stage-1], Scratch
	}
	tasks, reads, read, elements := count(1), count(1), count(p.size), count(p.size)
	s.Amplification = 1
	for i, l := range c[stage] {
		t := tallyOf(l, from[i])
		tasks = tasks.times(count(l.cells))
		reads = reads.times(count(t.pieces()))
		if from[i] != parts[i] {
			t = tallyOf(l, parts[i])
		}
		read = read.times(t.read())
		elements = elements.times(count(l.extent))
		s.Amplification *= t.amplification()
	}
	// Of a scratch object, unlike a unit, a block reads only its own piece.
	if stage > 0 {
		read = elements
	}
	// An array without elements is not read, whatever its other axes say.
	if stage > 0 || read.exact == 0 {
		s.Amplification = 1
	}
	writes, written := tasks, elements
	if stage == len(c)-1 {
		writes, written = p.units()
	} else {
		s.To = Scratch
	}
	s.Tasks, s.Reads, s.Writes = tasks.exact, reads.exact, writes.exact
	s.BytesRead, s.BytesWritten = read.exact, written.exact
	s.LargestBlock = p.size * volume(c[stage])
	return read.approx + written.approx + float64(float64(p.Request)*(reads.approx+writes.approx))
}

// units returns the number of write units and their bytes.
func (p *planner) units() (number, bytes total) {
	number, bytes = count(1), count(p.size)
	for _, l := range p.target {
		number, bytes = number.times(count(l.cells)), bytes.times(l.stored)
	}
	return number, bytes
}

// finish makes the grids of a draft.
func (p *planner) finish(d draft) (*Plan, error) {
	for k, lines := range d.chain {
		cuts := make([]grid.Cut, len(lines))
		for i, l := range lines {
			cuts[i] = l.cut()
		}
		var err error
		if d.stages[k].Blocks, err = grid.New(p.shape, cuts...); err != nil {
			return nil, fmt.Errorf("blocks: stage %d: %w", k, err)
		}
	}
	return &Plan{d.stages, d.cost}, nil
}

// chain has the blocks of every stage, one line per axis.
type chain [][]*line

const (
	// mostTurns bounds how often read blocks and write blocks are chosen in turn.
	mostTurns = 6
	// leastGain is what another turn must gain, as a factor.
	leastGain = 0.99
)

// endBlocks returns read blocks and write blocks of at most so many elements that cut
// each other into few pieces.
func endBlocks(source, target []*line, most int64) (read, write []*line) {
	// Each choice is the best for the other one. To choose in turn may end in a local
	// minimum, so begin on both sides.
	r, w, n := alternate(source, target, most)
	x, s, m := alternate(target, source, most)
	if m < n {
		return s, x
	}
	return r, w
}

// alternate chooses the first blocks with regard to the second units, then the second
// blocks with regard to the first ones, and so on. It returns the weight of both, too.
func alternate(first, second []*line, most int64) (a, b []*line, weight float64) {
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

// intermediate returns a chain from read blocks to write blocks with so many stages. The
// longest blocks of the stages between are spaced geometrically along each axis. So their
// volumes lie between those of the ends, but for rounding.
func intermediate(read, write []*line, stages int) chain {
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
			c[k][axis] = c[k-1][axis].mergeUpTo(geometric(from.longest, to.longest, k, last))
		}
		return
	}
	// Towards shorter blocks it is the other way round.
	for k := last - 1; k > 0; k-- {
		c[k][axis] = c[k+1][axis].mergeUpTo(geometric(from.longest, to.longest, k, last))
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
