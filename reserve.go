// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Reserve reserves a region at the end of an axis, with one part for each length, in
// elements. A listed axis gets an edge for each part. The edges are published at once, so
// that every writer knows its chunks; the axis must not have edges beyond its extent
// already. On a regular axis every part must begin at a chunk boundary, so that no two
// writers share a chunk.
func (a *Array) Reserve(ctx context.Context, axis int, lengths ...int64) (*Reservation, error) {
	r, err := a.reserve(ctx, axis, lengths)
	return r, a.fail("reserve", err)
}

func (a *Array) reserve(ctx context.Context, axis int, lengths []int64) (*Reservation, error) {
	if err := a.writable(); err != nil {
		return nil, err
	}
	axis, err := a.axis(axis)
	if err != nil {
		return nil, err
	}
	if len(lengths) == 0 {
		return nil, fault.Argument("a reservation without parts: give a length for each")
	}
	r := &Reservation{array: a, holder: reservationPrefix + rand.Text()}
	if err := publish.Retry(ctx, func() error { return r.hold(ctx, axis, lengths) }); err != nil {
		return nil, err
	}
	err = r.change(ctx, func(s *snapshot.Array) (*snapshot.Reshape, error) {
		next, err := r.grown(s)
		if err != nil {
			return nil, err
		}
		planned, err := next.Resized(s.Grid.Shape())
		return &snapshot.Reshape{Grid: planned, KeepStale: true, Vacate: &snapshot.Vacancy{Grid: next, Region: r.region(s)}}, err
	})
	if err != nil {
		return nil, errors.Join(err, publish.Release(store.Finishing(ctx), r.publisher()))
	}
	return r, nil
}

// hold makes the reservation the holder of the array. It completes the changes of crashed
// writers first.
func (r *Reservation) hold(ctx context.Context, axis int, lengths []int64) error {
	a := r.array
	if _, err := a.endPublished(ctx, ""); err != nil {
		return err
	}
	err := publish.CheckFree(ctx, a.publisher())
	if err == nil {
		err = r.holdFree(ctx, axis, lengths)
	}
	if errors.Is(err, publish.ErrPending) {
		err = errors.Join(a.finishOthers(ctx), err)
	}
	return err
}

// holdFree is hold for an array without a holder.
func (r *Reservation) holdFree(ctx context.Context, axis int, lengths []int64) error {
	a := r.array
	s, err := a.reload(ctx, a.state.Load())
	if err != nil {
		return err
	}
	end := s.Grid.Axis(axis)
	if !end.IsRegular() && end.Covered() > end.Extent() {
		return fault.Argument("axis %d has edges up to %d, beyond its extent %d: fill or trim them before", axis, end.Covered(), end.Extent())
	}
	how := cmp.Or(store.LockingOf(ctx).Operation, a.options.Locking.Operation)
	r.note = reservationNote{axis, end.Extent(), slices.Clone(lengths), store.ThisProcess(how)}
	if _, err := r.grown(s); err != nil {
		return err
	}
	raw, err := json.Marshal(r.note)
	if err != nil {
		return err
	}
	return publish.Hold(ctx, r.publisher(), raw)
}

// change publishes a change of the array, which the reservation holds.
func (r *Reservation) change(ctx context.Context, plan func(*snapshot.Array) (*snapshot.Reshape, error)) error {
	a := r.array
	lock, err := a.lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return a.updateAs(ctx, r.publisher(), func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) { return a.grow(old, plan) })
}

// grown returns the grid of the array with all parts of the reservation.
func (r *Reservation) grown(s *snapshot.Array) (*grid.Grid, error) {
	axis := s.Grid.Axis(r.note.Axis)
	if axis.Extent() != r.note.Start {
		begins := s.Grid.Shape()
		begins[r.note.Axis] = r.note.Start
		return nil, &snapshot.Unexpected{Have: s.Grid.Shape(), Want: begins}
	}
	sum, runs := r.note.Start, make([]grid.Run, len(r.note.Lengths))
	for i, n := range r.note.Lengths {
		if axis.IsRegular() && sum%axis.Step() != 0 {
			return nil, fault.Argument("part %d begins at %d, within a chunk of %d along axis %d: choose lengths that end chunks, or unlock the axis", i, sum, axis.Step(), r.note.Axis)
		}
		if n < 1 {
			return nil, fault.Argument("part %d has the length %d, at least 1 is needed", i, n)
		}
		if sum += n; sum < 0 {
			return nil, ErrOverflow
		}
		runs[i] = grid.Run{Length: n, Count: 1}
	}
	shape := s.Grid.Shape()
	shape[r.note.Axis] = sum
	growth := make([]grid.Growth, len(shape))
	if !axis.IsRegular() {
		growth[r.note.Axis] = grid.Preplanned(runs...)
	}
	return s.Grid.Grown(shape, growth...)
}

