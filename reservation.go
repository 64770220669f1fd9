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
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Reservation is a region beyond the end of an array that several writers fill at the
// same time, each writing its own parts. Writers may be goroutines or processes. Readers
// see no element before [Reservation.Publish], which makes all of them visible by one
// write of the document.
//
// While an array has a reservation, all other changes of its document fail with
// [ErrConflict]. A reservation outlives the process that made it. It ends when it is
// published or cancelled, by any process ([Array.Reservation]).
type Reservation struct {
	array *Array
	held  *array.Reservation
}

// Reservation returns the reservation of the array, which another process may have made.
// If there is none, the error wraps [fs.ErrNotExist].
func (a *Array) Reservation(ctx context.Context) (*Reservation, error) {
	held, err := a.core.Reservation(ctx)
	if err == nil && held == nil {
		err = fault.NotFound("the array has no reservation")
	}
	if err != nil {
		return nil, a.fail("reservation", err)
	}
	return &Reservation{a, held}, nil
}

// reservationPrefix begins the names of holders that are reservations.
const reservationPrefix = "reservation "

// ID returns the unique name of the reservation.
func (r *Reservation) ID() string { return strings.TrimPrefix(r.held.Holder, reservationPrefix) }

// Holder returns the process that made the reservation, and the time. The process may
// have ended since, without publishing or cancelling; then another process can do that.
func (r *Reservation) Holder() store.Holder { return r.held.Note.By }

// Parts returns the number of parts.
func (r *Reservation) Parts() int { return len(r.held.Note.Lengths) }

// Region returns the region of a part in the array as it will be, or nil if there is no
// such part.
func (r *Reservation) Region(part int) grid.Box {
	if part < 0 || part >= r.Parts() {
		return nil
	}
	// Take only the other axes from the array: its extent along this one may have changed
	// since.
	box := grid.BoxOf(r.array.Shape())
	start := r.held.Note.Start
	for _, n := range r.held.Note.Lengths[:part] {
		start += n
	}
	box[r.held.Note.Axis] = grid.Interval{Start: start, Stop: start + r.held.Note.Lengths[part]}
	return box
}

// Reserve reserves a region at the end of an axis, with one part for each length, in
// elements. A listed axis gets an edge for each part. The edges are published at once, so
// that every writer knows its chunks; the axis must not have edges beyond its extent
// already. On a regular axis every part must begin at a chunk boundary, so that no two
// writers share a chunk.
func (a *Array) Reserve(ctx context.Context, axis int, lengths ...int64) (*Reservation, error) {
	r, err := a.reserve(ctx, axis, lengths)
	return r, a.fail("reserve", err)
}

// reserve makes a reservation. A reservation takes these steps:
//
//  1. Hold the array, so that no other writer changes its document.
//  2. Publish the new edges with the old extent, so that every writer knows its chunks.
//     In a store with locks, first delete chunks that earlier writers have left there.
//  3. Writers store the chunks of their parts, and a mark after each part.
//  4. Publish checks all parts and publishes the new extent.
//  5. Delete the marks, and release the array.
//
// A crash at any point leaves a reservation that another process can publish or cancel.
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
	// The random part identifies the reservation: after a lost answer its writer can
	// recognize its own pointer.
	r := &Reservation{a, &array.Reservation{Array: a.core, Holder: reservationPrefix + rand.Text()}}
	if err := publish.Retry(ctx, func() error { return r.hold(ctx, axis, lengths) }); err != nil {
		return nil, err
	}
	err = r.change(ctx, func(s *snapshot.Array) (*snapshot.Reshape, error) {
		next, err := r.grown(s)
		if err != nil {
			return nil, err
		}
		// The new edges, but still the old extent.
		planned, err := next.Resized(s.Grid.Shape())
		return &snapshot.Reshape{Grid: planned, KeepStale: true, Vacate: &snapshot.Vacancy{Grid: next, Region: r.held.Region(s)}}, err
	})
	if err != nil {
		// No writer knows this reservation, so nobody else would release it. Do so even
		// if the context was cancelled.
		return nil, errors.Join(err, publish.Release(store.Finishing(ctx), r.held.Publisher()))
	}
	return r, nil
}

// hold makes the reservation the holder of the array. It completes the changes of crashed
// writers first.
func (r *Reservation) hold(ctx context.Context, axis int, lengths []int64) error {
	a := r.array
	// The last reservation may be published but not released. That is no reason to refuse
	// this one.
	if _, err := a.core.EndPublished(ctx, ""); err != nil {
		return err
	}
	err := publish.CheckFree(ctx, a.publisher())
	if err == nil {
		err = r.holdFree(ctx, axis, lengths)
	}
	if errors.Is(err, publish.ErrPending) {
		err = errors.Join(a.core.FinishOthers(ctx), err)
	}
	return err
}

