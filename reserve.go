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
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Reservation is room behind the end of an array that several writers, goroutines or
// programs, fill at one time, each its own parts. Nobody sees the elements before
// [Reservation.Publish], which makes all of them visible by one write of the document. As
// long as there is a reservation nobody else can change the array's document: they fail
// with [ErrConflict]. A reservation outlives the program that made it, until it is
// published or cancelled.
type Reservation struct {
	array  *Array
	holder string
	note   reservationNote
}

// reservationNote is what is stored of a reservation.
type reservationNote struct {
	Axis    int     `json:"axis"`
	Start   int64   `json:"start"`   // first element
	Lengths []int64 `json:"lengths"` // elements of each part

	By store.Holder `json:"by,omitzero"` // who made it
}

// Reserve makes room behind the end of an axis, a part for each length, in elements. An
// axis with listed edges gets an edge for each part, published at once, so that every
// writer knows its chunks; it must not have edges beyond its extent. On a regular axis
// the parts have to begin where chunks do, so that no two writers share one.
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
	if err := retry(ctx, func() error { return r.hold(ctx, axis, lengths) }); err != nil {
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

// hold makes the reservation the holder of the array as it is now, once what a dead
// writer left is finished.
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

// holdFree is hold of an array that nobody seems to hold.
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

// Reservation returns the reservation that the array has, as another program finds it.
// Without one the error wraps [fs.ErrNotExist].
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

// reservation returns the reservation that the array has, nil where it has none.
func (a *Array) reservation(ctx context.Context) (*Reservation, error) {
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
		return nil, fmt.Errorf("%w: the note of %.100s (remove %s/%s if no writer is at work): %w", ErrInvalidMetadata, holder, own.Dir, own.Pending, err)
	}
	return r, nil
}

// check refuses a note that no reservation of an array with so many axes can have.
func (n reservationNote) check(rank int) error {
	if n.Axis < 0 || n.Axis >= rank {
		return fmt.Errorf("axis %d of an array with %d axes", n.Axis, rank)
	}
	sum := n.Start
	for i, length := range n.Lengths {
		if sum += length; length < 1 || sum < 0 {
			return fmt.Errorf("part %d has the length %d", i, length)
		}
	}
	if n.Start < 0 || len(n.Lengths) == 0 {
		return fmt.Errorf("%d parts from element %d on", len(n.Lengths), n.Start)
	}
	return nil
}

// endPublished ends a reservation whose elements were published by a writer who died
// before it could end it, and reports whether there was such a one. A holder that is not
// "" is the only one of interest.
func (a *Array) endPublished(ctx context.Context, holder string) (bool, error) {
	r, err := a.reservation(ctx)
	if err != nil || r == nil || holder != "" && r.holder != holder {
		return false, err
	}
	s, err := a.reload(ctx, a.state.Load()) // now that the holder is known: an older document could look like a published one
	if err != nil || s.Grid.Axis(r.note.Axis).Extent() != r.region(s)[r.note.Axis].Stop {
		return false, err
	}
	return true, r.release(ctx)
}

// publisher describes the array to package publish, as its holder.
func (r *Reservation) publisher() publish.Node {
	n := r.array.publisher()
	n.Holder = r.holder
	return n
}

// change publishes a change of the array as its holder.
func (r *Reservation) change(ctx context.Context, plan func(*snapshot.Array) (*snapshot.Reshape, error)) error {
	a := r.array
	lock, err := a.lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return a.updateAs(ctx, r.publisher(), func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) { return a.grow(old, plan) })
}

// grown returns the grid of the array with all parts.
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

// reservationPrefix begins the name of a reservation as the holder of an array.
const reservationPrefix = "reservation "

// ID returns what tells the reservation from every other.
func (r *Reservation) ID() string { return strings.TrimPrefix(r.holder, reservationPrefix) }

// Holder returns which process made the reservation, and when. It may have ended since,
// without having published or cancelled: then another one can, with what
// [Array.Reservation] returns.
func (r *Reservation) Holder() store.Holder { return r.note.By }

// Parts returns the number of parts.
func (r *Reservation) Parts() int { return len(r.note.Lengths) }

// Region returns the elements of a part, numbered as they will be in the array; nil where
// there is no such part.
func (r *Reservation) Region(part int) grid.Box {
	if part < 0 || part >= r.Parts() {
		return nil
	}
	box := grid.BoxOf(r.array.Shape())
	start := r.note.Start
	for _, n := range r.note.Lengths[:part] {
		start += n
	}
	box[r.note.Axis] = grid.Interval{Start: start, Stop: start + r.note.Lengths[part]}
	return box
}

// region returns the elements of all parts.
func (r *Reservation) region(s *snapshot.Array) grid.Box {
	box := grid.BoxOf(s.Grid.Shape())
	stop := r.note.Start
	for _, n := range r.note.Lengths {
		stop += n
	}
	box[r.note.Axis] = grid.Interval{Start: r.note.Start, Stop: stop}
	return box
}

// WritePart stores the elements of a part, in C order. Any number of goroutines and
// programs may write parts at one time, in any order, and each part as often as is
// needed.
func WritePart[T dtype.Element](ctx context.Context, r *Reservation, part int, src []T) error {
	e, err := elementsOf(r.array, src)
	if err == nil {
		err = r.write(ctx, part, e)
	}
	return r.array.fail("write part", err)
}

// WritePartBytes is [WritePart] for an array of any type: src has the elements in the
// byte order of the host.
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
// the reservation. Where a chunk was not written, the error wraps [fs.ErrNotExist] and
// names it; nothing is visible then, and the reservation goes on.
func (r *Reservation) Publish(ctx context.Context) error {
	err := r.end(ctx, "publish", func(s *snapshot.Array) (*snapshot.Reshape, error) {
		g, err := r.grown(s)
		return &snapshot.Reshape{Grid: g, KeepStale: true, Check: r.check}, err
	})
	if errors.Is(err, ErrConflict) {
		if ended, _ := r.array.endPublished(ctx, r.holder); ended {
			return nil // this is done again because the reservation could not be ended
		}
	}
	return err
}

// Cancel gives the room back: what was written is deleted, edges that were added are
// removed, and the reservation ends.
func (r *Reservation) Cancel(ctx context.Context) error {
	return r.end(ctx, "cancel", func(s *snapshot.Array) (*snapshot.Reshape, error) {
		filled, err := r.grown(s)
		if other := (*snapshot.Unexpected)(nil); errors.As(err, &other) {
			return nil, nil // another program took no notice of the reservation: there is nothing to give back
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
