// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
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
	array  *Array
	holder string
	note   reservationNote
}

// reservationNote is the stored form of a reservation.
type reservationNote struct {
	Axis    int     `json:"axis"`
	Start   int64   `json:"start"`   // first element
	Lengths []int64 `json:"lengths"` // elements of each part

	By store.Holder `json:"by,omitzero"` // the process that made it
}

// Reservation returns the reservation of the array, which another process may have made.
// If there is none, the error wraps [fs.ErrNotExist].
func (a *Array) Reservation(ctx context.Context) (*Reservation, error) {
	r, err := a.reservation(ctx)
	if err == nil && r == nil {
		err = fault.NotFound("the array has no reservation")
	}
	if err != nil {
		return nil, a.fail("reservation", err)
	}
	return r, nil
}

// reservation returns the reservation of the array, or nil.
func (a *Array) reservation(ctx context.Context) (*Reservation, error) {
	// The holder and its note are in the pointer beside the document ([publish.Hold]).
	holder, raw, err := publish.Holder(ctx, a.publisher())
	if err != nil || holder == "" {
		return nil, err
	}
	r := &Reservation{array: a, holder: holder}
	err = json.Unmarshal(raw, &r.note)
	if err == nil {
		err = r.note.check(a.Rank())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the note of %.100s (remove %s/%s if no writer is running): %w", ErrInvalidMetadata, holder, own.Dir, own.Pending, err)
	}
	return r, nil
}

// check returns an error if no reservation of an array of this rank can have the note.
func (n reservationNote) check(rank int) error {
	if n.Axis < 0 || n.Axis >= rank {
		return fmt.Errorf("there is no axis %d: the array has rank %d, and axes are numbered from 0", n.Axis, rank)
	}
	sum := n.Start
	for i, length := range n.Lengths {
		// Another program may have written the note, so check it like any other document.
		// A negative sum is an overflow.
		if sum += length; length < 1 || sum < 0 {
			return fmt.Errorf("part %d has the length %d", i, length)
		}
	}
	if n.Start < 0 || len(n.Lengths) == 0 {
		return fmt.Errorf("%s from element %d on", quantity.Count(len(n.Lengths), "parts"), n.Start)
	}
	return nil
}

// publisher describes the array to package publish, with the reservation as its holder.
func (r *Reservation) publisher() publish.Node {
	n := r.array.publisher()
	n.Holder = r.holder
	return n
}

// reservationPrefix begins the names of holders that are reservations.
const reservationPrefix = "reservation "

// ID returns the unique name of the reservation.
func (r *Reservation) ID() string { return strings.TrimPrefix(r.holder, reservationPrefix) }

// Holder returns the process that made the reservation, and the time. The process may
// have ended since, without publishing or cancelling; then another process can do that.
func (r *Reservation) Holder() store.Holder { return r.note.By }

// Parts returns the number of parts.
func (r *Reservation) Parts() int { return len(r.note.Lengths) }

// Region returns the region of a part in the array as it will be, or nil if there is no
// such part.
func (r *Reservation) Region(part int) grid.Box {
	if part < 0 || part >= r.Parts() {
		return nil
	}
	// Take only the other axes from the array: its extent along this one may have changed
	// since.
	box := grid.BoxOf(r.array.Shape())
	start := r.note.Start
	for _, n := range r.note.Lengths[:part] {
		start += n
	}
	box[r.note.Axis] = grid.Interval{Start: start, Stop: start + r.note.Lengths[part]}
	return box
}

// region returns the region of all parts.
func (r *Reservation) region(s *snapshot.Array) grid.Box {
	box := grid.BoxOf(s.Grid.Shape())
	stop := r.note.Start
	for _, n := range r.note.Lengths {
		stop += n
	}
	box[r.note.Axis] = grid.Interval{Start: r.note.Start, Stop: stop}
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
	r := &Reservation{array: a, holder: reservationPrefix + rand.Text()}
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
		return &snapshot.Reshape{Grid: planned, KeepStale: true, Vacate: &snapshot.Vacancy{Grid: next, Region: r.region(s)}}, err
	})
	if err != nil {
		// No writer knows this reservation, so nobody else would release it. Do so even
		// if the context was cancelled.
		return nil, errors.Join(err, publish.Release(store.Finishing(ctx), r.publisher()))
	}
	return r, nil
}

