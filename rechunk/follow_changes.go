// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/comparison"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/residue"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
)

// suspectBytes is about what a chunk takes whose elements are compared.
const suspectBytes = 128

// checkSuspects returns an error if so many chunks are not to be compared.
func (u *update) checkSuspects(n int64) error {
	if most := max(u.f.to.opt.memory(), leastRecords) / suspectBytes; n > most {
		return u.f.nameError(fmt.Errorf("%w: %s may have other elements, and the memory suffices to compare %d ("+remedy.Memory+"): give more, or remove the array that follows ("+remedy.Delete+") and follow again",
			zarr.ErrLimit, quantity.Count(n, "chunks"), most))
	}
	return nil
}

// findChanges finds the boxes of elements that have changed since the origin was noted,
// within the shape that the array had then and still has.
//
// A chunk whose version has changed need not have other elements: an append may have
// filled it up, and a rechunk stores all elements again. So sums of elements are
// compared. Where the origin has none, it is computed from the array that follows.
func (u *update) findChanges(ctx context.Context) error {
	g, err := u.pair.origin.grid.Shrunk(commonShape(u.pair.origin.grid, u.pair.source.Grid))
	if err != nil {
		return err
	}
	chunks, err := g.Touched(u.pair.commonBox(g))
	if err != nil {
		return err
	}
	suspects, err := u.suspects(chunks)
	if err != nil || len(suspects) == 0 {
		return err
	}
	// Sums take 16 bytes for a chunk, and are kept in the origin. So the copy is not
	// read to find out that a chunk has the same elements.
	is, err := comparison.ChunkSums(ctx, pinnedArray(u.pair.source, u.f.to.opt.block()), g, suspects, u.pair.current.Fill, u.f.to.opt.memory())
	if err != nil {
		return againIf(err)
	}
	was, err := u.pair.sumsBefore(ctx, u.f.to.opt, g, suspects)
	if err != nil {
		return againIf(err)
	}
	u.sums.known = map[int64]residue.Number{}
	for i, index := range suspects {
		u.sums.known[strided.Number(u.pair.origin.grid, index)] = is[i]
		if was[i] == nil || is[i] != *was[i] {
			c, _ := g.Chunk(index)
			u.addChanged(c.Box(), u.pair.commonBox(g))
		}
	}
	return nil
}

// commonBox returns the elements of the window that the array that is followed had and
// has.
func (p *pair) commonBox(g *grid.Grid) grid.Box {
	box := slices.Clone(p.window)
	for i := range box {
		box[i].Stop = min(box[i].Stop, g.Axis(i).Extent())
		box[i].Start = min(box[i].Start, box[i].Stop)
	}
	return box
}

// addChanged notes that elements of a chunk have changed, those within a box.
func (u *update) addChanged(chunk, within grid.Box) {
	for i := range chunk {
		chunk[i] = chunk[i].Intersect(within[i])
		chunk[i].Start -= u.pair.window[i].Start
		chunk[i].Stop -= u.pair.window[i].Start
	}
	u.difference.changed = append(u.difference.changed, chunk)
}

// suspects returns the indices, in the grid of the origin, of chunks within a box that
// may have other elements now.
func (u *update) suspects(within grid.Box) ([][]int64, error) {
	var list [][]int64
	// After a rechunk of the source, its keys tell nothing about the chunks of before. So
	// every chunk of the origin is compared.
	if !u.pair.sameChunks() {
		n, ok := within.Len()
		if !ok {
			n = 1<<63 - 1
		}
		if err := u.checkSuspects(n); err != nil {
			return nil, err
		}
		for index := range within.Indices() {
			list = append(list, slices.Clone(index))
		}
		return list, nil
	}
	for _, c := range u.pair.origin.chunks {
		if index := u.pair.origin.index(c.number); within.Contains(index) && u.pair.sources.Digest(index) != c.version {
			list = append(list, index)
		}
	}
	// Chunks that were not stored before had only the fill value.
	for index := range u.pair.sources.All() {
		if within.Contains(index) && u.pair.origin.find(strided.Number(u.pair.origin.grid, index)) == nil {
			list = append(list, slices.Clone(index))
		}
	}
	return list, u.checkSuspects(int64(len(list)))
}

// sameChunks reports whether the chunk keys of the array that is followed still mean the
// same elements.
func (p *pair) sameChunks() bool {
	if !lineage.Alike(p.origin.doc, p.source.Doc) {
		return false
	}
	both := p.origin.grid.Chunks()
	for i := range both {
		both[i] = min(both[i], p.source.Grid.Axis(i).Chunks())
	}
	return p.origin.grid.SameCells(p.source.Grid, grid.BoxOf(both))
}

// sumsBefore returns the sums of chunks of a grid as they were, or nil where they are not
// known. An array that follows a part only cannot tell those of whole chunks.
func (p *pair) sumsBefore(ctx context.Context, opt Options, g *grid.Grid, indices [][]int64) ([]*residue.Number, error) {
	sums := make([]*residue.Number, len(indices))
	var unknown [][]int64
	var places []int
	for i, index := range indices {
		c := p.origin.find(strided.Number(p.origin.grid, index))
		// A sum of more elements than are compared is of no use.
		is, _ := g.Chunk(index)
		was, _ := p.origin.grid.Chunk(index)
		if c != nil && c.summed && slices.Equal(is.Logical, was.Logical) {
			n := residue.FromBytes(c.sum)
			sums[i] = &n
			continue
		}
		unknown, places = append(unknown, index), append(places, i)
	}
	// The copy has only the elements of the region, whereas sums are about whole chunks.
	if p.origin.head.Region != nil {
		return sums, nil
	}
	computed, err := comparison.ChunkSums(ctx, pinnedArray(p.current, opt.block()), g, unknown, p.current.Fill, opt.memory())
	if err != nil {
		return nil, err
	}
	for i, at := range places {
		sums[at] = &computed[i]
	}
	return sums, nil
}

