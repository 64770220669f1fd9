package zarr

import (
	"varve.dev/zarr/grid"
)

// innerStep returns the length of the inner chunks along an axis, 1 where there are none, or where they do not have to divide shards.
func (s *state) innerStep(axis int) int64 {
	inner := s.engine.Chain.Cuts() // also of shards that are compressed as a whole
	if inner == nil {
		return 1
	}
	a, err := grid.NewAxis(0, inner[axis])
	if err != nil || a.IsTrimmed() || !a.IsRegular() {
		return 1
	}
	return a.Step()
}

// rounded returns a policy that rounds the last shard along an axis up to whole inner chunks, if that is asked for.
func (s *state) rounded(axis int, g grid.Growth, up bool) grid.Growth {
	if n := s.innerStep(axis); up && n > 1 {
		return g.RoundedUp(n)
	}
	return g
}

// fits refuses a grid whose new shards have no whole number of inner chunks, and says by how much the axis could grow instead
// of count elements.
func (s *state) fits(g *grid.Grid, axis int, count int64) error {
	err := s.engine.Chain.CheckGrid(g)
	if err == nil {
		return nil
	}
	n := s.innerStep(axis)
	below, above := s.grid.Axis(axis).FittingLengths(count, n)
	const roundUp = "have the last shard rounded up (AppendOptions.RoundUp, --round-up)"
	switch {
	case below == count:
		return badArgument("%v; or %s", err, roundUp)
	case below > 0 && above > 0:
		return badArgument("axis %d: %d more elements do not end with a whole inner chunk of %d: append %d or %d, or %s", axis, count, n, below, above, roundUp)
	case above > 0:
		return badArgument("axis %d: %d more elements do not end with a whole inner chunk of %d: append %d, or %s", axis, count, n, above, roundUp)
	}
	return badArgument("%v", err)
}
