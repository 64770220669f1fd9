// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Scratch is what one stage of a rechunk leaves for the next one: an object for every
// block of elements. The object has the pieces that the blocks of the next stage read,
// one after the other, see package blocks. Its elements are those in memory: they are not
// encoded, and have the byte order of this machine.
//
// The target of its Job is the grid of the blocks, so objects have records and become
// stale as chunks do. A record also has the box of the block and its pieces. So when the
// array grows, the objects of blocks that keep their box and pieces stay valid, and the
// objects of all other blocks are stale.
type Scratch struct {
	*Job
	readers *grid.Grid // the blocks that read the objects
}

// NewScratch describes the objects in a directory that have the elements of the source,
// cut into blocks. next has the blocks of the stage that reads them.
func NewScratch(source *snapshot.Array, s store.Store, dir store.Path, cut, next *grid.Grid) (*Scratch, error) {
	objects := &snapshot.Array{
		Doc: source.Doc, Grid: cut, Type: source.Type, Fill: source.Fill,
		Engine: &engine.Array{
			Store: s, Path: dir, Grid: cut, Keys: metadata.DefaultSlash,
			Chain: new(coding.Chain), Fill: source.Fill, Size: source.Engine.Size,
		},
	}
	j, err := NewJob(source, objects, Move{})
	if err != nil {
		return nil, err
	}
	j.sameUnits, j.sameChunks = false, false // objects are no chunks
	j.cuts = next
	return &Scratch{j, next}, nil
}

// pack stores the object of a block, and returns its version. A later look at the store
// could find the version of another process that makes the same block.
func (s *Scratch) pack(ctx context.Context, block []int64, region grid.Box, view strided.View, d store.Durability) (store.Version, error) {
	// Each piece is contiguous in the object, so the next stage reads it by one range.
	pieces, err := blocks.Pieces(s.Target.Grid, s.readers, block)
	if err != nil {
		return store.Version{}, err
	}
	size, n := int64(view.Size), int64(view.Size)
	for _, in := range region {
		n *= in.Len()
	}
	buffer := budget.Get(n)
	defer buffer.Put()
	data := buffer.Bytes(n)
	for p := range pieces {
		within := relative(p.Box, region)
		shape := within.Shape()
		from := view.Sub(within)
		strided.Copy(strided.Contiguous(data[p.Offset*size:], shape, view.Size), from)
	}
	w, err := store.Write(ctx, s.Target.Engine.Store, store.Put(s.Target.Engine.Key(block), data), d)
	return w.Version, err
}

// relative returns a box relative to the start of another one.
func relative(box, to grid.Box) grid.Box {
	r := make(grid.Box, len(box))
	for i, in := range box {
		r[i] = grid.Interval{Start: in.Start - to[i].Start, Stop: in.Stop - to[i].Start}
	}
	return r
}

// Reading is scratch that is complete, as it was listed.
type Reading struct {
	*Scratch
	// Sources lists the versions of the source that the objects were made from, and
	// Objects lists the objects.
	Sources, Objects *Table
	// Requests is the number of pieces that are read at once.
	Requests int
	// Memory bounds the bytes of pieces that are held beside the elements.
	Memory int64
}

// errObjectReplaced is the error of an object that was replaced since it was listed.
var errObjectReplaced = fmt.Errorf("%w: a scratch object was replaced meanwhile", store.ErrConflict)

// read reads the elements of a region into a view of them.
func (r *Reading) read(ctx context.Context, region grid.Box, view strided.View) error {
	readers, err := r.readers.Touched(region)
	if err != nil {
		return err
	}
	room := budget.New(r.Memory)
	group, ctx := parallel.New(ctx)
	group.SetLimit(max(1, r.Requests))
	for reader := range readers.IndicesInto(make([]int64, len(readers))) {
		pieces, err := blocks.Sources(r.Target.Grid, r.readers, reader)
		if err != nil {
			return group.Wait(err)
		}
		for p := range pieces {
			part := make(grid.Box, len(region))
			for i := range part {
				part[i] = p.Box[i].Intersect(region[i])
			}
			if n, ok := part.Len(); ok && n == 0 {
				continue
			}
			to := view.Sub(relative(part, region))
			if r.Objects.find(p.Block) == nil { // nothing of the source is stored there
				strided.Fill(to, r.Target.Fill)
				continue
			}
			piece := blocks.Piece{Block: slices.Clone(p.Block), Box: slices.Clone(p.Box), Offset: p.Offset}
			if err := ctx.Err(); err != nil {
				return group.Wait(err)
			}
			group.Go(func() error { return r.fetch(ctx, room, &piece, part, to) })
		}
	}
	return group.Wait(nil)
}

// fetch reads the part of a piece that belongs into a view.
func (r *Reading) fetch(ctx context.Context, room *budget.Budget, p *blocks.Piece, part grid.Box, to strided.View) error {
	elements, _ := p.Box.Len()
	n := elements * int64(to.Size)
	direct, ok := to.Bytes()
	// If the part is the whole piece, and contiguous in the view, read it there.
	if ok && int64(len(direct)) == n {
		_, err := r.get(ctx, p, n, direct[:0])
		return err
	}
	held, err := room.Acquire(ctx, n)
	if err != nil {
		return err
	}
	defer room.Release(held)
	buffer := budget.Get(n)
	defer buffer.Put()
	data, err := r.get(ctx, p, n, buffer.B[:0])
	if err != nil {
		return err
	}
	from := strided.Contiguous(data, p.Box.Shape(), to.Size)
	strided.Copy(to, from.Sub(relative(part, p.Box)))
	return nil
}

// get reads a piece of n bytes.
func (r *Reading) get(ctx context.Context, p *blocks.Piece, n int64, dst []byte) ([]byte, error) {
	key := r.Target.Engine.Key(p.Block)
	q := store.Request{Range: store.Span(p.Offset*int64(r.Target.Engine.Size), n), Limit: n}
	data, info, err := r.Target.Engine.Store.Get(ctx, key, q, dst)
	// Another process may have made the block again from newer chunks. The versions that
	// were listed would then be wrong for the elements.
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && digestOrZero(info.Version) != 0 && DigestOf(info.Version) != r.Objects.Digest(p.Block):
		return nil, fmt.Errorf("%s: %w", key, errObjectReplaced)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", key, err)
	case int64(len(data)) != n:
		return nil, fmt.Errorf("%s: %w: %s at %d, want %d", key, codec.ErrCorrupt, quantity.Count(len(data), "bytes"), p.Offset, n)
	}
	return data, nil
}
