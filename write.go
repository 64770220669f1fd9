package zarr

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/nodelock"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
)

// Write stores src, which has just the selected elements in C order, as the selected
// elements; a nil selection is the whole array. Chunks that the selection covers are not
// read first. When it returns, the elements are as durable as [Options.Durability] says;
// when it fails, every chunk holds its old or its new elements. Where another program has
// removed or replaced the array meanwhile, the error wraps [ErrConflict].
//
// Errors are of type [*Error]; they wrap [ErrInvalidArgument] where T, the selection or
// the number of values does not fit.
func Write[T dtype.Element](ctx context.Context, to Elements, sel selection.Selection, src []T) error {
	a, sel, err := to.of(sel)
	if err == nil {
		err = a.writeView(ctx, sel, element.Check[T], func(r *snapshot.Selected) (strided.View, error) {
			e, err := element.From(r.Type, r.Heap, src)
			if err != nil {
				return strided.View{}, err
			}
			return r.CheckedView(e)
		})
	}
	return a.fail("write", err)
}

// WriteBytes is [Write] for an array of any type of fixed width: src has the elements in
// the byte order of the host.
func (a *Array) WriteBytes(ctx context.Context, sel selection.Selection, src []byte) error {
	return a.fail("write", a.writeView(ctx, sel, nil, func(r *snapshot.Selected) (strided.View, error) {
		return r.CheckedView(element.Buffer{Type: r.Type, Data: src})
	}))
}

// Fill stores one value as every selected element. It takes the memory of one.
func Fill[T dtype.Element](ctx context.Context, to Elements, sel selection.Selection, value T) error {
	a, sel, err := to.of(sel)
	if err == nil {
		err = a.repeat(ctx, sel, element.Check[T], func(r *snapshot.Selected) (element.Buffer, error) {
			return element.From(r.Type, r.Heap, []T{value})
		})
	}
	return a.fail("fill", err)
}

// FillBytes is [Fill] for an array of any type of fixed width: elem is one element in the
// byte order of the host.
func (a *Array) FillBytes(ctx context.Context, sel selection.Selection, elem []byte) error {
	return a.fail("fill", a.repeat(ctx, sel, nil, func(r *snapshot.Selected) (element.Buffer, error) {
		return element.Buffer{Type: r.Type, Data: elem}, nil
	}))
}

// manyPoints is how many points are written at a time where one value stands for all:
// their order takes memory.
const manyPoints = 1 << 22

// repeat writes a block whose strides are zero: one element is all the memory it needs.
func (a *Array) repeat(ctx context.Context, sel selection.Selection, takes snapshot.Accepts, one func(*snapshot.Selected) (element.Buffer, error)) error {
	s := a.state.Load()
	if r, err := s.Resolve(sel, takes); err == nil && r.Axes() == nil && r.Len() > manyPoints {
		for slab := range r.Slabs(s.Grid, 1, manyPoints) {
			if err := a.repeat(ctx, r.Part(slab), takes, one); err != nil {
				return err
			}
		}
		return nil
	}
	return a.writeView(ctx, sel, takes, func(r *snapshot.Selected) (strided.View, error) {
		e, err := one(r)
		if err != nil {
			return strided.View{}, err
		}
		return r.One(e)
	})
}

// writeView stores the elements that view shows for the selection.
func (a *Array) writeView(
	ctx context.Context, sel selection.Selection, takes snapshot.Accepts, view func(*snapshot.Selected) (strided.View, error),
) error {
	if err := a.writable(); err != nil {
		return err
	}
	lock, err := a.lock().Share(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	typ := a.state.Load().Type
	s, border, err := a.forWriting(ctx, sel, takes)
	if err != nil {
		return err
	}
	write := func(s *snapshot.Array, shared bool) error {
		if s.Type != typ { // which the bytes of the values may fit all the same
			return fmt.Errorf("%w: it was %s and is %s", errReplaced, typ, s.Type)
		}
		r, err := s.Resolve(sel, takes)
		if err != nil {
			return err
		}
		v, err := view(r)
		if err != nil {
			return err
		}
		err = a.batch(ctx, func(ctx context.Context, b store.Batch) error {
			return s.Engine.Write(ctx, r.Resolved, v, engine.Writing{Batch: b, Shared: shared})
		})
		if err != nil {
			return err
		}
		return a.confirmStored(ctx, s, r.Touched(s.Grid))
	}
	if border {
		return a.withoutGrowth(ctx, lock, s, write)
	}
	return write(s, false)
}

// forWriting returns the newest state, and whether a selection touches its border; there
// [Array.withoutGrowth] looks for the newest one. Another program may have cut the array
// in another way: under a key that has another chunk now, one of the old length would be
// damage.
func (a *Array) forWriting(ctx context.Context, sel selection.Selection, takes snapshot.Accepts) (s *snapshot.Array, border bool, err error) {
	s = a.state.Load()
	r, err := s.Resolve(sel, takes)
	if err != nil || s.AtBorder(r.Resolved) || a.options.SingleWriter {
		return s, err == nil && s.AtBorder(r.Resolved), err
	}
	now, err := a.fresh(ctx, s)
	if err != nil || now == s {
		return s, false, err
	}
	if r, err = now.Resolve(sel, takes); err != nil {
		return now, false, err
	}
	return now, now.AtBorder(r.Resolved), nil
}

// withoutGrowth runs write with the newest state while no other program can make the
// array grow or shrink. In a store without locks others can: shared tells write to read
// whatever it does not own.
func (a *Array) withoutGrowth(ctx context.Context, h *nodelock.Held, s *snapshot.Array, write func(s *snapshot.Array, shared bool) error) error {
	release, locked, err := h.LockStore(ctx)
	if err != nil {
		return err
	}
	shared := !locked && !a.options.SingleWriter
	for range writeTries {
		if s, err = a.fresh(ctx, s); err == nil {
			err = write(s, shared)
		}
		if !shared || errors.Is(err, errReplaced) || !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrConflict) {
			break
		}
		if now, staleErr := a.fresh(ctx, s); now == s || staleErr != nil {
			break // the chunk is as it is because of nobody else
		}
	}
	return errors.Join(err, release())
}

// writeTries is how often a write at the border is done anew because others changed the
// array meanwhile.
const writeTries = 32

// batch runs work with a batch of writes that is committed when work succeeds.
func (a *Array) batch(ctx context.Context, work func(context.Context, store.Batch) error) error {
	return publish.Batch(store.WithLocking(ctx, a.options.Locking), a.hierarchy.store, a.options.Durability, work)
}

// elementsOf returns the memory of values as elements of an array.
func elementsOf[T dtype.Element](a *Array, values []T) (element.Buffer, error) {
	s := a.state.Load()
	return element.From(s.Type, s.Engine.Heap, values)
}
