package zarr

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// growth is a change of the extents or of the edges, with elements for the new region
// where it is appended to.
type growth struct {
	grid      *grid.Grid
	region    grid.Box
	gain      gain
	slabs     []*engine.Slab // in place of region and gain
	keepStale bool
	vacate    *room        // whose chunks are deleted
	complete  *Reservation // whose parts have to be written
}

// change publishes a change that plan makes of the newest state. Where another writer
// publishes first, it plans again.
func (a *Array) change(ctx context.Context, plan func(*state) (*growth, error)) error {
	_, leave, err := a.enter(ctx, allTurns)
	if err != nil {
		return err
	}
	defer leave()
	return a.update(ctx, func(old *state) (*publish.Change, *state, error) { return a.grow(old, plan) })
}

// grow returns the change that plan makes of a state, and the state that it leads to.
func (a *Array) grow(old *state, plan func(*state) (*growth, error)) (*publish.Change, *state, error) {
	g, err := plan(old)
	if err != nil || g == nil {
		return nil, nil, err
	}
	next, err := a.with(old, g.grid)
	if err != nil {
		return nil, nil, err
	}
	c, err := a.stage(old, next, g)
	return c, next, err
}

// stage returns the change from one state to the next.
func (a *Array) stage(old, next *state, g *growth) (*publish.Change, error) {
	doc, err := next.doc.Marshal(a.options.Limits.metadata())
	if err != nil {
		return nil, err
	}
	was, is := old.grid.Shape(), next.grid.Shape()
	change := &publish.Change{Document: doc}
	change.Abandon = func(ctx context.Context, b store.Batch) error { return next.deleteNew(ctx, old, b) }
	trimmed := old.trimmed(next)
	switch {
	case g.gain.data != nil || g.gain.from != nil || g.slabs != nil:
		if axis := slices.IndexFunc(pairs(was, is), func(p [2]int64) bool { return p[1] > p[0] }); axis >= 0 {
			change.Marker = next.engine.Key(old.witness(axis))
			change.Guarded = func(key store.Key) bool { return old.guarded(next, axis, key) }
		}
		change.Stage = func(ctx context.Context, b store.Batch) error { return next.write(ctx, g, was, b) }
	case g.complete != nil:
		change.Stage = func(ctx context.Context, _ store.Batch) error { return g.complete.check(ctx, old, g.grid) }
		change.Abandon = nil
	case g.vacate != nil:
		change.Stage = func(ctx context.Context, b store.Batch) error { return old.vacate(ctx, g.vacate, b) }
		change.Abandon = nil
	case slices.ContainsFunc(pairs(was, is), func(p [2]int64) bool { return p[1] > p[0] }):
		change.Stage = func(ctx context.Context, b store.Batch) error { return old.expose(ctx, next, g.keepStale, b) }
	}
	if slices.ContainsFunc(pairs(was, is), func(p [2]int64) bool { return p[1] < p[0] }) {
		change.Reclaim = func(ctx context.Context, b store.Batch) error { return old.cut(ctx, next, g.keepStale, b) }
	}
	if len(trimmed) > 0 && old.engine.Chain.Cuts() != nil && !old.engine.Chain.TellsShapes() {
		return nil, errUnguarded // no shard would tell; of other chunks PutAside asks each
	}
	if len(trimmed) > 0 {
		old.trim(next, trimmed, change)
	}
	return change, nil
}

// pairs returns the extents of every axis before and after.
func pairs(was, is []int64) [][2]int64 {
	p := make([][2]int64, len(was))
	for i := range was {
		p[i] = [2]int64{was[i], is[i]}
	}
	return p
}

// write stores the elements of a region that was the shape before does not have.
func (s *state) write(ctx context.Context, g *growth, was []int64, b store.Batch) error {
	fenced := publish.Fenced(b)
	how := engine.Writing{Batch: b, Valid: was, KeepFill: fenced, FirstAlone: fenced}
	if g.slabs != nil {
		return s.engine.WriteSlabs(ctx, g.slabs, how)
	}
	if g.gain.from != nil {
		return s.writeFrom(ctx, g.gain.from, g.region, how)
	}
	r, err := selection.Resolve(selection.Region(g.region), s.grid.Shape())
	if err != nil {
		return err
	}
	view, err := (&selected{r, s.typ, s.engine.Heap}).source(g.gain.elements)
	if err != nil {
		return err
	}
	return s.engine.Write(ctx, r, view, how)
}

// deleteNew deletes what is stored under the keys of the chunks that s has and the other
// state has not.
func (s *state) deleteNew(ctx context.Context, other *state, b store.Batch) error {
	for cells := range grid.BoxOf(s.grid.Chunks()).Subtract(grid.BoxOf(other.grid.Chunks())) {
		if err := s.engine.Delete(ctx, cells, b); err != nil {
			return err
		}
	}
	return nil
}

// expose makes sure that the elements which the next state adds are the fill value: what
// an older writer left in cut chunks is cleared, unless that is to be kept, and what a
// writer that died left under the keys of new chunks is deleted.
func (s *state) expose(ctx context.Context, next *state, keepStale bool, b store.Batch) error {
	if publish.Fenced(b) {
		return s.claim(ctx, next, keepStale, b)
	}
	if err := next.deleteNew(ctx, s, b); err != nil || keepStale {
		return err
	}
	for _, cells := range s.cutBy(next, func(was, is int64) bool { return is > was }) {
		if err := s.engine.Clear(ctx, cells, s.grid.Shape(), b); err != nil {
			return err
		}
	}
	return nil
}

// cutBy returns the chunks of s at the end of every axis that its extent cuts, where that
// is of interest for the extents in s and in another state.
func (s *state) cutBy(other *state, interests func(here, there int64) bool) []grid.Box {
	var boxes []grid.Box
	for i := range s.grid.Rank() {
		a := s.grid.Axis(i)
		last, ok := a.Cell(a.Chunks() - 1)
		if !ok || !last.IsBoundary() || !interests(a.Extent(), other.grid.Axis(i).Extent()) {
			continue
		}
		cells := grid.BoxOf(s.grid.Chunks())
		cells[i].Start = last.Index
		boxes = append(boxes, cells)
	}
	return boxes
}

// cut deletes the chunks that the next state does not have any more, and clears what it
// cut off from others. That state is published, and what stays does no harm: a growth
// over it deletes or clears it first.
func (s *state) cut(ctx context.Context, next *state, keepStale bool, b store.Batch) error {
	err := s.deleteNew(ctx, next, b)
	if err == nil && !keepStale {
		for _, cells := range next.cutBy(s, func(is, was int64) bool { return is < was }) {
			if err = next.engine.Clear(ctx, cells, next.grid.Shape(), b); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("the shape is %v, and some values beyond it are still stored; they are not visible, "+
			"and go when the array grows over them: %w", next.grid.Shape(), err)
	}
	return nil
}
