// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"slices"

	"varve.dev/zarr/internal/checked"
)

// RoundedUp returns the policy with its last new edge rounded up to a multiple of the
// given number of elements. That edge may reach beyond the extent; all others stay as the
// policy makes them. A shard that is appended then holds whole inner chunks. For
// [Preplanned] the last edge of the plan is rounded up.
//
// Nothing changes if no edge is added, or if the axis is regular. A number below 1 is
// reported when an axis grows, as an error that wraps [ErrInvalid]. [Growth.String] does
// not show the rounding.
func (g Growth) RoundedUp(to int64) Growth {
	g.isRounded, g.multiple = true, to
	return g
}

// roundUp returns runs with the last edge rounded up. It does not modify runs.
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
