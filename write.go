// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Write stores src as the selected elements. src must have exactly these elements, in C
// order. A nil selection is the whole array. Chunks that the selection covers completely
// are not read. When Write returns, the elements are as durable as [Options.Durability]
// says. If it fails, every chunk holds its old or its new elements.
//
// Errors are of type [*Error]. They wrap [ErrInvalidArgument] if T, the selection, the
// number of values or a value does not fit, such as a time within a step of the data
// type, and [ErrConflict] if another process has removed or replaced the array meanwhile.
func Write[T dtype.Element](ctx context.Context, to Elements, sel selection.Selection, src []T) error {
	t, err := to.of(sel)
	if err == nil {
		err = t.writeView(ctx, element.Check[T], func(r *snapshot.Selected) (strided.View, error) {
			e, err := element.From(r.Type, r.Heap, src)
			if err != nil {
				return strided.View{}, err
			}
			return r.CheckedView(e)
		})
	}
	return t.fail("write", err)
}

// WriteBytes is [Write] for any data type of fixed size. src has the elements in host
// byte order.
func (a *Array) WriteBytes(ctx context.Context, sel selection.Selection, src []byte) error {
	return a.fail("write", a.target(sel).writeView(ctx, nil, func(r *snapshot.Selected) (strided.View, error) {
		return r.CheckedView(element.Buffer{Type: r.Type, Data: src})
	}))
}

// Fill stores one value in every selected element. It makes no copies of the value in
// memory, apart from the chunks that it encodes. T must be the Go type of the data type,
// so a constant may need a conversion, such as float32(280).
func Fill[T dtype.Element](ctx context.Context, to Elements, sel selection.Selection, value T) error {
	t, err := to.of(sel)
	if err == nil {
		err = t.repeat(ctx, element.Check[T], func(r *snapshot.Selected) (element.Buffer, error) {
			return element.From(r.Type, r.Heap, []T{value})
		})
	}
	return t.fail("fill", err)
}

// FillBytes is [Fill] for any data type of fixed size. elem is one element in host byte
// order.
func (a *Array) FillBytes(ctx context.Context, sel selection.Selection, elem []byte) error {
	return a.fail("fill", a.target(sel).repeat(ctx, nil, func(r *snapshot.Selected) (element.Buffer, error) {
		return element.Buffer{Type: r.Type, Data: elem}, nil
	}))
}

// manyPoints bounds the points that [Fill] writes at once, because sorting them takes
// memory.
const manyPoints = 1 << 22

// repeat writes a view with zero strides, which shows one element everywhere.
func (t target) repeat(ctx context.Context, takes snapshot.Accepts, one func(*snapshot.Selected) (element.Buffer, error)) error {
	if r, err := t.at.Resolve(t.sel, takes); err == nil && r.Axes() == nil && r.Len() > manyPoints {
		for slab := range r.Slabs(t.at.Grid, 1, manyPoints) {
			if err := t.part(r.Part(slab)).repeat(ctx, takes, one); err != nil {
				return err
			}
		}
		return nil
	}
	return t.writeView(ctx, takes, func(r *snapshot.Selected) (strided.View, error) {
		e, err := one(r)
		if err != nil {
			return strided.View{}, err
		}
		return r.One(e)
	})
}

// writeView stores the elements that view returns for the selection.
func (t target) writeView(ctx context.Context, takes snapshot.Accepts, view func(*snapshot.Selected) (strided.View, error)) error {
	if err := t.writable(); err != nil {
		return err
	}
	// Other writes may run at the same time, but no change of the extent by this process.
	lock, err := t.lock().Share(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	typ := t.at.Type // what the caller converted the values to
	s, border, err := t.forWriting(ctx, takes)
	if err != nil {
		return err
	}
	return t.core.Store(ctx, lock, s, border, func(s *snapshot.Array, shared bool) (grid.Box, error) {
		if s.Type != typ { // the bytes of the values could fit another type of the same size
			return nil, fmt.Errorf("%w: it was %s and is %s", array.ErrReplaced, typ, s.Type)
		}
		r, err := s.Resolve(t.sel, takes)
		if err != nil {
			return nil, err
		}
		v, err := view(r)
		if err != nil {
			return nil, err
		}
		return r.Touched(s.Grid), t.core.Batch(ctx, func(ctx context.Context, b store.Batch) error {
			return s.Engine.Write(ctx, r.Elements, v, engine.Writing{Batch: b, Shared: shared, Plain: true})
		})
	})
}

// forWriting returns the newest state, and whether a selection touches boundary chunks.
// For these, WithoutGrowth looks for the newest state under the lock. Looking
// matters even elsewhere: another process may have published other edges, and a chunk
// with the old shape under a key of the new grid would be damage.
func (t target) forWriting(ctx context.Context, takes snapshot.Accepts) (s *snapshot.Array, border bool, err error) {
	if s, err = t.current(); err != nil {
		return nil, false, err
	}
	r, err := s.Resolve(t.sel, takes)
	if err != nil && !t.options.SingleWriter {
		// Another process may have appended the elements.
		if now, staleErr := t.core.LookUnmoved(ctx, s); staleErr == nil && now != s {
			s = now
			r, err = s.Resolve(t.sel, takes)
		}
	}
	if err != nil || s.AtBorder(r.Elements) || t.options.SingleWriter {
		return s, err == nil && s.AtBorder(r.Elements), err
	}
	now, err := t.core.LookUnmoved(ctx, s)
	if err != nil || now == s {
		return s, false, err
	}
	if r, err = now.Resolve(t.sel, takes); err != nil {
		return now, false, err
	}
	return now, now.AtBorder(r.Elements), nil
}

// elementsOf converts values to elements of an array.
func elementsOf[T dtype.Element](a *Array, values []T) (element.Buffer, error) {
	s := a.core.State()
	return element.From(s.Type, s.Engine.Heap, values)
}
