// SPDX-License-Identifier: Apache-2.0

package blocks

// weigh returns how bad the blocks along an axis are. The weights of all axes are
// multiplied.
type weigh func(*tally) float64

// choice is one way to merge the units along an axis.
type choice struct {
	longest int64 // elements of the longest block
	weight  float64
	bound   int64 // units are merged up to this length
	along   bool  // blocks end at shared borders where possible
}

// axis is what is to be merged along an axis: units, with regard to the other side.
type axis struct {
	units, other *line
	common       *line // borders that both share; nil if that is only the last
}

func newAxis(units, other *line) axis {
	a := axis{units: units, other: other}
	if s := sharedBorders(units, other); s.cells > 1 {
		a.common = s
	}
	return a
}

// merge makes the blocks of a choice.
func (a *axis) merge(c choice, next add) {
	if c.along {
		a.units.mergeAlong(a.common, c.bound, next)
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

// try returns the ways to merge units up to a length.
func (a *axis) try(bound int64, w weigh) []choice {
	choices := []choice{{bound: bound}}
	if a.common != nil {
		choices = append(choices, choice{bound: bound, along: true})
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
		all = append(all, a.try(b, w)...)
	}
	return frontier(all)
}
