// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// Tiles calls use with all elements, in boxes of whole tiles: every bound of a box is a
// multiple of the length of a tile, or the end of the axis. tile has a positive length
// for every axis of Shape. The elements of a box are in C order and valid until use
// returns. The boxes come in the order of their first tiles.
//
// A box has several tiles if they are small. So the chunks of the array should be parts
// of tiles, or tiles parts of chunks: other chunks are decoded for every box that they
// touch.
func (s *Source) Tiles(ctx context.Context, tile []int64, use func(box grid.Box, e Values) error) error {
	if s.Selection.Len() == 0 {
		return nil
	}
	r := s.Reader()
	r.Crowded = true // a box may be as long as a tile needs
	size := s.boxOf(tile)
	counts := make([]int64, len(size))
	for i := range counts {
		counts[i] = checked.CeilDiv(s.Shape[i], size[i])
	}
	for at := range grid.BoxOf(counts).IndicesInto(make([]int64, len(counts))) {
		box := make(grid.Box, len(size))
		for i := range box {
			box[i] = grid.Interval{Start: at[i] * size[i], Stop: min((at[i]+1)*size[i], s.Shape[i])}
		}
		if err := r.tiles(ctx, tile, box, use); err != nil {
			return err
		}
	}
	return nil
}

// boxOf returns the shape of the boxes: as many tiles as about a block of memory holds,
// along the last axes first.
func (s *Source) boxOf(tile []int64) []int64 {
	bytes := max(Width(s.Stored), Width(s.Type))
	size := slices.Clone(tile)
	for i := range size {
		size[i] = min(size[i], s.Shape[i])
		bytes = checked.Capped(bytes, size[i])
	}
	// Several tiles give each processor one to encode. They also make it rarer that a
	// chunk which lies in two boxes is decoded twice.
	most := min(max(SlabOf(s.Stored), checked.Capped(bytes, int64(runtime.GOMAXPROCS(0)))), budget.Most())
	if s.Memory > 0 {
		most = min(most, s.Memory/4)
	}
	if s.Type.Variable() && !s.Stored.Variable() {
		most /= 16 // text takes more memory than its numbers
	}
	for i := range slices.Backward(size) {
		n := min(max(1, most/max(1, bytes)), checked.CeilDiv(s.Shape[i], size[i]))
		bytes = checked.Capped(bytes, n)
		size[i] = min(size[i]*n, s.Shape[i])
		// An axis that is not complete ends the box: rows that are not side by side would
		// only wait for each other.
		if size[i] < s.Shape[i] {
			break
		}
	}
	return size
}

// tiles reads a box. Texts may be too long together: then it reads halves of the box, as
// long as they have whole tiles.
func (r *Reader) tiles(ctx context.Context, tile []int64, box grid.Box, use func(grid.Box, Values) error) error {
	e, err := r.Read(ctx, (*selection.Resolved)((*subset.Elements)(r.Selection).Within(box)))
	if err == nil {
		return cmp.Or(use(box, e), ctx.Err())
	}
	if !errors.Is(err, coding.ErrRoom) {
		return err
	}
	for i := range box {
		n := checked.CeilDiv(box[i].Len(), tile[i])
		if n < 2 {
			continue
		}
		middle := box[i].Start + n/2*tile[i]
		for _, half := range []grid.Interval{{Start: box[i].Start, Stop: middle}, {Start: middle, Stop: box[i].Stop}} {
			part := slices.Clone(box)
			part[i] = half
			if err := r.tiles(ctx, tile, part, use); err != nil {
				return err
			}
		}
		return nil
	}
	return TooLong(err)
}

// ChunkAlong returns the length of the chunks along an axis of Shape, in selected
// elements: that of inner chunks if there are any, the most frequent one if they differ,
// and the longer one of two that are as frequent.
func ChunkAlong(s *Source, axis int) int64 {
	e := (*subset.Elements)(s.Selection)
	axes := e.Axes()
	if axes == nil {
		return s.Shape[axis]
	}
	length, most := int64(1), int64(0)
	for r := range s.Array.Core().State().Finest().Axis(axes[axis]).Edges() {
		if r.Count > most || r.Count == most && r.Length > length {
			length, most = r.Length, r.Count
		}
	}
	if a, _ := e.Along(axes[axis]); a.Step > 1 {
		length = checked.CeilDiv(length, a.Step)
	}
	return length
}
