// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
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
