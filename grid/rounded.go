package grid

import (
	"slices"

	"varve.dev/zarr/internal/checked"
)

// RoundedUp returns the policy with its last new edge lengthened to the next multiple of to elements, so that it may reach beyond the
// extent; all other edges stay as the policy makes them. A shard that is appended then holds whole inner chunks. Of a plan
// ([Preplanned]) the last edge is lengthened. Where no edge is added, and on a regular axis, nothing changes. A number below 1
// wraps [ErrInvalid] when an axis grows. There is no text form: [Growth.String] returns that of the policy.
func (g Growth) RoundedUp(to int64) Growth {
	g.isRounded, g.multiple = true, to
	return g
}

// roundUp lengthens the last edge of a list, which is left as it is.
func (g Growth) roundUp(runs []Run) ([]Run, error) {
	if !g.isRounded || len(runs) == 0 {
		return runs, nil
	}
	last := runs[len(runs)-1]
	over := last.Length % g.multiple
	if over == 0 {
		return runs, nil
	}
	longer, ok := checked.Add(last.Length, g.multiple-over)
	if !ok {
		return nil, ErrOverflow
	}
	rounded := slices.Clone(runs[:len(runs)-1])
	if last.Count > 1 {
		rounded = append(rounded, Run{last.Length, last.Count - 1})
	}
	return append(rounded, Run{longer, 1}), nil
}
