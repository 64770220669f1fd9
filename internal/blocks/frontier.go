// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"cmp"
	"math/bits"
	"slices"

	"varve.dev/zarr/internal/checked"
)

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
	volume int64 // elements of the largest block along these axes
	weight float64
	before int // the state of the axes before
	pick   int // the choice for the last of these axes
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

// thinned drops states if there are too many: of those whose volumes agree in the first
// five bits, all but the lightest.
func thinned(states []state) []state {
	if len(states) <= mostStates {
		return states
	}
	// The smallest stays, because the others may leave no room for the axes to come.
	kept := states[:1]
	for i, s := range states[1:] {
		if i+2 == len(states) || leading(s.volume) != leading(states[i+2].volume) {
			kept = append(kept, s)
		}
	}
	return kept
}

// leading returns a number with all but its first five bits cleared.
func leading(n int64) int64 {
	low := max(0, bits.Len64(uint64(n))-5)
	return n >> low << low
}

// lightest picks a choice for every axis, so that the product of their weights is least
// among those whose longest blocks have at most so many elements. The first choices must
// fit.
func lightest(choices [][]choice, most int64) []choice {
	states := [][]state{{{volume: 1, weight: 1}}}
	for i, list := range choices {
		states = append(states, thinned(frontier(extended(states[i], list, most))))
	}
	picked := make([]choice, len(choices))
	at := len(states[len(choices)]) - 1
	for i := len(choices) - 1; i >= 0; i-- {
		s := states[i+1][at]
		picked[i], at = choices[i][s.pick], s.before
	}
	return picked
}

// extended returns the states with every choice for the next axis that still fits.
func extended(states []state, list []choice, most int64) []state {
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
