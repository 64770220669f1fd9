// SPDX-License-Identifier: Apache-2.0

package streaming

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// plan extends the planned grid to the end of the chunk that contains the planes before
// limit.
func (s *Stream) plan(limit int64) error {
	if s.planned != nil && s.planned.Grid.Axis(s.axis).Extent() >= limit {
		return nil
	}
	g, err := s.grown(limit)
	if err != nil {
		return err
	}
	axis := g.Axis(s.axis)
	// Plan to the end of the chunk, because the length of its edge decides when the
	// stream publishes.
	k, _, _ := axis.Locate(limit - 1)
	cell, _ := axis.Cell(k)
	stop, ok := checked.Add(cell.Start, cell.Edge)
	if !ok {
		return &grid.AxisError{Axis: s.axis, Err: fmt.Errorf("%w: chunk %d ends beyond it", grid.ErrOverflow, k)}
	}
	if g, err = s.grown(stop); err != nil {
		return err
	}
	planned, err := s.target.Resized(g)
	if err == nil {
		s.planned = planned
	}
	return err
}

// grown returns the grid of the array with planes up to an extent. It grows the grid that
// the array had when the stream began, so that a policy continues its pattern.
func (s *Stream) grown(extent int64) (*grid.Grid, error) {
	return s.grow(s.base.Grid, extent, s.policy)
}

func (s *Stream) grow(g *grid.Grid, extent int64, policy grid.Growth) (*grid.Grid, error) {
	shape := g.Shape()
	shape[s.axis] = extent
	policies := make([]grid.Growth, len(shape))
	policies[s.axis] = policy
	return g.Grown(shape, policies...)
}

// last returns the grid of the array with the final extent.
func (s *Stream) last(extent int64) (*grid.Grid, error) {
	covered := s.grid.Axis(s.axis).Covered()
	if !s.exact || extent <= covered {
		return s.grown(extent)
	}
	// First the edges that are full, then one edge for the planes that are left.
	g, err := s.grown(covered + (extent-covered)/s.edge*s.edge)
	if err != nil {
		return nil, err
	}
	if g, err = s.grow(g, extent, s.base.Rounded(s.axis, grid.AppendOne(), s.opt.RoundUp)); err != nil {
		return nil, err
	}
	if _, err = s.target.Resized(g); errors.Is(err, codec.ErrConfiguration) {
		err = fmt.Errorf("the last chunk has %d planes: %w; round it up (RoundUp), write more planes, or leave it as long as the others (Checkpoint)",
			(extent-covered)%s.edge, err)
	}
	return g, err
}

// publishEarly is publish for an exhausted budget, which Early counts.
func (s *Stream) publishEarly(ctx context.Context, more *engine.Slab, early bool) error {
	err := s.publish(ctx, more, false)
	if err == nil && early {
		s.stats.Early++
	}
	return err
}

// publish stores the held planes, and more that follow them, and publishes the new
// extent.
func (s *Stream) publish(ctx context.Context, more *engine.Slab, last bool) error {
	slabs := slices.Clone(s.slabs)
	if s.open.count > 0 {
		slabs = append(slabs, s.openSlab())
	}
	if more != nil {
		slabs = append(slabs, more)
	}
	if len(slabs) == 0 {
		return nil
	}
	grown := s.grown
	if last {
		grown = s.last
	}
	err := s.store(ctx, slabs, grown)
	if err == nil || errors.Is(err, publish.ErrIncomplete) {
		s.next, s.slabs, s.open.count = slabs[len(slabs)-1].Stop, nil, 0
	}
	return err
}

// publishDue publishes the planes that are due. Those of a chunk that is not full yet
// stay held, unless they are due too.
func (s *Stream) publishDue(ctx context.Context) error {
	n := slices.IndexFunc(s.slabs, func(slab *engine.Slab) bool { return slab.Stop == s.due }) + 1
	if s.due == s.next || n == 0 {
		return s.publish(ctx, nil, false)
	}
	err := s.store(ctx, s.slabs[:n:n], s.grown)
	if err == nil || errors.Is(err, publish.ErrIncomplete) {
		s.slabs = slices.Clone(s.slabs[n:])
	}
	return err
}

// store stores slabs, and publishes the extent that they reach. Unless the outcome is
// final, the caller keeps them, and the next call tries again. After ErrIncomplete they
// are published.
func (s *Stream) store(ctx context.Context, slabs []*engine.Slab, grown func(int64) (*grid.Grid, error)) error {
	g, err := grown(slabs[len(slabs)-1].Stop)
	if err != nil {
		return err
	}
	err = s.target.Change(ctx, func(now *snapshot.Array) (*snapshot.Reshape, error) {
		// Change plans again after a conflict. The slabs were encoded for the planned
		// grid, so another writer's change makes them useless.
		if err := s.unchanged(now); err != nil {
			return nil, err
		}
		return &snapshot.Reshape{Grid: g, Slabs: slabs}, nil
	})
	if err != nil && !errors.Is(err, publish.ErrIncomplete) {
		if final := (*snapshot.Unexpected)(nil); errors.As(err, &final) || errors.Is(err, publish.ErrOutcomeUnknown) {
			s.failed = err
		}
		return err
	}
	s.grid = g
	s.stats.Publications++
	s.published = time.Now()
	return err
}

// overtaken is the conflict of a stream whose array another writer has changed. It is
// final: a retry meets it again.
type overtaken struct {
	*snapshot.Unexpected
	axis int
	what string
}

func (o *overtaken) Error() string {
	return fmt.Sprintf("%v: %s during a stream along axis %d; open a new stream, which continues at the end of the array",
		store.ErrConflict, o.what, o.axis)
}

func (o *overtaken) Unwrap() error { return o.Unexpected }

// unchanged returns [overtaken] if the array differs from what the stream published last.
func (s *Stream) unchanged(now *snapshot.Array) error {
	was, is := s.grid.Shape(), now.Grid.Shape()
	o := &overtaken{Unexpected: &snapshot.Unexpected{Have: is, Want: was}, axis: s.axis}
	switch {
	case !slices.Equal(was, is):
		o.what = fmt.Sprintf("the shape became %v, it was %v", is, was)
	case now.Numbering != s.base.Numbering:
		o.what = "elements were dropped or inserted"
	case !snapshot.SameEdges(s.grid, now.Grid):
		o.what = "it was cut into other chunks"
	// Held layers are encoded by the codecs of the first state. In an array with other
	// codecs they would be damage.
	case !likeness.SameElements(now.Doc, s.base.Doc):
		o.what = "it was replaced"
	default:
		return nil
	}
	return o
}
