// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"cmp"
	"math/bits"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// choose merges units to blocks of at most so many elements, with the least product of
// weights. It returns the product, too. The largest unit must fit.
func choose(units, others []*line, most int64, w weigh) (blocks []*line, weight float64) {
	axes := make([]axis, len(units))
	choices := make([][]choice, len(units))
	smallest := volume(units)
	for i := range axes {
		axes[i] = newAxis(units[i], others[i])
		// The other axes have at least the length of their longest unit.
		choices[i] = axes[i].choices(most/(smallest/units[i].longest), w)
	}
	picked := lightestChoices(choices, most)
	fill(axes, picked, most, w)
	blocks, weight = make([]*line, len(axes)), 1
	for i := range axes {
		blocks[i] = axes[i].blocks(picked[i])
		weight *= picked[i].weight
	}
	return blocks, weight
}

// fill tries to use the room that the chosen lengths leave, one axis after the other.
func fill(axes []axis, picked []choice, most int64, w weigh) {
	used := int64(1)
	for _, c := range picked {
		used *= c.longest
	}
	for i, c := range picked {
		rest := used / c.longest
		for _, d := range axes[i].choicesUpTo(min(most/rest, axes[i].units.extent), w) {
			if d.weight < picked[i].weight {
				picked[i] = d
			}
		}
		used = rest * picked[i].longest
	}
}

// volume returns the elements of the largest block, which must fit into an int64.
func volume(blocks []*line) int64 {
	n := int64(1)
	for _, l := range blocks {
		n *= l.longest
	}
	return n
}

// weigh returns how bad the blocks along an axis are. The weights of all axes are
// multiplied.
type weigh func(*tally) float64

// choice is one way to merge the units along an axis.
type choice struct {
	longest int64 // elements of the longest block
	weight  float64
	bound   int64 // units are merged up to this length
	aligned bool  // blocks end at shared borders where possible
}

// axis is what is to be merged along an axis: units, with regard to the other side.
type axis struct {
	units, other *line
	shared       *line // borders that both share; nil if that is only the last
}

func newAxis(units, other *line) axis {
	a := axis{units: units, other: other}
	if s := sharedBorders(units, other); s.cells > 1 {
		a.shared = s
	}
	return a
}

// merge makes the blocks of a choice.
func (a *axis) merge(c choice, next add) {
	if c.aligned {
		a.units.mergeAlong(a.shared, c.bound, next)
		return
	}
	a.units.merge(0, a.units.extent, c.bound, 0, next)
}

// blocks returns the blocks of a choice.
func (a *axis) blocks(c choice) *line {
	l := new(line)
	a.merge(c, l.addBlocks)
	return l
}

// choicesUpTo returns the ways to merge units up to a length.
func (a *axis) choicesUpTo(bound int64, w weigh) []choice {
	choices := []choice{{bound: bound}}
	if a.shared != nil {
		choices = append(choices, choice{bound: bound, aligned: true})
	}
	for i := range choices {
		t := tally{units: a.other}
		a.merge(choices[i], t.add)
		choices[i].longest, choices[i].weight = t.longest, w(&t)
	}
	return choices
}

// choices returns the ways to merge units up to room, without those that another one
// beats in length and weight. The shortest comes first.
func (a *axis) choices(room int64, w weigh) []choice {
	var all []choice
	for _, b := range bounds(a.units, a.other, room) {
		all = append(all, a.choicesUpTo(b, w)...)
	}
	return frontier(all)
}

const (
	// fewRuns is the number of runs up to which an axis is cheap to merge.
	fewRuns = 1 << 10
	// mostParts is the number of equal parts up to which a unit of the other side is cut.
	mostParts = 8
)

// bounds returns the lengths up to which units are worth merging, in ascending order,
// from the longest unit up to room.
func bounds(units, other *line, room int64) []int64 {
	room = min(room, units.extent)
	// A block is tried with every number of units up to dense. Beyond it, half of dense
	// numbers are tried between a power of two and the next.
	dense, unit := int64(8), units.longest
	if len(units.runs) <= fewRuns {
		dense = 32
	}
	// Units of different lengths also fill what is no multiple of the longest. Those of
	// a regular axis are at most two runs.
	if n := len(units.runs); n > 2 && n <= fewRuns {
		unit = max(1, unit/4)
	}
	list := []int64{units.longest, room}
	step := int64(1)
	for n := int64(1); n <= room/unit; n += step {
		if n*unit > units.longest {
			list = append(list, n*unit)
		}
		if n == dense*step {
			step *= 2
		}
	}
	// Blocks that cut the units of the other side into equal parts share more borders
	// with them than longer blocks do.
	for n := int64(1); n <= mostParts; n++ {
		list = append(list, max(units.longest, min(room, other.longest/n)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// mostStates bounds the states that are kept after an axis. Few arrays have as many.
const mostStates = 1024

// sized is a value of a size and a weight.
type sized interface {
	size() int64
	rank() float64
}

func (c choice) size() int64   { return c.longest }
func (c choice) rank() float64 { return c.weight }

// state is a choice for each of the first axes.
type state struct {
	volume   int64 // elements of the largest block along these axes
	weight   float64
	previous int // the state of the axes before
	pick     int // the choice for the last of these axes
}

func (s state) size() int64   { return s.volume }
func (s state) rank() float64 { return s.weight }

// frontier returns the values of which no other one is both smaller and lighter, in the
// order of their size. It reuses the slice.
func frontier[S sized](all []S) []S {
	slices.SortStableFunc(all, func(a, b S) int {
		return cmp.Or(cmp.Compare(a.size(), b.size()), cmp.Compare(a.rank(), b.rank()))
	})
	kept := all[:0]
	for _, s := range all {
		if len(kept) == 0 || s.rank() < kept[len(kept)-1].rank() {
			kept = append(kept, s)
		}
	}
	return kept
}

// thin drops states if there are too many: of those whose volumes agree in the first
// five bits, all but the lightest.
func thin(states []state) []state {
	if len(states) <= mostStates {
		return states
	}
	// The smallest stays, because the others may leave no room for the axes to come.
	kept := states[:1]
	for i, s := range states[1:] {
		if i+2 == len(states) || leadingBits(s.volume) != leadingBits(states[i+2].volume) {
			kept = append(kept, s)
		}
	}
	return kept
}

// leadingBits returns a number with all but its first five bits cleared.
func leadingBits(n int64) int64 {
	low := max(0, bits.Len64(uint64(n))-5)
	return n >> low << low
}

// lightestChoices picks a choice for every axis, so that the product of their weights
// is least among those whose longest blocks have at most so many elements. The first
// choices must fit.
func lightestChoices(choices [][]choice, most int64) []choice {
	states := [][]state{{{volume: 1, weight: 1}}}
	for i, list := range choices {
		states = append(states, thin(frontier(extend(states[i], list, most))))
	}
	picked := make([]choice, len(choices))
	at := len(states[len(choices)]) - 1
	for i := len(choices) - 1; i >= 0; i-- {
		s := states[i+1][at]
		picked[i], at = choices[i][s.pick], s.previous
	}
	return picked
}

// extend returns the states with every choice for the next axis that still fits.
func extend(states []state, list []choice, most int64) []state {
	var all []state
	for i, s := range states {
		for k, c := range list {
			volume, ok := checked.Mul(s.volume, c.longest)
			if !ok || volume > most {
				break // the choices that follow are longer
			}
			all = append(all, state{volume, s.weight * c.weight, i, k})
		}
	}
	return all
}
