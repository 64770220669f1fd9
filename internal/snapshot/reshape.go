// SPDX-License-Identifier: Apache-2.0

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

// Reshape is a change of extents or edges. An append also has the elements of the new
// region.
type Reshape struct {
	Grid      *grid.Grid     // after the change
	Region    grid.Box       // of the new elements
	Gain      Gain           // the new elements
	Slabs     []*engine.Slab // the new elements, in place of Region and Gain
	KeepStale bool           // keep what chunks hold beyond the extent
	Vacate    *Vacancy       // delete the chunks there
	// Check, if not nil, returns an error if the region cannot be published yet.
	Check func(ctx context.Context, old *Array, g *grid.Grid) error
}

// Stage returns the change from s to next for package publish. It decides which chunks
// are written before the document is published, and which are reclaimed after it.
func (s *Array) Stage(next *Array, g *Reshape, l metadata.Limits) (*publish.Change, error) {
	doc, err := next.Doc.Marshal(l)
	if err != nil {
		return nil, err
	}
	was, is := s.Grid.Shape(), next.Grid.Shape()
	change := &publish.Change{Document: doc}
	// If publishing fails, the new chunks are orphaned: no document describes them.
	change.Abandon = func(ctx context.Context, b store.Batch) error { return next.deleteNew(ctx, s, b) }
	trimmed := s.trimmed(next)
	switch {
	case g.Gain.Data != nil || g.Gain.From != nil || g.Gain.Segments != nil || g.Slabs != nil:
		if axis := slices.IndexFunc(pairs(was, is), func(p [2]int64) bool { return p[1] > p[0] }); axis >= 0 {
			// Two appends that plan on one document both write the marker chunk
			// first. Without locks, only one of them succeeds.
			change.Marker = next.Engine.Key(s.Marker(axis))
			change.Guarded = func(key store.Key) bool { return s.Guarded(next, axis, key) }
		}
		change.Stage = func(ctx context.Context, b store.Batch) error { return next.write(ctx, g, was, b) }
		if cells, err := next.Grid.Touched(g.Region); g.Gain.Data != nil && err == nil {
			change.Share = next.Engine.Share(cells)
		}
	case g.Check != nil:
		// The writers of a reservation have stored the chunks. They stay if publishing
		// fails, so that it can be tried again.
		change.Stage = func(ctx context.Context, _ store.Batch) error { return g.Check(ctx, s, g.Grid) }
		change.Abandon = nil
	// The change only makes room for a reservation, or removes one. No new chunk is
	// stored, so there is nothing to abandon.
	case g.Vacate != nil:
		change.Stage = func(ctx context.Context, b store.Batch) error { return s.vacate(ctx, g.Vacate, b) }
		change.Abandon = nil
	case slices.ContainsFunc(pairs(was, is), func(p [2]int64) bool { return p[1] > p[0] }):
		change.Stage = func(ctx context.Context, b store.Batch) error { return s.expose(ctx, next, g.KeepStale, b) }
	}
	// A resize may grow one axis and shrink another, so it can have both steps.
	if slices.ContainsFunc(pairs(was, is), func(p [2]int64) bool { return p[1] < p[0] }) {
		change.Reclaim = func(ctx context.Context, b store.Batch) error { return s.cut(ctx, next, g.KeepStale, b) }
	}
	if len(trimmed) > 0 && s.Engine.Chain.Cuts() != nil && !s.Engine.Chain.DistinguishesShapes() {
		// Shards without a checksum may decode in either shape. PutAside checks other
		// chunks one by one.
		return nil, errUnguarded
	}
	if len(trimmed) > 0 {
		s.trim(next, trimmed, change)
	}
	return change, nil
}

// pairs returns the extents of every axis before and after a change.
func pairs(was, is []int64) [][2]int64 {
	p := make([][2]int64, len(was))
	for i := range was {
		p[i] = [2]int64{was[i], is[i]}
	}
	return p
}

