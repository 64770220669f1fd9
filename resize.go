package zarr

import (
	"context"
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Append grows the array along an axis by the elements of src, which is in C order and as long as the array along all other
// axes. On an axis with listed edges it writes the new chunk and the document and reads nothing: one edge is added, once
// edges that reach beyond the extent are filled. A regular axis fills its last chunk first.
//
// Readers see the array without the new elements, or with all of them. Several programs may append to an array in
// a store with locks; each appends behind the others.
func Append[T dtype.Element](ctx context.Context, a *Array, axis int, src []T) error {
	return a.fail("append", a.append(ctx, axis, dtype.Of[T](), bytesOf(src)))
}

// AppendBytes is [Append] for an array of any type: src has the elements in the byte order of the host.
func (a *Array) AppendBytes(ctx context.Context, axis int, src []byte) error {
	return a.fail("append", a.append(ctx, axis, a.Type(), src))
}

func (a *Array) append(ctx context.Context, axis int, t dtype.Type, src []byte) error {
	if axis < 0 {
		axis += a.Rank()
	}
	if axis < 0 || axis >= a.Rank() {
		return badArgument("axis %d of an array with %d axes", axis, a.Rank())
	}
	return a.change(ctx, func(s *state) (*growth, error) {
		if t != s.typ {
			return nil, badArgument("the elements are %s, not %s", s.typ, t)
		}
		shape := s.grid.Shape()
		count, err := s.planes(axis, len(src))
		if err != nil || count == 0 {
			return nil, err
		}
		from := shape[axis]
		if shape[axis] += count; shape[axis] < 0 {
			return nil, ErrOverflow
		}
		region := grid.BoxOf(shape)
		region[axis].Start = from
		return &growth{shape: shape, region: region, data: src}, nil
	})
}

// planes returns how many indices along the axis a number of bytes fills.
func (s *state) planes(axis, bytes int) (int64, error) {
	shape := s.grid.Shape()
	shape[axis] = 1
	plane, ok := checked.Product(append(shape, int64(s.typ.Size()))...)
	if plane == 0 && bytes == 0 && ok {
		return 0, nil
	}
	if !ok || plane == 0 || int64(bytes)%plane != 0 {
		return 0, badArgument("%d bytes do not fill planes of shape %v and type %s along axis %d (%d bytes each)", bytes, shape, s.typ, axis, plane)
	}
	return int64(bytes) / plane, nil
}

// Resize changes the extents of the array. Elements within both shapes stay. What an array grows by is the fill value, whatever
// it held before it once shrank; chunks that it shrinks by are deleted after readers have been told.
// Listed edges are kept where they reach beyond the new extent, and one edge is added where they do not reach it.
func (a *Array) Resize(ctx context.Context, shape []int64) error {
	return a.fail("resize", a.change(ctx, func(s *state) (*growth, error) {
		if slices.Equal(shape, s.grid.Shape()) {
			return nil, nil
		}
		return &growth{shape: shape}, nil
	}))
}

// growth is a change of the extents, with elements for the new region where it is appended to.
type growth struct {
	shape  []int64
	region grid.Box
	data   []byte
}

// change publishes a change of the extents that plan makes of the newest state.
func (a *Array) change(ctx context.Context, plan func(*state) (*growth, error)) error {
	_, leave, err := a.enter(ctx, allTurns)
	if err != nil {
		return err
	}
	defer leave()
	return a.update(ctx, func(old *state) (*publish.Change, *state, error) {
		g, err := plan(old)
		if err != nil || g == nil {
			return nil, nil, err
		}
		next, err := a.resized(old, g.shape)
		if err != nil {
			return nil, nil, err
		}
		c, err := a.stage(old, next, g)
		return c, next, err
	})
}

// update publishes a change that plan makes of the newest state, and the state that it leads to.
func (a *Array) update(ctx context.Context, plan func(old *state) (*publish.Change, *state, error)) error {
	if err := a.writable(); err != nil {
		return err
	}
	return publish.Update(ctx, a.publisher(), func(document []byte) (*publish.Change, error) {
		old, err := a.parse(document, store.Version{})
		if err != nil {
			return nil, err
		}
		change, next, err := plan(old)
		if err != nil {
			return nil, err
		}
		if change == nil {
			a.state.Store(old)
			return nil, nil
		}
		change.Published = func(v store.Version) {
			next.version = v
			a.state.Store(next)
		}
		return change, nil
	})
}

// resized returns the state with another shape.
func (a *Array) resized(s *state, shape []int64) (*state, error) {
	g, err := s.grid.Resized(shape)
	if err != nil {
		return nil, err
	}
	ext := metadata.Extension{Name: g.Name(), Configuration: g.AppendConfiguration(nil)}
	if slices.Equal(ext.Configuration, s.grid.AppendConfiguration(nil)) {
		ext = s.doc.ChunkGrid // the edges are the same: keep the spelling
	}
	return a.bind(s.doc.Resized(shape, ext), store.Version{})
}

// stage returns the change from one state to the next.
func (a *Array) stage(old, next *state, g *growth) (*publish.Change, error) {
	doc, err := next.doc.Marshal(a.options.Limits.metadata())
	if err != nil {
		return nil, err
	}
	was, is := old.grid.Shape(), next.grid.Shape()
	change := &publish.Change{Document: doc}
	change.Stage = func(ctx context.Context, b store.Batch) error {
		if g.data != nil {
			return next.write(ctx, g, was, b)
		}
		return old.expose(ctx, next, b)
	}
	change.Abandon = func(ctx context.Context, b store.Batch) error { return next.deleteNew(ctx, old, b) }
	if shrinks(was, is) {
		change.Reclaim = func(ctx context.Context, b store.Batch) error { return old.cut(ctx, next, is, b) }
	}
	return change, nil
}

// shrinks reports whether an axis becomes shorter.
func shrinks(was, is []int64) bool {
	for i := range was {
		if is[i] < was[i] {
			return true
		}
	}
	return false
}

// write stores the elements of a region that was the shape before does not have.
func (s *state) write(ctx context.Context, g *growth, was []int64, b store.Batch) error {
	r, err := selection.Resolve(selection.Region(g.region), s.grid.Shape())
	if err != nil {
		return err
	}
	view, err := s.source(r, g.data)
	if err != nil {
		return err
	}
	return s.engine.Write(ctx, r, view, was, b)
}

// deleteNew deletes what is stored under the keys of the chunks that s has and the other state has not.
func (s *state) deleteNew(ctx context.Context, other *state, b store.Batch) error {
	for cells := range grid.BoxOf(s.grid.Chunks()).Subtract(grid.BoxOf(other.grid.Chunks())) {
		if err := s.engine.Delete(ctx, cells, b); err != nil {
			return err
		}
	}
	return nil
}

// expose makes sure that the elements which the next state adds are the fill value: what an older writer left in
// cut chunks is cleared, and what a writer that died left under the keys of new chunks is deleted.
func (s *state) expose(ctx context.Context, next *state, b store.Batch) error {
	if err := next.deleteNew(ctx, s, b); err != nil {
		return err
	}
	old := grid.BoxOf(s.grid.Chunks())
	for i := range old {
		a := s.grid.Axis(i)
		last, ok := a.Cell(a.Chunks() - 1)
		if !ok || !last.IsBoundary() || next.grid.Axis(i).Extent() <= a.Extent() {
			continue
		}
		edge := slices.Clone(old)
		edge[i].Start = last.Index
		if err := s.engine.Clear(ctx, edge, s.grid.Shape(), b); err != nil {
			return err
		}
	}
	return nil
}

// cut deletes the chunks that the next state does not have any more, and clears what it cut off from others.
func (s *state) cut(ctx context.Context, next *state, shape []int64, b store.Batch) error {
	if err := s.deleteNew(ctx, next, b); err != nil {
		return err
	}
	kept := grid.BoxOf(next.grid.Chunks())
	for i := range kept {
		a := next.grid.Axis(i)
		last, ok := a.Cell(a.Chunks() - 1)
		if !ok || !last.IsBoundary() || a.Extent() >= s.grid.Axis(i).Extent() {
			continue
		}
		edge := slices.Clone(kept)
		edge[i].Start = last.Index
		if err := next.engine.Clear(ctx, edge, shape, b); err != nil {
			return err
		}
	}
	return nil
}
