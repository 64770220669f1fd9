// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"encoding/json"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

// Cuts says how every axis is cut. In JSON an axis is a number, the length of all chunks,
// or a list of runs, each a length and a count.
type Cuts []grid.Cut

// MarshalJSON implements [json.Marshaler].
func (c Cuts) MarshalJSON() ([]byte, error) {
	list := make([]any, len(c))
	for i, cut := range c {
		a, err := grid.NewAxis(0, cut)
		if err != nil {
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
		if a.IsRegular() {
			list[i] = a.Step()
			continue
		}
		runs := [][2]int64{}
		for r := range a.Edges() {
			runs = append(runs, [2]int64{r.Length, r.Count})
		}
		list[i] = runs
	}
	return json.Marshal(list)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Cuts) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*c = make(Cuts, len(list))
	for i, item := range list {
		var step int64
		if json.Unmarshal(item, &step) == nil {
			(*c)[i] = grid.Every(step)
			continue
		}
		var runs [][2]int64
		if err := json.Unmarshal(item, &runs); err != nil {
			return fmt.Errorf("axis %d: %w", i, err)
		}
		cut := make([]grid.Run, len(runs))
		for k, r := range runs {
			cut[k] = grid.Run{Length: r[0], Count: r[1]}
		}
		(*c)[i] = grid.Runs(cut...)
	}
	return nil
}

// grid returns the grid of an array of the given shape. An axis whose edges do not reach
// its extent, because the array has grown since, gets one more chunk.
func (c Cuts) grid(shape []int64) (*grid.Grid, error) {
	if len(c) != len(shape) {
		return nil, fmt.Errorf("%w: chunks of %d axes, the array has %d", zarr.ErrInvalidArgument, len(c), len(shape))
	}
	cuts := make([]grid.Cut, len(c))
	for i, cut := range c {
		a, err := grid.NewAxis(0, cut)
		if err != nil {
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
		if covered := a.Covered(); !a.IsRegular() && covered < shape[i] {
			if a, err = grid.NewAxis(covered, cut); err == nil {
				a, err = a.Grown(shape[i], grid.AppendOne())
			}
			if err != nil {
				return nil, &grid.AxisError{Axis: i, Err: err}
			}
		}
		cuts[i] = cutOf(a)
	}
	return grid.New(shape, cuts...)
}
