// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"math/rand/v2"
	"slices"
	"time"

	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/grid"
)

// The model of an axis that grows and shrinks: the list of its edges.

// covered returns the sum of the edges.
func (c cut) covered() (sum int64) {
	for _, edge := range c.edges {
		sum += edge
	}
	return sum
}

// reach adds edges until they cover the extent. length gives each edge from its start
// and the number of edges added before.
func (c cut) reach(extent int64, length func(at int64, k int) int64) cut {
	if c.edges == nil {
		return c
	}
	edges := slices.Clone(c.edges)
	for at, k := c.covered(), 0; at < extent; k++ {
		edges = append(edges, length(at, k))
		at += edges[len(edges)-1]
	}
	return cut{edges: edges}
}

// grown covers the extent with one more edge, as zarr-python does.
func (c cut) grown(extent int64) cut {
	return c.reach(extent, func(at int64, _ int) int64 { return extent - at })
}

// shrunk returns the axis with an extent that is not larger.
func (c cut) shrunk(extent int64, how grid.Shrink) cut {
	switch {
	case c.edges == nil || how == grid.KeepEdges:
		return c
	case how == grid.TrimExact && extent > 0:
		return cut{edges: c.sizes(extent)}
	}
	return cut{edges: c.edges[:max(1, len(c.sizes(extent)))]}
}

// unlocked returns the edges of a regular axis as a list.
func (c cut) unlocked(extent int64) cut {
	if c.edges != nil {
		return c
	}
	return cut{edges: slices.Repeat([]int64{c.step}, int(max(1, (extent+c.step-1)/c.step)))}
}

// open returns the edges of the cells that are not full.
func (c cut) open(extent int64) []int64 {
	at := int64(0)
	for i, edge := range c.edges {
		if at += edge; at > extent {
			return c.edges[i:]
		}
	}
	return nil
}

// randomGrowth returns a policy for an axis that grows, and the axis afterwards. Most
// lengths are multiples of unit.
func randomGrowth(r *rand.Rand, c cut, from, to, unit int64) (grid.Growth, cut) {
	if c.edges == nil {
		return pick(r, grid.AppendOne(), grid.RepeatLast()), c
	}
	if r.IntN(5) == 0 {
		unit = 1
	}
	switch r.IntN(6) {
	case 0:
		last := c.edges[len(c.edges)-1]
		return grid.RepeatLast(), c.reach(to, func(int64, int) int64 { return last })
	case 1:
		n := unit * (1 + r.Int64N(4))
		return grid.Fixed(n), c.reach(to, func(int64, int) int64 { return n })
	case 2:
		lengths := randomLengths(r, 1+r.IntN(4), unit)
		return grid.Pattern(lengths...), c.reach(to, func(_ int64, k int) int64 { return lengths[k%len(lengths)] })
	case 3:
		return randomPlan(r, c, from, to, unit)
	case 4:
		m := pick(r, months...)
		return m.growth(), c.reach(to, func(at int64, _ int) int64 { return m.boundary(at) - at })
	}
	return grid.AppendOne(), c.grown(to)
}

func randomLengths(r *rand.Rand, n int, unit int64) []int64 {
	lengths := make([]int64, n)
	for i := range lengths {
		lengths[i] = unit * (1 + r.Int64N(4))
	}
	return lengths
}

// randomPlan declares edges, some of them beyond the extent. If there are such edges
// already, it repeats them.
func randomPlan(r *rand.Rand, c cut, from, to, unit int64) (grid.Growth, cut) {
	if c.covered() >= to {
		return grid.Preplanned(runs(c.open(from))...), c
	}
	plan := cut{edges: []int64{}}.reach(to-c.covered()+r.Int64N(8), func(int64, int) int64 { return unit * (1 + r.Int64N(3)) }).edges
	return grid.Preplanned(runs(plan)...), cut{edges: slices.Concat(c.edges, plan)}
}

// runs writes lengths as runs of one.
func runs(lengths []int64) []grid.Run {
	list := make([]grid.Run, len(lengths))
	for i, n := range lengths {
		list[i] = grid.Run{Length: n, Count: 1}
	}
	return list
}

// weeks is an axis with an element every seven days since 1 January 2001, cut where
// months begin.
type weeks struct {
	calendar calendar.Calendar
	boundary func(at int64) int64 // the model: the first element of the next month
}

// months has a calendar that package time has as well, and one in which all months have
// 30 days.
var months = []weeks{
	{calendar.Standard, func(at int64) int64 {
		first := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
		day := first.AddDate(0, 0, int(7*at))
		next := time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		return (int64(next.Sub(first)/(24*time.Hour)) + 6) / 7
	}},
	{calendar.Days360, func(at int64) int64 { return (30*(7*at/30+1) + 6) / 7 }},
}

// growth returns the policy of a program for the calendar.
func (w weeks) growth() grid.Growth {
	s, err := calendar.ParseSteps("2001-01-01", "7d", w.calendar.String())
	if err != nil {
		panic(err)
	}
	return grid.ByBoundaries("calendar:month", s.Buckets(calendar.Month).Next)
}
