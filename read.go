// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
)

// Read returns the selected elements as a new block. A nil selection is the whole array.
// T must be the Go type of the selected data type; [ReadAs] converts numbers.
//
// Errors are of type [*Error]. They wrap [ErrInvalidArgument] if T or the selection does
// not fit, and [ErrCorrupt] if a chunk cannot be decoded.
func Read[T dtype.Element](ctx context.Context, from Elements, sel selection.Selection) (Block[T], error) {
	var b Block[T]
	var e element.Buffer
	t, err := from.of(sel)
	if err == nil {
		err = t.read(ctx, element.Check[T], true, func(r *snapshot.Selected) (strided.View, error) {
			// Divide instead of multiplying, which could overflow.
			if r.Len() > t.options.Limits.block()/r.Size() {
				return strided.View{}, fmt.Errorf("%w: a block of shape %v (Limits.Block); read a part of it", ErrLimit, r.Shape())
			}
			b = newBlock[T](r)
			e = roomFor(t.Array, r, b.Data)
			return r.View(e)
		})
	}
	if err == nil {
		err = element.Values(e, b.Data)
	}
	if err != nil {
		return Block[T]{}, t.fail("read", err)
	}
	return b, nil
}

// ReadInto is [Read] into a slice of the caller, whose length must be the number of
// selected elements. After an error the content of the slice is undefined.
func ReadInto[T dtype.Element](ctx context.Context, from Elements, sel selection.Selection, dst []T) error {
	var e element.Buffer
	t, err := from.of(sel)
	if err == nil {
		err = t.read(ctx, element.Check[T], false, func(r *snapshot.Selected) (strided.View, error) {
			if int64(len(dst)) != r.Len() {
				return strided.View{}, fault.Argument("%d values for a selection of shape %v, which has %d", len(dst), r.Shape(), r.Len())
			}
			e = roomFor(t.Array, r, dst)
			return r.View(e)
		})
	}
	if err == nil {
		err = element.Values(e, dst)
	}
	return t.fail("read", err)
}

// roomFor returns memory for the selected elements. It is that of the caller's values if
// these have the form of elements.
func roomFor[T dtype.Element](a *Array, r *snapshot.Selected, values []T) element.Buffer {
	if element.Native[T](r.Type) {
		return element.Buffer{Type: r.Type, Data: element.Bytes(values)}
	}
	return r.Room(a.options.Limits.block())
}

// elements reads a box of elements of variable length, without converting them to values.
func (a *Array) elements(ctx context.Context, box grid.Box) (e element.Buffer, err error) {
	err = a.target(box).read(ctx, nil, true, func(r *snapshot.Selected) (strided.View, error) {
		e = r.Room(a.options.Limits.block())
		return r.View(e)
	})
	return e, a.fail("read", err)
}

// ReadBytes reads the selected elements into dst, for any data type of fixed size. The
// elements are in C order and host byte order, and dst must have exactly their size.
// Selected fields of structs are packed. After an error the content of dst is undefined.
func (a *Array) ReadBytes(ctx context.Context, sel selection.Selection, dst []byte) error {
	return a.fail("read", a.target(sel).read(ctx, nil, false, func(r *snapshot.Selected) (strided.View, error) {
		return r.View(element.Buffer{Type: r.Type, Data: dst})
	}))
}

// readTries bounds how often a read starts again because the array changed.
const readTries = 16

// grownLooks bounds how often a read starts again if the array seems to have only grown.
const grownLooks = 3

// read reads a selection into the view that room returns.
//
// A chunk is suspect if it is missing, does not decode, or was written after the document
// was read. Another process may have deleted it, or written it for another grid. If the
// document is newer than the one that this read began with, the read starts again with
// the new one. A chunk that is older than the document is never suspect, because writers
// store chunks before they publish the document that describes them.
//
// If the array has only grown, beyond the chunks of this read, the read starts again at
// most [grownLooks] times. The array could have shrunk and grown again meanwhile, but a
// read must also end while others append all the time.
//
// If elements were dropped or inserted meanwhile, the read keeps to its state, whose
// chunks stay until a vacuum. After that the error is [errMoved].
func (t target) read(ctx context.Context, takes snapshot.Accepts, zeroed bool, room func(*snapshot.Selected) (strided.View, error)) error {
	s, grown := t.at, false
	var r *snapshot.Selected
	var view strided.View
	var err error
	looks := 0
	for range readTries {
		if !grown { // after growth the resolved selection is still valid
			if r, err = s.Resolve(t.sel, takes); err != nil {
				if now, staleErr := t.fresh(ctx, s); staleErr == nil && now != s {
					s = now // another process may have appended the elements
					continue
				}
				return err
			}
			if view, err = room(r); err != nil {
				return err
			}
		}
		// After growth the view is that of the last try, whose memory is no longer zero.
		suspect, err := s.ReadTo(ctx, r, view, zeroed && !grown)
		// Only damage and missing chunks can result from a newer grid. Return other
		// errors at once, and results that no concurrent change can have affected.
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, engine.ErrMissing) && (err != nil || suspect == engine.Certain) {
			return err
		}
		now, staleErr := t.fresh(ctx, s)
		if errors.Is(staleErr, errMoved) {
			return t.orMoved(ctx, s, err)
		}
		// The document has not changed, so the first result stands.
		if now == s || staleErr != nil {
			return errors.Join(err, staleErr)
		}
		grown = err == nil && s.GrewTo(now, r.Touched(s.Grid))
		if !grown {
			// The edges may have changed, so everything read so far may be wrong. Start
			// counting again.
			looks = -1
		}
		// The chunks of this read are the same cells in every document seen, so newer
		// chunks are accepted. Missing chunks are tried until the loop ends.
		if looks++; looks > grownLooks && suspect == engine.Newer {
			return nil
		}
		s = now
	}
	if grown {
		return nil // missing chunks stayed missing in every try, so they have fill values
	}
	return errUnsettled
}

// orMoved returns the result err of a read of s, or [errMoved] if s may have lost chunks
// because a later state numbers elements otherwise.
func (a *Array) orMoved(ctx context.Context, s *snapshot.Array, err error) error {
	deleted, lookErr := a.vacuumed(ctx, s)
	switch {
	case lookErr != nil:
		return errors.Join(err, lookErr)
	case deleted:
		return movedSince(s)
	}
	return err
}

// errUnsettled is the error of a read that was repeated readTries times and found the
// array changed by another writer each time.
var errUnsettled = fmt.Errorf("%w each time it was read", ErrConflict)

// Select binds a selection to the array as it is now. The result has the shape and the
// number of the selected elements.
func (a *Array) Select(sel selection.Selection) (*selection.Resolved, error) {
	r, err := a.state.Load().Resolve(sel, nil)
	if err != nil {
		return nil, a.fail("select", err)
	}
	return r.Resolved, nil
}
