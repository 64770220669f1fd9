// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// Elements of variable length have as many bytes in a chunk as other elements at most. A
// proposed chunk has a part of that, because not all elements are as long as the first
// ones. As their length is not known before, a chunk takes memory for the most.
const (
	leastText   = 32   // the least size that an element is taken for
	sampledText = 1024 // elements that are read to learn their length, at most
	spareText   = 4
	textMemory  = 4 // copies of the elements in memory
)

// textSize returns the size of an element for a chunk shape: the mean of the first ones,
// rounded up to a power of two, so that few changes of the source lead to another shape.
func (a *array) textSize(ctx context.Context, s *snapshot.Array) (int, error) {
	c := a.view.cache
	held, err := c.work.Acquire(ctx, textMemory*c.Limits.Chunk)
	if err != nil {
		return 0, err
	}
	defer c.work.Release(held)
	for most := int64(sampledText); most > 0; most /= 8 {
		text, err := zarr.Read[[]byte](ctx, a.source, selection.BoxOf(firstOf(s.Finest(), most)))
		if errors.Is(err, coding.ErrRoom) {
			continue
		}
		if err != nil || len(text.Data) == 0 {
			return leastText, ctx.Err() // damage is an error of the chunk that has it
		}
		bytes, size := 0, leastText
		for _, element := range text.Data {
			bytes += len(element)
		}
		for size < bytes/len(text.Data) {
			size *= 2
		}
		return size, nil
	}
	return int(c.Limits.Chunk / spareText), nil // so each has a chunk of its own
}

// firstOf returns a box of at most some elements at the start of a grid, within one cell
// if that has as many.
func firstOf(g *grid.Grid, most int64) grid.Box {
	box := make(grid.Box, g.Rank())
	for i := len(box) - 1; i >= 0; i-- {
		a := g.Axis(i)
		box[i].Stop = min(most, a.Extent())
		if cell, _, ok := a.Locate(0); ok {
			first, _ := a.Cell(cell)
			box[i].Stop = min(box[i].Stop, first.Encoded)
		}
		most /= max(1, box[i].Stop)
	}
	return box
}

// tooLong is the error for a chunk whose elements have too many bytes.
func (r *request) tooLong() error {
	less := slices.Clone(r.edges)
	for range 3 {
		if i := slices.Index(less, slices.Max(append(slices.Clone(less), 1))); i >= 0 {
			less[i] = (less[i] + 1) / 2
		}
	}
	advice := "give the server more memory"
	if !slices.Equal(less, r.edges) {
		edges := make([]string, len(less))
		for i, n := range less {
			edges[i] = strconv.FormatInt(n, 10)
		}
		advice = "ask for smaller ones, such as chunks=" + strings.Join(edges, "x")
	}
	return refuse(zarr.ErrLimit, "the elements of a chunk have at most %s, and those of chunk %v of %s have more: %s", quantity.Count(r.view.cache.Limits.Chunk, "bytes"), r.index, r.name(), advice)
}

// makeText is make for elements of variable length.
func (r *request) makeText(ctx context.Context) ([]byte, error) {
	c := r.view.cache
	held, err := c.work.Acquire(ctx, textMemory*c.Limits.Chunk)
	if err != nil {
		return nil, err
	}
	defer c.work.Release(held)
	sel, err := r.stepped(r.region)
	if err != nil {
		return nil, err
	}
	text, err := zarr.Read[[]byte](ctx, r.source, sel) // of limited length, see [View.node]
	if errors.Is(err, coding.ErrRoom) {
		return nil, r.tooLong()
	}
	if err != nil {
		return nil, err
	}
	box := r.region
	if r.f.level != nil {
		box = r.f.level.Above(box)
	}
	// Two versions of a chunk may be made at the same time, so each has a store of its
	// own.
	files := memstore.New()
	to, err := zarr.At(files, "").CreateArray(ctx, r.f.target.Spec(), &zarr.CreateOptions{Options: zarr.Options{StoreFill: true}})
	if err == nil {
		err = zarr.Write(ctx, to, selection.BoxOf(box), text.Data)
	}
	if err != nil {
		return nil, withoutPlace(err)
	}
	data, _, err := files.Get(ctx, to.Core().State().Engine.Key(r.index), store.Request{}, nil)
	return data, err
}
