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
	"varve.dev/zarr/selection"
	"varve.dev/zarr/strided"
)

// Read returns the selected elements as a new block; a nil selection is the whole array.
// T has to be the Go type of the data type of what is selected: converting is the
// caller's business.
//
// Errors are of type [*Error]. They wrap [ErrInvalidArgument] where T or the selection
// does not fit, and [ErrCorrupt] where a chunk cannot be decoded, which is never read as
// fill value.
func Read[T dtype.Element](ctx context.Context, from Elements, sel selection.Selection) (Block[T], error) {
	var b Block[T]
	var e element.Buffer
	a, sel, err := from.of(sel)
	if err == nil {
		err = a.read(ctx, sel, element.Check[T], true, func(r *snapshot.Selected) (strided.View, error) {
			if r.Len() > a.options.Limits.block()/r.Size() {
				return strided.View{}, fmt.Errorf("%w: a block of shape %v (Limits.Block); read a part of it", ErrLimit, r.Shape())
			}
			b = newBlock[T](r)
			e = roomFor(a, r, b.Data)
			return r.View(e)
		})
	}
	if err == nil {
		err = element.Values(e, b.Data)
	}
	if err != nil {
		return Block[T]{}, a.fail("read", err)
	}
	return b, nil
}

// ReadInto is [Read] into the caller's slice, which has room for just the selected
// elements, in C order. After an error the slice may hold anything.
func ReadInto[T dtype.Element](ctx context.Context, from Elements, sel selection.Selection, dst []T) error {
	var e element.Buffer
	a, sel, err := from.of(sel)
	if err == nil {
		err = a.read(ctx, sel, element.Check[T], false, func(r *snapshot.Selected) (strided.View, error) {
			if int64(len(dst)) != r.Len() {
				return strided.View{}, fault.Argument("%d values for a selection of shape %v, which has %d", len(dst), r.Shape(), r.Len())
			}
			e = roomFor(a, r, dst)
			return r.View(e)
		})
	}
	if err == nil {
		err = element.Values(e, dst)
	}
	return a.fail("read", err)
}

// roomFor returns memory for what is selected: that of the caller's values where they are
// the elements as they stand.
func roomFor[T dtype.Element](a *Array, r *snapshot.Selected, values []T) element.Buffer {
	if element.Native[T](r.Type) {
		return element.Buffer{Type: r.Type, Data: element.Bytes(values)}
	}
	return r.Room(a.options.Limits.block())
}

// elements reads a box of elements that differ in length, without making values of them.
func (a *Array) elements(ctx context.Context, box grid.Box) (e element.Buffer, err error) {
	err = a.read(ctx, box, nil, true, func(r *snapshot.Selected) (strided.View, error) {
		e = r.Room(a.options.Limits.block())
		return r.View(e)
	})
	return e, a.fail("read", err)
}

// ReadBytes reads the selected elements of an array of any type of fixed width into dst,
// which has room for just them: in C order and in the byte order of the host. Fields of
// structs that are selected follow each other without gaps. After an error dst may hold
// anything.
func (a *Array) ReadBytes(ctx context.Context, sel selection.Selection, dst []byte) error {
	return a.fail("read", a.read(ctx, sel, nil, false, func(r *snapshot.Selected) (strided.View, error) {
		return r.View(element.Buffer{Type: r.Type, Data: dst})
	}))
}

// readTries is how often a read begins anew because the array was changed under it.
const readTries = 16

// grownLooks is how often a read begins anew where the array seems to have grown and
// nothing else.
const grownLooks = 3

// read fills what room shows for a selection with its elements. A chunk that is not
// stored, that is newer than the state which the read began with, or that does not decode
// may be one that another program has deleted, or written for another grid: where the
// document is newer too, the read begins anew. Where all that has changed is that the
// array has grown behind the chunks that were read, that is done [grownLooks] times: it
// may also have shrunk and grown again, but an array to which others append all the time
// has to be read at last. Chunks are written before the document that describes them, so
// one that is not newer than a document is what that document says.
func (a *Array) read(
	ctx context.Context, sel selection.Selection, takes snapshot.Accepts, zeroed bool, room func(*snapshot.Selected) (strided.View, error),
) error {
	s, grown := a.state.Load(), false
	var r *snapshot.Selected
	var view strided.View
	var err error
	looks := 0
	for range readTries {
		if !grown { // elsewhere what was selected is still what is asked for
			if r, err = s.Resolve(sel, takes); err != nil {
				if now, staleErr := a.fresh(ctx, s); staleErr == nil && now != s {
					s = now // what is not there may have been appended by somebody else
					continue
				}
				return err
			}
			if view, err = room(r); err != nil {
				return err
			}
		}
		suspect, err := s.ReadTo(ctx, r, view, zeroed && !grown)
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, engine.ErrMissing) && (err != nil || suspect == engine.Certain) {
			return err
		}
		now, staleErr := a.fresh(ctx, s)
		if now == s || staleErr != nil {
			return errors.Join(err, staleErr)
		}
		grown = err == nil && s.GrewTo(now, r.Touched(s.Grid))
		if !grown {
			looks = -1
		}
		if looks++; looks > grownLooks && suspect == engine.Newer {
			return nil
		}
		s = now
	}
	if grown {
		return nil // a chunk that is not stored was not stored, again and again
	}
	return fmt.Errorf("%w while it was read, again and again", ErrConflict)
}

// Select returns what a selection means for the array as it is: its shape and how many
// elements it has.
func (a *Array) Select(sel selection.Selection) (*selection.Resolved, error) {
	r, err := a.state.Load().Resolve(sel, nil)
	if err != nil {
		return nil, a.fail("select", err)
	}
	return r.Resolved, nil
}
