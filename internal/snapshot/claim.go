// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// firstTouched returns the index, along an axis, of the first chunk that growing along
// the axis touches: the boundary chunk, or else the first new one.
func (s *Array) firstTouched(axis int) int64 {
	a := s.Grid.Axis(axis)
	last, ok := a.Cell(a.Chunks() - 1)
	if ok && last.Start+last.Edge > a.Extent() {
		return last.Index
	}
	return a.Chunks()
}

// Marker returns the index of the marker chunk for an axis: every writer that grows the
// array along the axis stores it first. So of two writers that plan on one document, only
// one succeeds there.
func (s *Array) Marker(axis int) []int64 {
	index := make([]int64, s.Grid.Rank())
	index[axis] = s.firstTouched(axis)
	return index
}

// Guarded reports whether the marker chunk of the axis excludes all concurrent writers
// that could store the chunk under key. A writer that grows the array along another axis
// has another marker chunk, so chunks that both regions touch are not guarded.
func (s *Array) Guarded(next *Array, axis int, key store.Key) bool {
	name, ok := strings.CutPrefix("/"+key.String(), strings.TrimSuffix("/"+next.Engine.Path.String(), "/")+"/")
	// A key that is not a chunk, such as that of a chunk that is set aside, is not
	// guarded.
	index, parsed := next.Engine.Keys.ParseKey(name, s.Grid.Rank(), nil)
	for i := range index {
		parsed = parsed && (i == axis || index[i] < s.firstTouched(i))
	}
	return ok && parsed
}

// mostClaimed is the largest number of chunks that [Array.claim] stores.
const mostClaimed = 1 << 16

// tooManyClaimed is the [publish.ErrUnsafe] of a change that would have to store more
// than mostClaimed chunks of fill values.
type tooManyClaimed struct{}

func (tooManyClaimed) Error() string {
	return fmt.Sprintf("growing without elements over more than %s in a store without locks: "+
		"grow in smaller steps, append the elements, or say that this is the only writer (SingleWriter)", quantity.Count(mostClaimed, "chunks"))
}

func (tooManyClaimed) Is(target error) bool { return target == publish.ErrUnsafe }

// claim replaces expose in a store without locks. It stores every chunk that the new
// region touches, marker chunks first. A concurrent writer that planned on the old
// document stores chunks only if they do not exist, so it fails at any of them. With
// keepStale, chunks that the array already has do not change.
func (s *Array) claim(ctx context.Context, next *Array, keepStale bool, b store.Batch) error {
	kept := grid.BoxOf(next.Grid.Chunks())
	var boxes []grid.Box
	for i := range kept {
		if next.Grid.Axis(i).Extent() <= s.Grid.Axis(i).Extent() {
			continue
		}
		// Chunks before this one do not change along this axis.
		kept[i].Stop = s.firstTouched(i)
		// With keepStale the boundary chunk stays as it is, so it is not stored as the
		// marker.
		if chunks := s.Grid.Axis(i).Chunks(); keepStale && kept[i].Stop < chunks {
			kept[i].Stop = chunks
			continue
		}
		marker, first := s.Marker(i), make(grid.Box, len(kept))
		for k, at := range marker {
			first[k] = grid.Interval{Start: at, Stop: at + 1}
		}
		// Two axes can have the same marker, such as chunk 0 of an array with one chunk.
		known := slices.ContainsFunc(boxes, func(b grid.Box) bool { return slices.Equal(b, first) })
		if !known && grid.BoxOf(next.Grid.Chunks()).Contains(marker) {
			boxes = append(boxes, first)
		}
	}
	// The markers come first in boxes. The rest must not contain them again.
	firsts := slices.Clone(boxes)
	for cells := range grid.BoxOf(next.Grid.Chunks()).Subtract(kept) {
		boxes = append(boxes, without(cells, firsts)...)
	}
	left := int64(mostClaimed)
	for _, cells := range boxes {
		n, ok := cells.Len()
		if left -= n; !ok || left < 0 {
			return tooManyClaimed{}
		}
	}
	// KeepFill: a chunk of fill values must exist to stop another writer.
	how := engine.Writing{Batch: b, Valid: s.Grid.Shape(), KeepFill: true}
	for _, cells := range boxes {
		// Readers still use the old document, so the chunks that it describes keep
		// their shape, even if another axis is trimmed.
		there, old := slices.Clone(cells), grid.BoxOf(s.Grid.Chunks())
		for i := range there {
			there[i] = there[i].Intersect(old[i])
		}
		if err := s.Engine.Claim(ctx, there, how); err != nil {
			return err
		}
		for added := range cells.Subtract(there) {
			if err := next.Engine.Claim(ctx, added, how); err != nil {
				return err
			}
		}
	}
	return nil
}

// without returns the parts of a box that no other box covers.
func without(cells grid.Box, others []grid.Box) []grid.Box {
	if len(others) == 0 {
		return []grid.Box{cells}
	}
	var left []grid.Box
	for rest := range cells.Subtract(others[0]) {
		left = append(left, without(rest, others[1:])...)
	}
	return left
}

// SetAside reports whether chunks of the array are set aside by an unfinished trim. Their
// keys then hold the chunks of before.
func (s *Array) SetAside(ctx context.Context) (bool, error) {
	for _, err := range s.Engine.Aside(ctx) {
		return err == nil, err
	}
	return false, nil
}
