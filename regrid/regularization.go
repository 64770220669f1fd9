// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/snapshot"
)

// Regularization gives all chunks one shape, so that programs which know regular grids
// only can read the array. It is the inverse of [zarr.Array.MakeRectilinear]. If the
// stored chunks fit already, only the document changes.
type Regularization struct {
	// Chunk is the shape of the chunks, in elements. Nil proposes one: along every axis
	// the length that most elements have now, rounded up to whole inner chunks.
	Chunk []int64 `json:"chunk,omitempty"`
}

func (Regularization) operation() string { return "regularize" }

func (r Regularization) target(s *snapshot.Array) (*target, error) {
	chunk := r.Chunk
	if chunk == nil {
		var err error
		if chunk, err = proposed(s); err != nil {
			return nil, err
		}
	}
	if len(chunk) != s.Grid.Rank() {
		return nil, fmt.Errorf("%w: a chunk of shape %v, the array has %d axes", zarr.ErrInvalidArgument, chunk, s.Grid.Rank())
	}
	g, err := grid.Regular(s.Grid.Shape(), chunk)
	if err != nil {
		return nil, err
	}
	if g.Equal(s.Grid) {
		return nil, nil
	}
	doc, err := recutTo(s, g)
	return &target{doc: doc}, err
}

// proposed returns the shape of chunks that changes least.
func proposed(s *snapshot.Array) ([]int64, error) {
	chunk := make([]int64, s.Grid.Rank())
	inner := s.Engine.Chain.Inner()
	for i := range chunk {
		a := s.Grid.Axis(i)
		if a.IsRegular() {
			chunk[i] = a.Step()
			continue
		}
		chunk[i] = commonest(a)
		if inner == nil {
			continue
		}
		unit, err := grid.NewAxis(chunk[i], inner[i])
		if err != nil {
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
		if step := unit.Step(); step > 0 {
			n, ok := checked.Mul((chunk[i]+step-1)/step, step)
			if !ok {
				return nil, &grid.AxisError{Axis: i, Err: grid.ErrOverflow}
			}
			chunk[i] = n
		}
	}
	return chunk, nil
}

// commonest returns the length that the most elements of an axis have, and of two such
// lengths the longer one. A single chunk that reaches beyond the extent counts as a
// whole.
func commonest(a grid.Axis) int64 {
	elements := map[int64]int64{}
	left := a.Chunks()
	best := int64(1)
	for r := range a.Edges() {
		n := min(r.Count, left)
		if left -= n; n == 0 {
			break
		}
		elements[r.Length] += r.Length * n
		if e, b := elements[r.Length], elements[best]; e > b || e == b && r.Length > best {
			best = r.Length
		}
	}
	return best
}