// hold makes the reservation the holder of the array. It completes the changes of crashed
// writers first.
func (r *Reservation) hold(ctx context.Context, axis int, lengths []int64) error {
	a := r.array
	// The last reservation may be published but not released. That is no reason to refuse
	// this one.
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
	// Plan on the newest document. Another process may have appended since.
	s, err := a.reload(ctx, a.state.Load())
	if err != nil {
		return err
	}
	end := s.Grid.Axis(axis)
	// A chunk over both the present extent and the first part would have two writers.
	if !end.IsRegular() && end.Covered() > end.Extent() {
		return fault.Argument("axis %d has edges up to %d, beyond its extent %d: fill or trim them first", axis, end.Covered(), end.Extent())
	}
	how := cmp.Or(store.LockingOf(ctx).Operation, a.options.Locking.Operation)
	r.note = reservationNote{axis, end.Extent(), slices.Clone(lengths), store.ThisProcess(how)}
	// Check the plan before the array is held.
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
		// Two writers of one chunk would overwrite each other's elements.
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
	// Ask the store before every part, because another process may have cancelled the
	// reservation.
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
	// The part lies beyond the published extent, so write it with the state that Publish
	// will make.
	next, err := a.binding().Resized(s, g)
	if err != nil {
		return err
	}
	sel, err := selection.Resolve(selection.BoxOf(r.Region(part)), g.Shape())
	if err != nil {
		return err
	}
	view, err := (&snapshot.Selected{Resolved: sel, Type: next.Type, Heap: next.Engine.Heap}).CheckedView(e)
	if err != nil {
		return err
	}
	// KeepFill stores chunks of fill values, too: Publish takes a missing chunk for one
	// that was not written.
	how := engine.Writing{Valid: s.Grid.Shape(), KeepFill: true}
	err = a.batch(ctx, func(ctx context.Context, b store.Batch) error {
		how.Batch = b
		return next.Engine.Write(ctx, sel, view, how)
	})
	if err != nil {
		return err
	}
	// The mark follows the commit of the batch, so a crash never leaves a mark without
	// its chunks.
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
	// The extent is not where the reservation begins. The reason may be that the region
	// was published before.
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
		// Remove the edges that Reserve added. Their chunks are deleted whoever wrote
		// them.
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
		// The change is published, so a cancellation must not leave the array held.
		err = r.release(store.Finishing(ctx))
	}
	return r.array.fail(op, err)
}

// A chunk under a key of a part does not prove that the part was written. A crashed
// append may have left it there, or a slow one may still store it. So every part has a
// mark, which is stored after its chunks.

// partsDir is the directory, below that of the array, of the marks of all reservations.
const partsDir = own.Dir + "/parts/"

// mark returns the key of the mark of a part.
func (r *Reservation) mark(part int) store.Key {
	id := sha256.Sum256([]byte(r.holder)) // a holder may have characters that a key cannot have
	return r.array.path.MustKey(partsDir + hex.EncodeToString(id[:16]) + "/" + strconv.Itoa(part))
}

// markWritten stores the mark of a part.
func (r *Reservation) markWritten(ctx context.Context, part int) error {
	_, err := store.Write(ctx, r.array.hierarchy.store, store.Put(r.mark(part), []byte("{}")), r.array.options.Durability)
	return err
}

// check returns an error unless all parts are marked as written and all their chunks are
// stored, in the grid that the array will have.
func (r *Reservation) check(ctx context.Context, s *snapshot.Array, g *grid.Grid) error {
	region := r.region(s)
	end := &region[r.note.Axis]
	end.Stop = end.Start
	for part, n := range r.note.Lengths {
		end.Start, end.Stop = end.Stop, end.Stop+n
		written, err := store.Exists(ctx, r.array.hierarchy.store, r.mark(part))
		if err != nil {
			return err
		}
		cells, err := g.Touched(region)
		if err != nil {
			return err
		}
		// A mark alone is not enough: another program may have deleted a chunk since.
		if err := s.CheckPart(ctx, part, cells, written); err != nil {
			return err
		}
	}
	return nil
}

// release removes the marks and ends the reservation. After a crash in between, another
// process finds the reservation without marks. If it was published, that process ends it.
// If it was cancelled, its chunks are deleted too, so that no part counts as written.
func (r *Reservation) release(ctx context.Context) error {
	err := r.array.batch(ctx, func(ctx context.Context, b store.Batch) error {
		for part := range r.Parts() {
			if _, err := b.Write(ctx, store.Delete(r.mark(part))); err != nil {
				return err
			}
		}
		return nil
	})
	// A store that cannot delete keeps the marks. They name this holder, so no other
	// reservation reads them.
	if err != nil && !errors.Is(err, store.ErrUnsupported) {
		return err
	}
	return publish.Release(ctx, r.publisher())
}

// endPublished ends a reservation that is published but not ended, because its writer
// crashed in between. It reports whether there was one. If holder is not "", only that
// reservation counts.
func (a *Array) endPublished(ctx context.Context, holder string) (bool, error) {
	r, err := a.reservation(ctx)
	if err != nil || r == nil || holder != "" && r.holder != holder {
		return false, err
	}
	// Read the document after the holder. An older document, from before this
	// reservation, could look as if the reservation were published.
	s, err := a.reload(ctx, a.state.Load())
	if err != nil || s.Grid.Axis(r.note.Axis).Extent() != r.region(s)[r.note.Axis].Stop {
		return false, err
	}
	return true, r.release(ctx)
}