// holdFree is hold for an array without a holder.
func (r *Reservation) holdFree(ctx context.Context, axis int, lengths []int64) error {
	a := r.array
	// Plan on the newest document. Another process may have appended since.
	s, err := a.core.Reload(ctx, a.core.State())
	if err != nil {
		return err
	}
	end := s.Grid.Axis(axis)
	// A chunk over both the present extent and the first part would have two writers.
	if !end.IsRegular() && end.Covered() > end.Extent() {
		return fault.Argument("axis %d has edges up to %d, beyond its extent %d: fill or trim them first", axis, end.Covered(), end.Extent())
	}
	how := cmp.Or(store.LockingOf(ctx).Operation, a.options.Locking.Operation)
	r.held.Note = array.ReservationNote{Axis: axis, Start: end.Extent(), Lengths: slices.Clone(lengths), By: driver.ThisProcess(how)}
	// Check the plan before the array is held.
	if _, err := r.grown(s); err != nil {
		return err
	}
	raw, err := json.Marshal(r.held.Note)
	if err != nil {
		return err
	}
	return publish.Hold(ctx, r.held.Publisher(), raw)
}

// change publishes a change of the array, which the reservation holds.
func (r *Reservation) change(ctx context.Context, plan func(*snapshot.Array) (*snapshot.Reshape, error)) error {
	a := r.array
	lock, err := a.lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return a.core.UpdateAs(ctx, r.held.Publisher(), func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) { return a.core.Grow(old, plan) })
}

// grown returns the grid of the array with all parts of the reservation.
func (r *Reservation) grown(s *snapshot.Array) (*grid.Grid, error) {
	axis := s.Grid.Axis(r.held.Note.Axis)
	if axis.Extent() != r.held.Note.Start {
		begins := s.Grid.Shape()
		begins[r.held.Note.Axis] = r.held.Note.Start
		return nil, &snapshot.Unexpected{Have: s.Grid.Shape(), Want: begins}
	}
	sum, runs := r.held.Note.Start, make([]grid.Run, len(r.held.Note.Lengths))
	for i, n := range r.held.Note.Lengths {
		// Two writers of one chunk would overwrite each other's elements.
		if axis.IsRegular() && sum%axis.Step() != 0 {
			return nil, fault.Argument("part %d begins at %d, within a chunk of %d along axis %d: choose lengths that end chunks, or unlock the axis", i, sum, axis.Step(), r.held.Note.Axis)
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
	shape[r.held.Note.Axis] = sum
	growth := make([]grid.Growth, len(shape))
	if !axis.IsRegular() {
		growth[r.held.Note.Axis] = grid.Preplanned(runs...)
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
	// Ask the store before every part, because another process may have cancelled the
	// reservation.
	s, err := a.core.LookUnmoved(ctx, a.core.State())
	if err != nil {
		return err
	}
	if holder, _, err := publish.Holder(ctx, a.publisher()); err != nil || holder != r.held.Holder {
		return errors.Join(err, fmt.Errorf("%w: the reservation has ended", ErrConflict))
	}
	if err := s.CheckType(e); err != nil {
		return err
	}
	g, err := r.grown(s)
	if err != nil {
		return err
	}
	// The part lies beyond the published extent, so write it with the state that Publish
	// will make.
	next, err := a.core.Binding().Resized(s, g)
	if err != nil {
		return err
	}
	sel, err := selection.Resolve(selection.BoxOf(r.Region(part)), g.Shape())
	if err != nil {
		return err
	}
	of := (*subset.Elements)(sel)
	view, err := (&snapshot.Selected{Elements: of, Type: next.Type, Heap: next.Engine.Heap}).CheckedView(e)
	if err != nil {
		return err
	}
	// KeepFill stores chunks of fill values, too: Publish takes a missing chunk for one
	// that was not written.
	how := engine.Writing{Valid: s.Grid.Shape(), KeepFill: true}
	err = a.core.Batch(ctx, func(ctx context.Context, b store.Batch) error {
		how.Batch = b
		return next.Engine.Write(ctx, of, view, how)
	})
	if err != nil {
		return err
	}
	// The mark follows the commit of the batch, so a crash never leaves a mark without
	// its chunks.
	return r.held.MarkWritten(ctx, part)
}

// Publish makes the elements of all parts visible by one write of the document, and ends
// the reservation. If a chunk was not written, the error wraps [fs.ErrNotExist] and names
// the chunk; then nothing is visible and the reservation continues.
func (r *Reservation) Publish(ctx context.Context) error {
	err := r.end(ctx, "publish", func(s *snapshot.Array) (*snapshot.Reshape, error) {
		g, err := r.grown(s)
		return &snapshot.Reshape{Grid: g, KeepStale: true, Check: r.held.Check}, err
	})
	// The extent is not where the reservation begins. The reason may be that the region
	// was published before.
	if errors.Is(err, ErrConflict) {
		if ended, _ := r.array.core.EndPublished(ctx, r.held.Holder); ended {
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
		// Remove the edges that Reserve added. Their chunks are deleted whoever wrote
		// them.
		shrink := make([]grid.Shrink, s.Grid.Rank())
		shrink[r.held.Note.Axis] = grid.TrimEdges
		g, err := s.Grid.Shrunk(s.Grid.Shape(), shrink...)
		return &snapshot.Reshape{Grid: g, KeepStale: true, Vacate: &snapshot.Vacancy{Grid: filled, Region: r.held.Region(s)}}, err
	})
}

func (r *Reservation) end(ctx context.Context, op string, plan func(*snapshot.Array) (*snapshot.Reshape, error)) error {
	err := r.array.writable()
	if err == nil {
		err = r.change(ctx, plan)
	}
	if err == nil {
		// The change is published, so a cancellation must not leave the array held.
		err = r.held.Release(store.Finishing(ctx))
	}
	return r.array.fail(op, err)
}
