package zarr

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/selection"
)

// Read returns the selected elements as a new block; a nil selection is the whole array. T has to be the Go type of the
// array's data type: converting is the caller's business.
//
// Errors are of type [*Error]. They wrap [ErrInvalidArgument] where T or the selection does not fit, and [ErrCorrupt]
// where a chunk cannot be decoded, which is never read as fill value.
func Read[T dtype.Element](ctx context.Context, a *Array, sel selection.Selection) (Block[T], error) {
	var b Block[T]
	s := a.state.Load()
	if err := checkElement[T](s.typ); err != nil {
		return b, a.fail("read", err)
	}
	var e elements
	err := a.read(ctx, sel, s.typ, true, func(r *selection.Resolved) (elements, error) {
		if r.Len() > a.options.Limits.block()/int64(s.engine.Size) {
			return e, fmt.Errorf("%w: a block of shape %v (Limits.Block); read a part of it", ErrLimit, r.Shape())
		}
		b = Block[T]{r.Shape(), make([]T, r.Len())}
		if native[T](s.typ) {
			return elements{typ: s.typ, data: bytesOf(b.Data)}, nil
		}
		e = s.room(r.Len())
		return e, nil
	})
	if err == nil && e.data != nil {
		err = valuesOf(e, b.Data)
	}
	if err != nil {
		return Block[T]{}, a.fail("read", err)
	}
	return b, nil
}

// ReadInto is [Read] into the caller's slice, which has room for just the selected elements, in C order.
// After an error the slice may hold anything.
func ReadInto[T dtype.Element](ctx context.Context, a *Array, sel selection.Selection, dst []T) error {
	s := a.state.Load()
	if native[T](s.typ) {
		return a.readInto(ctx, sel, elements{typ: s.typ, data: bytesOf(dst)})
	}
	if err := checkElement[T](s.typ); err != nil {
		return a.fail("read", err)
	}
	e := s.room(int64(len(dst)))
	if err := a.readInto(ctx, sel, e); err != nil {
		return err
	}
	return a.fail("read", valuesOf(e, dst))
}

// ReadBytes reads the selected elements of an array of any type into dst, which has room for just them: in C order and in
// the byte order of the host. After an error dst may hold anything.
func (a *Array) ReadBytes(ctx context.Context, sel selection.Selection, dst []byte) error {
	if t := a.Type(); t.Variable() {
		return a.fail("read", errVariable(t))
	}
	return a.readInto(ctx, sel, elements{typ: a.Type(), data: dst})
}

func (a *Array) readInto(ctx context.Context, sel selection.Selection, dst elements) error {
	return a.fail("read", a.read(ctx, sel, dst.typ, false, func(*selection.Resolved) (elements, error) { return dst, nil }))
}

// readTries is how often a read begins anew because the array was changed under it.
const readTries = 16

// grownLooks is how often a read begins anew where the array seems to have grown and nothing else.
const grownLooks = 3

// read fills what room returns for a selection with its elements. A chunk that is not stored, that is newer than the state
// which the read began with, or that does not decode may be one that another program has deleted, or written for another grid:
// where the document is newer too, the read begins anew. Where all that has changed is that the array has grown behind the
// chunks that were read, that is done [grownLooks] times: it may also have shrunk and grown again, but an array to which others
// append all the time has to be read at last. Chunks are written before the document that describes them, so one that is not newer than
// a document is what that document says.
func (a *Array) read(
	ctx context.Context, sel selection.Selection, t dtype.Type, zeroed bool, room func(*selection.Resolved) (elements, error),
) error {
	s, grown := a.state.Load(), false
	var r *selection.Resolved
	var dst elements
	var err error
	looks := 0
	for range readTries {
		if !grown { // elsewhere what was selected is still what is asked for
			if r, err = s.resolve(sel, t); err != nil {
				if now, staleErr := a.fresh(ctx, s); staleErr == nil && now != s {
					s = now // what is not there may have been appended by somebody else
					continue
				}
				return err
			}
			if dst, err = room(r); err != nil {
				return err
			}
		}
		view, err := s.view(r, dst)
		if err != nil {
			return err
		}
		suspect, err := s.engine.Read(ctx, r, view, engine.Reading{Zeroed: zeroed && !grown, Since: s.since()})
		if !errors.Is(err, ErrCorrupt) && (err != nil || suspect == engine.Certain) {
			return err
		}
		now, staleErr := a.fresh(ctx, s)
		if now == s || staleErr != nil {
			return errors.Join(err, staleErr)
		}
		grown = err == nil && s.grewTo(now, selection.NewPlan(r, s.grid).Touched())
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

// grewTo reports whether the array has only grown from s to now as far as these chunks are concerned: each is still the same cell.
func (s *state) grewTo(now *state, chunks grid.Box) bool {
	for i, n := range now.grid.Shape() {
		if i >= s.grid.Rank() || n < s.grid.Axis(i).Extent() {
			return false
		}
	}
	return s.engine.Keys == now.engine.Keys && s.typ == now.typ && s.grid.SameCells(now.grid, chunks)
}

// Select returns what a selection means for the array as it is: its shape and how many elements it has.
func (a *Array) Select(sel selection.Selection) (*selection.Resolved, error) {
	s := a.state.Load()
	r, err := s.resolve(sel, s.typ)
	return r, a.fail("select", err)
}

// resolve binds a selection to the shape after a look at the type that the caller has.
func (s *state) resolve(sel selection.Selection, t dtype.Type) (*selection.Resolved, error) {
	if t != s.typ {
		return nil, badArgument("the elements are %s, not %s", s.typ, t)
	}
	return selection.Resolve(sel, s.grid.Shape())
}

// view shows memory in the shape of a selection, with every axis kept.
func (s *state) view(r *selection.Resolved, e elements) (grid.View, error) {
	size := int64(s.engine.Size)
	if have := int64(len(e.data)); have%size != 0 || have/size != r.Len() {
		return grid.View{}, badArgument("%d values (%d bytes) for a selection of shape %v, which has %d", have/size, have, r.Shape(), r.Len())
	}
	v := grid.Contiguous(e.data, r.FullShape(), int(size))
	v.Heap = e.heap
	return v, nil
}
