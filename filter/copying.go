// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// copying stores the chunks of one filtered array.
type copying struct {
	*array
	target *snapshot.Array
	work   *work
	block  int64          // bytes of elements of a block
	held   *budget.Budget // bounds the encoded bytes that pass through this program
}

// write stores the chunks of an array through to, which is open for writing.
func (w *work) write(ctx context.Context, a *array, to *zarr.Array) error {
	if s := a.offsetsOf; s != nil {
		w.advance(int64(len(a.pieces)), 0)
		return zarr.WriteAs(ctx, to, nil, s.keptOffsets(w.keptRows))
	}
	inner := to.Core()
	target, err := inner.Bind(to.Metadata(), false, func(e *engine.Array) { e.Budget = w.engine() })
	if err != nil {
		return err
	}
	c := &copying{array: a, target: target, work: w, block: w.block(), held: budget.New(w.engine())}
	r := &rounds{copying: c, s: inner.Node.Store}
	if err = c.copyAll(ctx, r, engine.DefaultConcurrency(c.source.Engine.Store, tasks)); err == nil {
		err = c.encodeAll(ctx, r)
	}
	return r.end(ctx, err)
}

// copyAll copies the chunks that are kept whole.
func (c *copying) copyAll(ctx context.Context, r *rounds, concurrency int) error {
	group, ctx := parallel.New(ctx)
	group.SetLimit(concurrency)
	for index := range c.candidates() {
		s := c.slabs[index[c.axis]]
		if !s.whole {
			continue
		}
		from, to := slices.Clone(index), slices.Clone(index)
		if to[c.axis] = s.first; c.isStaged(to) {
			c.work.found(1)
			continue
		}
		group.Go(func() error {
			err := r.do(ctx, func(b store.Batch) (m made, err error) {
				sure, err := c.isListed(ctx, from)
				if err == nil {
					m.bytes, err = c.copyChunk(ctx, b, from, to)
				}
				if sure && err == nil {
					sure, err = c.isListed(ctx, from)
				}
				if sure && err == nil {
					m.indices = [][]int64{to}
				}
				return m, err
			})
			if err != nil {
				return fmt.Errorf("chunk %v (%s): %w", from, c.source.Engine.Key(from), err)
			}
			return nil
		})
		if ctx.Err() != nil {
			break
		}
	}
	return group.Wait(nil)
}

// isListed reports whether a chunk of the source has the version of the listing still, so
// that what is made of it may be recorded. It does not look if there are no records.
func (c *copying) isListed(ctx context.Context, source []int64) (bool, error) {
	if !c.work.records {
		return false, nil
	}
	info, err := store.Stat(ctx, c.source.Engine.Store, c.source.Engine.Key(source))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && staging.DigestOf(info.Version) == c.stored.Digest(source), err
}

// copyChunk copies a chunk as it is encoded, within the store if it can, and returns its
// bytes.
func (c *copying) copyChunk(ctx context.Context, b store.Batch, from, to []int64) (int64, error) {
	key, source := c.target.Engine.Key(to), c.source.Engine.Key(from)
	made, err := b.Write(ctx, store.Copy(key, c.source.Engine.Store, source))
	n := made.Size
	if errors.Is(err, store.ErrUnsupported) {
		n, err = c.carry(ctx, b, key, source)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // it was deleted since it was listed, because it got the fill value
	}
	if err == nil {
		c.work.advance(1, n)
	}
	return n, err
}

// carry copies a value through this program, piece by piece if the store of the result
// can be written so.
func (c *copying) carry(ctx context.Context, b store.Batch, key, source store.Key) (int64, error) {
	info, err := store.Stat(ctx, c.source.Engine.Store, source)
	if err != nil {
		return 0, err
	}
	held, err := c.held.Acquire(ctx, min(info.Size, budget.Parts))
	if err != nil {
		return 0, err
	}
	_, err = b.Write(ctx, store.Gather(key, c.source.Engine.Store, []store.Part{{Key: source, Version: info.Version, N: info.Size}}))
	c.held.Release(held)
	if !errors.Is(err, store.ErrUnsupported) {
		return info.Size, err
	}
	if held, err = c.held.Acquire(ctx, info.Size); err != nil {
		return 0, err
	}
	defer c.held.Release(held)
	value, _, err := c.source.Engine.Store.Get(ctx, source, store.Request{}, nil)
	if err != nil {
		return 0, err
	}
	_, err = b.Write(ctx, store.Put(key, value))
	return int64(len(value)), err
}

// encodeAll encodes the chunks of which a part is kept.
func (c *copying) encodeAll(ctx context.Context, r *rounds) error {
	group, ctx := parallel.New(ctx)
	group.SetLimit(tasks)
	for region := range c.regions() {
		boxes, err := c.target.Engine.Boxes(region, c.boxBytes())
		if err != nil {
			return group.Wait(err)
		}
		for box := range boxes {
			for _, p := range c.missing(box) {
				group.Go(func() error {
					n, _ := p.box.Len()
					n *= int64(c.target.Engine.Size)
					return r.do(ctx, func(b store.Batch) (made, error) {
						within, seen := staging.Witnessing(ctx, nil)
						err := c.encode(within, b, p.box, n)
						if err == nil {
							c.work.advance(int64(len(p.indices)), 0)
						}
						return made{c.ofListed(p.indices, seen), n}, err
					})
				})
			}
			if ctx.Err() != nil {
				break
			}
		}
	}
	return group.Wait(nil)
}