// WritePart stores the elements of a part, in C order. Any number of goroutines and
// processes may write parts at the same time and in any order. A part may be written
// again.
func WritePart[T dtype.Element](ctx context.Context, r *Reservation, part int, src []T) error {
	e, err := elementsOf(r.array, src)
	if err == nil {
		err = r.write(ctx, part, e)
	}
	return r.array.fail("write part", err)
}

// WritePartBytes is [WritePart] for any data type of fixed size. src has the elements in
// host byte order.
func (r *Reservation) WritePartBytes(ctx context.Context, part int, src []byte) error {
	return r.array.fail("write part", r.write(ctx, part, element.Buffer{Type: r.array.Type(), Data: src}))
}

func (r *Reservation) write(ctx context.Context, part int, e element.Buffer) error {
	a := r.array
	if err := a.writable(); err != nil {
		return err
	}
	if part < 0 || part >= r.Parts() {
		return fault.Argument("part %d of %d", part, r.Parts())
	}
	lock, err := a.lock().Share(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	s, err := a.fresh(ctx, a.state.Load())
	if err != nil {
		return err
	}
	if holder, _, err := publish.Holder(ctx, a.publisher()); err != nil || holder != r.holder {
		return errors.Join(err, fmt.Errorf("%w: the reservation has ended", ErrConflict))
	}
	if err := s.CheckType(e); err != nil {
		return err
	}
	g, err := r.grown(s)
	if err != nil {
		return err
	}
	next, err := a.binding().Resized(s, g)
	if err != nil {
		return err
	}
	sel, err := selection.Resolve(r.Region(part), g.Shape())
	if err != nil {
		return err
	}
	view, err := (&snapshot.Selected{Resolved: sel, Type: next.Type, Heap: next.Engine.Heap}).CheckedView(e)
	if err != nil {
		return err
	}
	how := engine.Writing{Valid: s.Grid.Shape(), KeepFill: true}
	err = a.batch(ctx, func(ctx context.Context, b store.Batch) error {
		how.Batch = b
		return next.Engine.Write(ctx, sel, view, how)
	})
	if err != nil {
		return err
	}
	return r.markWritten(ctx, part)
}

// Publish makes the elements of all parts visible by one write of the document, and ends
// the reservation. If a chunk was not written, the error wraps [fs.ErrNotExist] and names
// the chunk; then nothing is visible and the reservation continues.
func (r *Reservation) Publish(ctx context.Context) error {
	err := r.end(ctx, "publish", func(s *snapshot.Array) (*snapshot.Reshape, error) {
		g, err := r.grown(s)
		return &snapshot.Reshape{Grid: g, KeepStale: true, Check: r.check}, err
	})
	if errors.Is(err, ErrConflict) {
		if ended, _ := r.array.endPublished(ctx, r.holder); ended {
			return nil // an earlier Publish succeeded but could not end the reservation
		}
	}
	return err
}

// Cancel deletes the elements that were written, removes the edges that were added, and
// ends the reservation.
func (r *Reservation) Cancel(ctx context.Context) error {
	return r.end(ctx, "cancel", func(s *snapshot.Array) (*snapshot.Reshape, error) {
		filled, err := r.grown(s)
		if other := (*snapshot.Unexpected)(nil); errors.As(err, &other) {
			return nil, nil // another program ignored the reservation, so there is nothing to remove
		}
		if err != nil {
			return nil, err
		}
		shrink := make([]grid.Shrink, s.Grid.Rank())
		shrink[r.note.Axis] = grid.TrimEdges
		g, err := s.Grid.Shrunk(s.Grid.Shape(), shrink...)
		return &snapshot.Reshape{Grid: g, KeepStale: true, Vacate: &snapshot.Vacancy{Grid: filled, Region: r.region(s)}}, err
	})
}

func (r *Reservation) end(ctx context.Context, op string, plan func(*snapshot.Array) (*snapshot.Reshape, error)) error {
	err := r.array.writable()
	if err == nil {
		err = r.change(ctx, plan)
	}
	if err == nil {
		err = r.release(store.Finishing(ctx))
	}
	return r.array.fail(op, err)
}
