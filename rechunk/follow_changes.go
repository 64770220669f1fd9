// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
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
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// suspectBytes is about what a chunk takes whose elements are compared.
const suspectBytes = 128

// checkSuspects returns an error if so many chunks are not to be compared.
func (u *update) checkSuspects(n int64) error {
	if most := max(u.f.memory(), leastRecords) / suspectBytes; n > most {
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
	g, err := u.origin.grid.Shrunk(commonShape(u.origin.grid, u.source.Grid))
	if err != nil {
		return err
	}
	chunks, err := g.Touched(u.commonBox(g))
	if err != nil {
		return err
	}
	suspects, err := u.suspects(chunks)
	if err != nil || len(suspects) == 0 {
		return err
	}
	// Sums take 16 bytes for a chunk, and are kept in the origin. So the copy is not
	// read to find out that a chunk has the same elements.
	is, err := comparison.ChunkSums(ctx, pinnedArray(u.source, u.f.block()), g, suspects, u.current.Fill, u.f.memory())
	if err != nil {
		return againIf(err)
	}
	was, err := u.sumsBefore(ctx, g, suspects)
	if err != nil {
		return againIf(err)
	}
	u.knownSums = map[int64]residue.Number{}
	for i, index := range suspects {
		u.knownSums[numberOf(u.origin.grid, index)] = is[i]
		if was[i] == nil || is[i] != *was[i] {
			c, _ := g.Chunk(index)
			u.addChanged(c.Box(), u.commonBox(g))
		}
	}
	return nil
}

// commonBox returns the elements of the window that the array that is followed had and
// has.
func (u *update) commonBox(g *grid.Grid) grid.Box {
	box := slices.Clone(u.window)
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
		chunk[i].Start -= u.window[i].Start
		chunk[i].Stop -= u.window[i].Start
	}
	u.changed = append(u.changed, chunk)
}

// errChanged is the error of an update whose arrays have changed meanwhile. It matches
// errAgain, so that they are compared again. It is final, because publish must not try
// the same update again, which would fail each time.
var errChanged error = changedMeanwhile{}

type changedMeanwhile struct{}

func (changedMeanwhile) Error() string { return errAgain.Error() }

// Is reports whether target is errAgain or [zarr.ErrConflict].
func (changedMeanwhile) Is(target error) bool {
	return target == errAgain || target == zarr.ErrConflict
}

// Final implements [publish.Final].
func (changedMeanwhile) Final() {}

// againIf turns a conflict into errChanged.
func againIf(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return errChanged
	}
	return err
}

// suspects returns the indices, in the grid of the origin, of chunks within a box that
// may have other elements now.
func (u *update) suspects(within grid.Box) ([][]int64, error) {
	var list [][]int64
	// After a rechunk of the source, its keys tell nothing about the chunks of before. So
	// every chunk of the origin is compared.
	if !u.sameChunks() {
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
	for _, c := range u.origin.chunks {
		if index := u.origin.index(c.number); within.Contains(index) && u.sources.Digest(index) != c.version {
			list = append(list, index)
		}
	}
	// Chunks that were not stored before had only the fill value.
	for index := range u.sources.All() {
		if within.Contains(index) && u.origin.find(numberOf(u.origin.grid, index)) == nil {
			list = append(list, slices.Clone(index))
		}
	}
	return list, u.checkSuspects(int64(len(list)))
}

// sameChunks reports whether the chunk keys of the array that is followed still mean the
// same elements.
func (u *update) sameChunks() bool {
	if !lineage.Alike(u.origin.doc, u.source.Doc) {
		return false
	}
	both := u.origin.grid.Chunks()
	for i := range both {
		both[i] = min(both[i], u.source.Grid.Axis(i).Chunks())
	}
	return u.origin.grid.SameCells(u.source.Grid, grid.BoxOf(both))
}

// sumsBefore returns the sums of chunks of a grid as they were, or nil where they are not
// known. An array that follows a part only cannot tell those of whole chunks.
func (u *update) sumsBefore(ctx context.Context, g *grid.Grid, indices [][]int64) ([]*residue.Number, error) {
	sums := make([]*residue.Number, len(indices))
	var unknown [][]int64
	var places []int
	for i, index := range indices {
		c := u.origin.find(numberOf(u.origin.grid, index))
		// A sum of more elements than are compared is of no use.
		is, _ := g.Chunk(index)
		was, _ := u.origin.grid.Chunk(index)
		if c != nil && c.summed && slices.Equal(is.Logical, was.Logical) {
			n := residue.FromBytes(c.sum)
			sums[i] = &n
			continue
		}
		unknown, places = append(unknown, index), append(places, i)
	}
	// The copy has only the elements of the region, whereas sums are about whole chunks.
	if u.origin.Region != nil {
		return sums, nil
	}
	computed, err := comparison.ChunkSums(ctx, pinnedArray(u.current, u.f.block()), g, unknown, u.current.Fill, u.f.memory())
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
	o, err := newOrigin(u.origin.Source, u.source, u.sources, u.planned.Doc, u.f.Node.Limits)
	if err != nil {
		return nil, err
	}
	o.Region, o.Codecs, o.Adapt = u.origin.Region, u.origin.Codecs, u.origin.Adapt
	same := u.sameChunks()
	var unknown [][]int64
	var places []int
	for i := range o.chunks {
		index := o.index(o.chunks[i].number)
		if same && (u.carrySum(&o.chunks[i], index) || u.takeKnownSum(&o.chunks[i], index)) {
			continue
		}
		unknown, places = append(unknown, index), append(places, i)
	}
	sums, err := comparison.ChunkSums(ctx, pinnedArray(u.source, u.f.block()), u.source.Grid, unknown, u.current.Fill, u.f.memory())
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
func (u *update) carrySum(c *originChunk, index []int64) bool {
	is, _ := u.source.Grid.Chunk(index)
	was, ok := u.origin.grid.Chunk(index)
	if !ok || !slices.Equal(is.Logical, was.Logical) {
		return false
	}
	before := u.origin.find(numberOf(u.origin.grid, index))
	if before == nil || before.version != c.version {
		return false
	}
	c.sum, c.summed = before.sum, before.summed
	return true
}

// takeKnownSum reports whether the sum of a chunk was computed when its elements were
// compared or copied, and sets it.
func (u *update) takeKnownSum(c *originChunk, index []int64) bool {
	is, _ := u.source.Grid.Chunk(index)
	var sum residue.Number // of the elements that were there before
	if was, ok := u.origin.grid.Chunk(index); ok {
		if sum, ok = u.knownSums[numberOf(u.origin.grid, index)]; !ok || !slices.Equal(is.Encoded, was.Encoded) {
			return false
		}
		if slices.Equal(is.Logical, was.Logical) {
			c.sum, c.summed = sum.Bytes(), true
			return true
		}
	}
	// All other elements of the chunk were copied by an append.
	if u.strategy != strategyAppend || u.origin.Region != nil {
		return false
	}
	c.sum, c.summed = sum.Plus(u.addedSums[c.number]).Bytes(), true
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
	now, err := u.f.source.Fresh(ctx)
	if err != nil {
		return err
	}
	if now.Version != u.source.Version {
		return errChanged
	}
	listed, err := u.list(ctx, now)
	if err != nil {
		return err
	}
	if !listed.Equal(u.sources) {
		return errChanged
	}
	// A read between the listings may have seen a version that was replaced before the
	// second one, by a chunk with the first version again.
	for key, version := range u.sightings.All() {
		if index, ok := staging.IndexOf(u.source, key); ok && u.sources.Digest(index) != version {
			return errChanged
		}
	}
	return nil
}
