// SPDX-License-Identifier: Apache-2.0

package array

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Reservation is a region beyond the end of an array that several writers fill.
type Reservation struct {
	*Array
	Holder string // of the array, as package publish knows it
	Note   ReservationNote
}

// ReservationNote is the stored form of a reservation.
type ReservationNote struct {
	Axis    int     `json:"axis"`
	Start   int64   `json:"start"`   // first element
	Lengths []int64 `json:"lengths"` // elements of each part

	By store.Holder `json:"by,omitzero"` // the process that made it
}

// Reservation returns the reservation of the array, or nil.
func (a *Array) Reservation(ctx context.Context) (*Reservation, error) {
	// The holder and its note are in the pointer beside the document ([publish.Hold]).
	holder, raw, err := publish.Holder(ctx, a.Node.Node)
	if err != nil || holder == "" {
		return nil, err
	}
	r := &Reservation{Array: a, Holder: holder}
	err = json.Unmarshal(raw, &r.Note)
	if err == nil {
		err = r.Note.check(a.State().Grid.Rank())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the note of %.100s (remove %s/%s if no writer is running): %w", metadata.ErrInvalid, holder, own.Dir, own.Pending, err)
	}
	return r, nil
}

// check returns an error if no reservation of an array of this rank can have the note.
func (n ReservationNote) check(rank int) error {
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

// Publisher describes the array to package publish, with the reservation as its holder.
func (r *Reservation) Publisher() publish.Node {
	n := r.Node.Node
	n.Holder = r.Holder
	return n
}

// Region returns the region of all parts.
func (r *Reservation) Region(s *snapshot.Array) grid.Box {
	box := grid.BoxOf(s.Grid.Shape())
	stop := r.Note.Start
	for _, n := range r.Note.Lengths {
		stop += n
	}
	box[r.Note.Axis] = grid.Interval{Start: r.Note.Start, Stop: stop}
	return box
}

// A chunk under a key of a part does not prove that the part was written. A crashed
// append may have left it there, or a slow one may still store it. So every part has a
// mark, which is stored after its chunks.

// partsDir is the directory, below that of the array, of the marks of all reservations.
const partsDir = own.Dir + "/parts/"

// mark returns the key of the mark of a part.
func (r *Reservation) mark(part int) store.Key {
	id := sha256.Sum256([]byte(r.Holder)) // a holder may have characters that a key cannot have
	return r.Node.Path.MustKey(partsDir + hex.EncodeToString(id[:16]) + "/" + strconv.Itoa(part))
}

// MarkWritten stores the mark of a part.
func (r *Reservation) MarkWritten(ctx context.Context, part int) error {
	_, err := store.Write(ctx, r.Node.Store, store.Put(r.mark(part), []byte("{}")), r.Node.Durability)
	return err
}

// Check returns an error unless all parts are marked as written and all their chunks are
// stored, in the grid that the array will have.
func (r *Reservation) Check(ctx context.Context, s *snapshot.Array, g *grid.Grid) error {
	region := r.Region(s)
	end := &region[r.Note.Axis]
	end.Stop = end.Start
	for part, n := range r.Note.Lengths {
		end.Start, end.Stop = end.Stop, end.Stop+n
		written, err := store.Exists(ctx, r.Node.Store, r.mark(part))
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

// Release removes the marks and ends the reservation. After a crash in between, another
// process finds the reservation without marks. If it was published, that process ends it.
// If it was cancelled, its chunks are deleted too, so that no part counts as written.
func (r *Reservation) Release(ctx context.Context) error {
	err := r.Batch(ctx, func(ctx context.Context, b store.Batch) error {
		for part := range len(r.Note.Lengths) {
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
	return publish.Release(ctx, r.Publisher())
}

// EndPublished ends a reservation that is published but not ended, because its writer
// crashed in between. It reports whether there was one. If holder is not "", only that
// reservation counts.
func (a *Array) EndPublished(ctx context.Context, holder string) (bool, error) {
	r, err := a.Reservation(ctx)
	if err != nil || r == nil || holder != "" && r.Holder != holder {
		return false, err
	}
	// Read the document after the holder. An older document, from before this
	// reservation, could look as if the reservation were published.
	s, err := a.Reload(ctx, a.state.Load())
	if err != nil || s.Grid.Axis(r.Note.Axis).Extent() != r.Region(s)[r.Note.Axis].Stop {
		return false, err
	}
	return true, r.Release(ctx)
}
