package zarr

import (
	"context"
	"fmt"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// Read returns the selected elements as a new block; a nil selection is the whole array. T has to be the Go type of the
// array's data type: converting is the caller's business.
//
// Errors are of type [*Error]. They wrap [ErrInvalidArgument] where T or the selection does not fit, and [ErrCorrupt]
// where a chunk cannot be decoded, which is never read as fill value.
func Read[T dtype.Element](ctx context.Context, a *Array, sel selection.Selection) (Block[T], error) {
	s := a.state.Load()
	r, err := s.resolve(sel, dtype.Of[T]())
	if err != nil {
		return Block[T]{}, a.fail("read", err)
	}
	if r.Len() > a.options.Limits.block()/int64(s.typ.Size()) {
		return Block[T]{}, a.fail("read", fmt.Errorf("%w: a block of shape %v (Limits.Block); read a part of it", ErrLimit, r.Shape()))
	}
	b := Block[T]{r.Shape(), make([]T, r.Len())}
	return b, a.fail("read", s.read(ctx, r, bytesOf(b.Data), true))
}

// ReadInto is [Read] into the caller's slice, which has room for just the selected elements, in C order.
// After an error the slice may hold anything.
func ReadInto[T dtype.Element](ctx context.Context, a *Array, sel selection.Selection, dst []T) error {
	s := a.state.Load()
	r, err := s.resolve(sel, dtype.Of[T]())
	if err != nil {
		return a.fail("read", err)
	}
	return a.fail("read", s.read(ctx, r, bytesOf(dst), false))
}

// ReadBytes reads the selected elements of an array of any type into dst, which has room for just them: in C order and in
// the byte order of the host. After an error dst may hold anything.
func (a *Array) ReadBytes(ctx context.Context, sel selection.Selection, dst []byte) error {
	s := a.state.Load()
	r, err := s.resolve(sel, s.typ)
	if err != nil {
		return a.fail("read", err)
	}
	return a.fail("read", s.read(ctx, r, dst, false))
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

func (s *state) read(ctx context.Context, r *selection.Resolved, dst []byte, zeroed bool) error {
	view, err := s.view(r, dst)
	if err != nil {
		return err
	}
	return s.engine.Read(ctx, r, view, zeroed)
}

// view shows memory in the shape of a selection, with every axis kept.
func (s *state) view(r *selection.Resolved, data []byte) (grid.View, error) {
	size := int64(s.typ.Size())
	if have := int64(len(data)); have%size != 0 || have/size != r.Len() {
		return grid.View{}, badArgument("%d values (%d bytes) for a selection of shape %v, which has %d", have/size, have, r.Shape(), r.Len())
	}
	return grid.Contiguous(data, r.FullShape(), int(size)), nil
}