// nextOrigin returns the origin of a document. Sums are computed of chunks that have
// another version than before, so that later ones can be compared even if the codecs of
// the array that follows do not keep elements exactly.
func (u *update) nextOrigin(ctx context.Context) (*origin, error) {
	o, err := newOrigin(u.pair.origin.head.Source, u.pair.source, u.pair.sources, u.pair.planned.Doc, u.f.to.hold.at.Limits)
	if err != nil {
		return nil, err
	}
	o.head.Region, o.head.Codecs, o.head.Adapt = u.pair.origin.head.Region, u.pair.origin.head.Codecs, u.pair.origin.head.Adapt
	same := u.pair.sameChunks()
	var unknown [][]int64
	var places []int
	for i := range o.chunks {
		index := o.index(o.chunks[i].number)
		if same && (u.pair.carrySum(&o.chunks[i], index) || u.takeKnownSum(&o.chunks[i], index)) {
			continue
		}
		unknown, places = append(unknown, index), append(places, i)
	}
	sums, err := comparison.ChunkSums(ctx, pinnedArray(u.pair.source, u.f.to.opt.block()), u.pair.source.Grid, unknown, u.pair.current.Fill, u.f.to.opt.memory())
	if err != nil {
		return nil, againIf(err)
	}
	for i, at := range places {
		o.chunks[at].sum, o.chunks[at].summed = sums[i].Bytes(), true
	}
	return o, nil
}

// carrySum reports whether a chunk has the version and the elements that it had, and
// takes over its sum.
func (p *pair) carrySum(c *originChunk, index []int64) bool {
	is, _ := p.source.Grid.Chunk(index)
	was, ok := p.origin.grid.Chunk(index)
	if !ok || !slices.Equal(is.Logical, was.Logical) {
		return false
	}
	before := p.origin.find(strided.Number(p.origin.grid, index))
	if before == nil || before.version != c.version {
		return false
	}
	c.sum, c.summed = before.sum, before.summed
	return true
}

// takeKnownSum reports whether the sum of a chunk was computed when its elements were
// compared or copied, and sets it.
func (u *update) takeKnownSum(c *originChunk, index []int64) bool {
	is, _ := u.pair.source.Grid.Chunk(index)
	var sum residue.Number // of the elements that were there before
	if was, ok := u.pair.origin.grid.Chunk(index); ok {
		if sum, ok = u.sums.known[strided.Number(u.pair.origin.grid, index)]; !ok || !slices.Equal(is.Encoded, was.Encoded) {
			return false
		}
		if slices.Equal(is.Logical, was.Logical) {
			c.sum, c.summed = sum.Bytes(), true
			return true
		}
	}
	// All other elements of the chunk were copied by an append.
	if u.difference.strategy != strategyAppend || u.pair.origin.head.Region != nil {
		return false
	}
	c.sum, c.summed = sum.Plus(u.sums.added[c.number]).Bytes(), true
	return true
}

// pinnedArray is one state of an array. text bounds the bytes of elements of variable
// length that are read at once.
func pinnedArray(s *snapshot.Array, text int64) comparison.Array {
	read := func(ctx context.Context, box grid.Box, room func(*snapshot.Selected) element.Buffer) (element.Buffer, error) {
		r, err := s.Resolve(selection.BoxOf(box), nil)
		if err != nil {
			return element.Buffer{}, err
		}
		e := room(r)
		view, err := r.View(e)
		if err == nil {
			_, err = s.Engine.Read(ctx, r.Elements, view, engine.Reading{})
		}
		return e, err
	}
	return comparison.Array{
		State: func() *snapshot.Array { return s },
		Fresh: func(context.Context, *snapshot.Array) (*snapshot.Array, error) { return s, nil },
		Read: func(ctx context.Context, box grid.Box, dst []byte) error {
			_, err := read(ctx, box, func(r *snapshot.Selected) element.Buffer { return element.Buffer{Type: r.Type, Data: dst} })
			return err
		},
		Elements: func(ctx context.Context, box grid.Box, _ bool) (element.Buffer, error) {
			return read(ctx, box, func(r *snapshot.Selected) element.Buffer { return r.Room(text) })
		},
	}
}

// confirm returns errChanged unless the array that is followed still has the elements
// that were read. They had the versions of one listing, and another listing after all
// reads has the same: so they are those of one moment.
func (u *update) confirm(ctx context.Context) error {
	now, err := u.f.source.array.fresh(ctx)
	if err != nil {
		return err
	}
	if now.Version != u.pair.source.Version {
		return errChanged
	}
	listed, err := u.pair.list(ctx, now)
	if err != nil {
		return err
	}
	if !listed.Equal(u.pair.sources) {
		return errChanged
	}
	// A read between the listings may have seen a version that was replaced before the
	// second one, by a chunk with the first version again.
	for key, version := range u.sightings.All() {
		if index, ok := staging.IndexOf(u.pair.source, key); ok && u.pair.sources.Digest(index) != version {
			return errChanged
		}
	}
	return nil
}
