package snapshot

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Reshape is a change of the extents or of the edges, with elements for the new region
// where it is appended to.
type Reshape struct {
	Grid      *grid.Grid
	Region    grid.Box
	Gain      Gain
	Slabs     []*engine.Slab // in place of region and gain
	KeepStale bool
	Vacate    *Vacancy // whose chunks are deleted
	// check reports an error if the region cannot be published yet.
	Check func(ctx context.Context, old *Array, g *grid.Grid) error
}

// Stage returns the change from one state to the next.
func (s *Array) Stage(next *Array, g *Reshape, l metadata.Limits) (*publish.Change, error) {
	doc, err := next.Doc.Marshal(l)
	if err != nil {
		return nil, err
	}
	was, is := s.Grid.Shape(), next.Grid.Shape()
	change := &publish.Change{Document: doc}
	change.Abandon = func(ctx context.Context, b store.Batch) error { return next.deleteNew(ctx, s, b) }
	trimmed := s.trimmed(next)
	switch {
	case g.Gain.Data != nil || g.Gain.From != nil || g.Slabs != nil:
		if axis := slices.IndexFunc(pairs(was, is), func(p [2]int64) bool { return p[1] > p[0] }); axis >= 0 {
			change.Marker = next.Engine.Key(s.Witness(axis))
			change.Guarded = func(key store.Key) bool { return s.Guarded(next, axis, key) }
		}
		change.Stage = func(ctx context.Context, b store.Batch) error { return next.write(ctx, g, was, b) }
	case g.Check != nil:
		change.Stage = func(ctx context.Context, _ store.Batch) error { return g.Check(ctx, s, g.Grid) }
		change.Abandon = nil
	case g.Vacate != nil:
		change.Stage = func(ctx context.Context, b store.Batch) error { return s.vacate(ctx, g.Vacate, b) }
		change.Abandon = nil
	case slices.ContainsFunc(pairs(was, is), func(p [2]int64) bool { return p[1] > p[0] }):
		change.Stage = func(ctx context.Context, b store.Batch) error { return s.expose(ctx, next, g.KeepStale, b) }
	}
	if slices.ContainsFunc(pairs(was, is), func(p [2]int64) bool { return p[1] < p[0] }) {
		change.Reclaim = func(ctx context.Context, b store.Batch) error { return s.cut(ctx, next, g.KeepStale, b) }
	}
	if len(trimmed) > 0 && s.Engine.Chain.Cuts() != nil && !s.Engine.Chain.TellsShapes() {
		return nil, errUnguarded // no shard would tell; of other chunks PutAside asks each
	}
	if len(trimmed) > 0 {
		s.trim(next, trimmed, change)
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
func (s *Array) write(ctx context.Context, g *Reshape, was []int64, b store.Batch) error {
	fenced := publish.Fenced(b)
	how := engine.Writing{Batch: b, Valid: was, KeepFill: fenced, FirstAlone: fenced}
	if g.Slabs != nil {
		return s.Engine.WriteSlabs(ctx, g.Slabs, how)
	}
	if g.Gain.From != nil {
		return s.writeFrom(ctx, g.Gain.From, g.Region, how)
	}
	r, err := selection.Resolve(g.Region, s.Grid.Shape())
	if err != nil {
		return err
	}
	view, err := (&Selected{r, s.Type, s.Engine.Heap}).CheckedView(g.Gain.Buffer)
	if err != nil {
		return err
	}
	return s.Engine.Write(ctx, r, view, how)
}

// deleteNew deletes what is stored under the keys of the chunks that s has and the other
// state has not.
func (s *Array) deleteNew(ctx context.Context, other *Array, b store.Batch) error {
	for cells := range grid.BoxOf(s.Grid.Chunks()).Subtract(grid.BoxOf(other.Grid.Chunks())) {
		if err := s.Engine.Delete(ctx, cells, b); err != nil {
			return err
		}
	}
	return nil
}

// expose makes sure that the elements which the next state adds are the fill value: what
// an older writer left in cut chunks is cleared, unless that is to be kept, and what a
// writer that died left under the keys of new chunks is deleted.
func (s *Array) expose(ctx context.Context, next *Array, keepStale bool, b store.Batch) error {
	if publish.Fenced(b) {
		return s.claim(ctx, next, keepStale, b)
	}
	if err := next.deleteNew(ctx, s, b); err != nil || keepStale {
		return err
	}
	for _, cells := range s.cutBy(next, func(was, is int64) bool { return is > was }) {
		if err := s.Engine.Clear(ctx, cells, s.Grid.Shape(), b); err != nil {
			return err
		}
	}
	return nil
}

// cutBy returns the chunks of s at the end of every axis that its extent cuts, where that
// is of interest for the extents in s and in another state.
func (s *Array) cutBy(other *Array, interests func(here, there int64) bool) []grid.Box {
	var boxes []grid.Box
	for i := range s.Grid.Rank() {
		a := s.Grid.Axis(i)
		last, ok := a.Cell(a.Chunks() - 1)
		if !ok || !last.IsBoundary() || !interests(a.Extent(), other.Grid.Axis(i).Extent()) {
			continue
		}
		cells := grid.BoxOf(s.Grid.Chunks())
		cells[i].Start = last.Index
		boxes = append(boxes, cells)
	}
	return boxes
}

// cut deletes the chunks that the next state does not have any more, and clears what it
// cut off from others. That state is published, and what stays does no harm: a growth
// over it deletes or clears it first.
func (s *Array) cut(ctx context.Context, next *Array, keepStale bool, b store.Batch) error {
	err := s.deleteNew(ctx, next, b)
	if err == nil && !keepStale {
		for _, cells := range next.cutBy(s, func(is, was int64) bool { return is < was }) {
			if err = next.Engine.Clear(ctx, cells, next.Grid.Shape(), b); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("the shape is %v, and some values beyond it are still stored; they are not visible, "+
			"and go when the array grows over them: %w", next.Grid.Shape(), err)
	}
	return nil
}

// Vacancy is a region behind the end of an array, in the grid that the array has with it.
type Vacancy struct {
	Grid   *grid.Grid
	Region grid.Box
}

// vacate deletes the chunks of a room. Where others cannot be kept away, they are left to
// be overwritten.
func (s *Array) vacate(ctx context.Context, r *Vacancy, b store.Batch) error {
	cells, err := s.roomOf(r)
	if err != nil || publish.Fenced(b) {
		return err
	}
	return s.Engine.Delete(ctx, cells, b)
}

// roomOf returns the chunks of a room, without those that the array has already.
func (s *Array) roomOf(r *Vacancy) (grid.Box, error) {
	cells, err := r.Grid.Touched(r.Region)
	for i := range cells {
		if r.Region[i].Start > 0 {
			cells[i].Start = max(cells[i].Start, s.Grid.Axis(i).Chunks())
		}
	}
	return cells, err
}

// Unexpected is the conflict of an array that is not as its writer expects. To try again
// is of no use.
type Unexpected struct{ Have, Want []int64 }

// Error returns both shapes.
func (u *Unexpected) Error() string {
	return fmt.Sprintf("%v, or by this very change before: the shape is %v, %v was expected", store.ErrConflict, u.Have, u.Want)
}

// Is reports whether target is [store.ErrConflict].
func (u *Unexpected) Is(target error) bool { return target == store.ErrConflict }

// Expect refuses an array of another shape than expected; nil expects nothing.
func (s *Array) Expect(shape []int64) error {
	if is := s.Grid.Shape(); shape != nil && !slices.Equal(shape, is) {
		return &Unexpected{is, shape}
	}
	return nil
}
