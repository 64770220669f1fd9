// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
)

// Regularization gives all chunks one shape, so that programs which know regular grids
// only can read the array. It is the inverse of [zarr.Array.MakeRectilinear]. If the
// stored chunks fit already, only the document changes.
type Regularization struct {
	// Chunk is the shape of the chunks, in elements. Nil proposes one: along every axis
	// the length that most elements have now, rounded up to whole inner chunks.
	Chunk []int64 `json:"chunk,omitempty"`
	// Target, if not 0, is about how many bytes the elements of a proposed chunk take: if
	// the lengths that most elements have make smaller ones, such as those of daily
	// appends, chunks become as many times longer. Axes that are regular already, and
	// arrays of elements of variable length, stay as without it.
	Target int64 `json:"target,omitempty"`
}

// Proposal says which chunks a [Regularization] proposes for an array.
type Proposal struct {
	// Chunk is the shape of the chunks, and Bytes the size of their elements, 0 if that
	// is not known.
	Chunk []int64
	Bytes int64
	// Usual has the lengths that most elements have, of which Chunk has multiples.
	Usual []int64
}

// Propose returns what r proposes for an array, without changing anything. It is nil if
// the chunks are given, or all of one shape already.
func (r Regularization) Propose(ctx context.Context, a *zarr.Array) (*Proposal, error) {
	s := newSessionIn(a, nil)
	old, err := s.array.fresh(ctx)
	if err != nil || r.Chunk != nil || old.Grid.IsRegular() {
		return nil, s.array.fail(r.operation(), err)
	}
	p, err := r.proposal(old)
	return p, s.array.fail(r.operation(), err)
}

// proposal returns what r proposes for a state of an array.
func (r Regularization) proposal(s *snapshot.Array) (*Proposal, error) {
	usual, err := usualChunk(s)
	if err != nil {
		return nil, err
	}
	p := &Proposal{Chunk: slices.Clone(usual), Usual: usual}
	if s.Type.Variable() {
		return p, nil
	}
	bytes, ok := checked.Product(append([]int64{int64(s.Engine.Size)}, usual...)...)
	if !ok {
		return p, nil // the grid refuses it, or it is long enough
	}
	p.Bytes = bytes
	for i := range p.Chunk {
		a := s.Grid.Axis(i)
		if p.Bytes <= 0 || a.IsRegular() {
			continue
		}
		// Neither more than the target asks for, to the nearest multiple, nor more than
		// the axis has.
		times := max(1, min((r.Target+p.Bytes/2)/p.Bytes, a.Extent()/p.Chunk[i]))
		p.Chunk[i] *= times
		p.Bytes *= times
	}
	return p, nil
}

func (Regularization) operation() string { return "regularize" }

func (r Regularization) target(s *snapshot.Array) (*target, error) {
	chunk := r.Chunk
	if chunk == nil {
		p, err := r.proposal(s)
		if err != nil {
			return nil, err
		}
		chunk = p.Chunk
	}
	if len(chunk) != s.Grid.Rank() {
		return nil, fmt.Errorf("%w: a chunk of shape %v, the array has %s", zarr.ErrInvalidArgument, chunk, quantity.Count(s.Grid.Rank(), "axes"))
	}
	g, err := grid.New(s.Grid.Shape(), grid.Chunks(chunk...)...)
	if err != nil {
		return nil, err
	}
	return targetWithGrid(s, g)
}

// usualChunk returns the shape of chunks that changes least.
func usualChunk(s *snapshot.Array) ([]int64, error) {
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