// boxBytes returns the bytes of the elements of a block. The places of its rows take
// room, too.
func (c *copying) boxBytes() int64 {
	size := int64(c.target.Engine.Size)
	return max(1, c.block/(size+rowBytes)*size)
}

// rowBytes is the memory for the place of a row in a list of rows.
const rowBytes = 16

// regions yields the regions of the result whose chunks are encoded: runs of pieces, and
// all of the other axes.
func (c *copying) regions() func(yield func(grid.Box) bool) {
	return func(yield func(grid.Box) bool) {
		region, start := grid.BoxOf(c.target.Grid.Shape()), int64(0)
		run := grid.Interval{}
		for _, p := range c.pieces {
			if p.whole < 0 {
				run.Stop = start + p.count
			} else {
				if region[c.axis] = run; run.Len() > 0 && !yield(region) {
					return
				}
				run.Start = start + p.count
				run.Stop = run.Start
			}
			start += p.count
		}
		if region[c.axis] = run; run.Len() > 0 {
			yield(region)
		}
	}
}

// encode makes the chunks of a box of the result. The length of text is known when it is
// read: if a block has no room for it, the box is divided. size is that of the box, in
// bytes, or more.
func (c *copying) encode(ctx context.Context, b store.Batch, box grid.Box, size int64) error {
	err := c.encodeBox(ctx, b, box, c.block)
	if !errors.Is(err, coding.ErrRoom) {
		return err
	}
	halves, err := c.target.Engine.Boxes(box, size/2)
	if err != nil {
		return err
	}
	for half := range halves {
		if slices.Equal(half, box) { // a single chunk
			return c.encodeBox(ctx, b, box, c.source.Engine.MaxChunk)
		}
		if err := c.encode(ctx, b, slices.Clone(half), size/2); err != nil {
			return err
		}
	}
	return nil
}

// encodeBox makes the chunks of a box, whose text has at most room bytes.
func (c *copying) encodeBox(ctx context.Context, b store.Batch, box grid.Box, room int64) error {
	first, _, _ := c.target.Grid.Axis(c.axis).Locate(box[c.axis].Start)
	last, _, _ := c.target.Grid.Axis(c.axis).Locate(box[c.axis].Stop - 1)
	in := grid.Interval{Start: c.pieces[first].rows.Start, Stop: c.pieces[last].rows.Stop}
	if found, err := c.anyStored(box, in); !found || err != nil {
		return err // the result has the fill value there, too
	}
	items := make(selection.Orthogonal, len(box))
	for i, span := range box {
		items[i] = selection.Span(span.Start, span.Stop)
	}
	items[c.axis] = selection.List(c.kept.list(make([]int64, 0, box[c.axis].Len()), in)...)
	from, err := c.source.Resolve(items, nil)
	if err != nil {
		return err
	}
	to, err := c.target.Resolve(selection.BoxOf(box), nil)
	if err != nil {
		return err
	}
	buffer, e := c.room(from, room)
	defer buffer.Put()
	if err := c.read(ctx, from, e); err != nil {
		return err
	}
	view, err := to.View(e)
	if err != nil {
		return err
	}
	return c.target.Engine.Write(ctx, to.Elements, view, engine.Writing{Batch: b})
}

// room returns memory for the selected elements, and for so many bytes of text.
func (c *copying) room(r *snapshot.Selected, most int64) (*budget.Buffer, element.Buffer) {
	if r.Type.Variable() {
		return nil, r.Room(most)
	}
	n := r.Len() * r.Size()
	buffer := budget.Get(n)
	return buffer, element.Buffer{Type: r.Type, Data: buffer.Bytes(n)}
}

// read reads the kept elements of a box.
func (c *copying) read(ctx context.Context, r *snapshot.Selected, e element.Buffer) error {
	view, err := r.View(e)
	if err != nil {
		return err
	}
	// A chunk may seem to belong to a newer document. In the end, confirm finds out.
	_, err = c.source.ReadTo(ctx, r, view, false)
	return err
}

// anyStored reports whether the source stores a chunk of some rows of a box.
func (c *copying) anyStored(box grid.Box, rows grid.Interval) (bool, error) {
	if c.stored == nil {
		return true, nil
	}
	from := slices.Clone(box)
	from[c.axis] = rows
	cells, err := c.source.Grid.Touched(from)
	if err != nil {
		return false, err
	}
	if n, ok := cells.Len(); ok && n <= int64(c.stored.Len()) {
		for index := range cells.IndicesInto(make([]int64, len(cells))) {
			if c.stored.Contains(index) {
				return true, nil
			}
		}
		return false, nil
	}
	for index := range c.stored.All() {
		if cells.Contains(index) {
			return true, nil
		}
	}
	return false, nil
}