// write stores the elements of an append. was is the shape before it.
func (s *Array) write(ctx context.Context, g *Reshape, was []int64, b store.Batch) error {
	// Under a fence, write the marker chunk first and alone. Store chunks of fill values
	// too, because a missing chunk would not stop a concurrent writer.
	fenced := publish.Fenced(b)
	how := engine.Writing{Batch: b, Valid: was, KeepFill: fenced, FirstAlone: fenced}
	if g.Slabs != nil {
		return s.Engine.WriteSlabs(ctx, g.Slabs, how)
	}
	if g.Gain.From != nil {
		return s.writeFrom(ctx, g.Gain.From, g.Region, how)
	}
	if g.Gain.Segments != nil {
		axis := slices.IndexFunc(pairs(was, s.Grid.Shape()), func(p [2]int64) bool { return p[1] > p[0] })
		return s.writeSegments(ctx, g.Gain.Segments, axis, g.Region, how)
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

// deleteNew deletes the stored chunks that s has and other does not have.
func (s *Array) deleteNew(ctx context.Context, other *Array, b store.Batch) error {
	for cells := range grid.BoxOf(s.Grid.Chunks()).Subtract(grid.BoxOf(other.Grid.Chunks())) {
		if err := s.Engine.Delete(ctx, cells, b); err != nil {
			return err
		}
	}
	return nil
}

// expose makes the elements that next adds read as the fill value. It deletes orphaned
// chunks under the keys of new chunks, which a crashed writer may have left. Unless
// keepStale, it also clears the elements of boundary chunks beyond the old extent.
func (s *Array) expose(ctx context.Context, next *Array, keepStale bool, b store.Batch) error {
	if publish.Fenced(b) {
		// A fence does not stop a concurrent writer from storing a deleted chunk again.
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

// cutBy returns, for every axis whose extent cuts the last chunk of s, the boxes of these
// chunks. interests selects axes by their extents in s and in other.
func (s *Array) cutBy(other *Array, interests func(here, there int64) bool) []grid.Box {
	var boxes []grid.Box
	for i := range s.Grid.Rank() {
		a := s.Grid.Axis(i)
		last, ok := a.Cell(a.Chunks() - 1)
		if !ok || !last.IsBoundary() || !interests(a.Extent(), other.Grid.Axis(i).Extent()) {
			continue
		}
		// The box has all chunks along the other axes.
		cells := grid.BoxOf(s.Grid.Chunks())
		cells[i].Start = last.Index
		boxes = append(boxes, cells)
	}
	return boxes
}

// cut deletes the chunks that next no longer has and, unless keepStale, clears the
// elements of its boundary chunks beyond the extent. It runs after next was published. A
// crash here leaves stale values that readers never see. [Array.expose] removes them when
// the array grows again.
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
			"and are removed when the array grows over them: %w", next.Grid.Shape(), err)
	}
	return nil
}

// Vacancy is a region beyond the extent of an array, and the grid that the array will
// have when it includes the region.
type Vacancy struct {
	Grid   *grid.Grid
	Region grid.Box
}

// vacate deletes the chunks of a vacancy. Under a fence it deletes nothing, because a
// fence does not exclude writers that store such chunks now. Later writers overwrite
// them.
func (s *Array) vacate(ctx context.Context, r *Vacancy, b store.Batch) error {
	cells, err := s.roomOf(r)
	if err != nil || publish.Fenced(b) {
		return err
	}
	return s.Engine.Delete(ctx, cells, b)
}

// roomOf returns the chunks of a vacancy that the array does not have yet.
func (s *Array) roomOf(r *Vacancy) (grid.Box, error) {
	cells, err := r.Grid.Touched(r.Region)
	for i := range cells {
		// Along the other axes the region starts at 0 and covers the whole array, so only
		// the growing axis has chunks to keep.
		if r.Region[i].Start > 0 {
			cells[i].Start = max(cells[i].Start, s.Grid.Axis(i).Chunks())
		}
	}
	return cells, err
}

// Unexpected is the conflict of a change whose caller expected another shape. It is
// final: a retry meets it again.
type Unexpected struct{ Have, Want []int64 }

// Error returns both shapes.
func (u *Unexpected) Error() string {
	return fmt.Sprintf("%v, or by this very change before: the shape is %v, %v was expected", store.ErrConflict, u.Have, u.Want)
}

// Is reports whether target is [store.ErrConflict].
func (u *Unexpected) Is(target error) bool { return target == store.ErrConflict }

// Final marks the error as a [publish.Final].
func (u *Unexpected) Final() {}

// Expect returns [Unexpected] if the array has another shape. Nil expects nothing.
func (s *Array) Expect(shape []int64) error {
	if is := s.Grid.Shape(); shape != nil && !slices.Equal(shape, is) {
		return &Unexpected{is, shape}
	}
	return nil
}
