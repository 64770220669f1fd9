package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// firstTouched returns the index along an axis of the first chunk that growing along it
// touches.
func (s *Array) firstTouched(axis int) int64 {
	a := s.Grid.Axis(axis)
	last, ok := a.Cell(a.Chunks() - 1)
	if ok && last.Start+last.Edge > a.Extent() {
		return last.Index
	}
	return a.Chunks()
}

// Witness returns the index of the chunk that everybody puts first who makes the array
// grow along an axis.
func (s *Array) Witness(axis int) []int64 {
	index := make([]int64, s.Grid.Rank())
	index[axis] = s.firstTouched(axis)
	return index
}

// Guarded reports whether only who makes the array grow along the axis can put a chunk of
// the next state: who makes it grow along another one has another witness.
func (s *Array) Guarded(next *Array, axis int, key store.Key) bool {
	name, ok := strings.CutPrefix("/"+key.String(), strings.TrimSuffix("/"+next.Engine.Path.String(), "/")+"/")
	index, parsed := next.Engine.Keys.ParseKey(name, s.Grid.Rank(), nil)
	for i := range index {
		parsed = parsed && (i == axis || index[i] < s.firstTouched(i))
	}
	return ok && parsed
}

// mostClaimed is how many chunks of fill values may be stored while an array grows
// without elements, where the store has no locks to keep those away who write the same
// chunks.
const mostClaimed = 1 << 16

// tooManyClaimed is the [ErrUnsafeConcurrentWrite] of a change that has to store more
// chunks of fill values than is reasonable.
type tooManyClaimed struct{}

func (tooManyClaimed) Error() string {
	return fmt.Sprintf("growing without elements over more than %d chunks in a store without locks: "+
		"grow in smaller steps, append the elements, or say that this is the only writer (SingleWriter)", mostClaimed)
}

func (tooManyClaimed) Is(target error) bool { return target == publish.ErrUnsafe }

// claim is expose where only a fence keeps others away: every chunk that the new region
// touches is written, so that nobody who planned on the old document can write it later.
// The witnesses of all axes that grow come first. With keepStale, chunks that the array
// has already stay as they are.
func (s *Array) claim(ctx context.Context, next *Array, keepStale bool, b store.Batch) error {
	kept := grid.BoxOf(next.Grid.Chunks())
	var boxes []grid.Box
	for i := range kept {
		if next.Grid.Axis(i).Extent() <= s.Grid.Axis(i).Extent() {
			continue
		}
		kept[i].Stop = s.firstTouched(i)
		if chunks := s.Grid.Axis(i).Chunks(); keepStale && kept[i].Stop < chunks {
			kept[i].Stop = chunks
			continue
		}
		witness, first := s.Witness(i), make(grid.Box, len(kept))
		for k, at := range witness {
			first[k] = grid.Interval{Start: at, Stop: at + 1}
		}
		known := slices.ContainsFunc(boxes, func(b grid.Box) bool { return slices.Equal(b, first) })
		if !known && grid.BoxOf(next.Grid.Chunks()).Contains(witness) {
			boxes = append(boxes, first)
		}
	}
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
	how := engine.Writing{Batch: b, Valid: s.Grid.Shape(), KeepFill: true}
	for _, cells := range boxes {
		// Readers still know the chunks that there are, so these keep their shape, even
		// if another axis is trimmed.
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

// without returns what is left of a box without others.
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
