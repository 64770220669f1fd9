// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
)

// Given are elements that a target takes from outside of its source. They have the shape
// of the target, except along the axis of the move.
type Given struct {
	snapshot.Source
	// Words has elements of variable length, in C order, in place of Read.
	Words [][]byte
	// Digest identifies the elements. A chunk that was staged from other ones is not
	// valid.
	Digest Digest

	mu sync.Mutex
}

// mostGiven is the number of bytes of given elements that are held beside a task.
const mostGiven = 8 << 20

// planes returns the number of planes along an axis.
func (g *Given) planes(i int) int64 {
	if g == nil || i >= len(g.Shape) {
		return 0
	}
	return g.Shape[i]
}

// readBox reads the elements of a box. A source is read by one call at a time.
func (g *Given) readBox(ctx context.Context, box grid.Box, dst []byte) error {
	// The caller's function need not be safe for concurrent use.
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return g.Read(ctx, box, dst)
}

// wordsOf returns the words of a box.
func (g *Given) wordsOf(box grid.Box) [][]byte {
	n, _ := box.Len()
	words := make([][]byte, 0, n)
	if n == 0 {
		return words
	}
	// Words along the last axis follow each other.
	runs, last := slices.Clone(box), len(box)-1
	runs[last].Stop = runs[last].Start + 1
	for index := range runs.IndicesInto(make([]int64, len(runs))) {
		at := int64(0)
		for i, k := range index {
			at = at*g.Shape[i] + k
		}
		words = append(words, g.Words[at:at+box[last].Len()]...)
	}
	return words
}

// takesGiven reports whether a part takes elements from what is given.
func (p *part) takesGiven() bool {
	for _, cells := range p.cells {
		if slices.ContainsFunc(cells, func(c cell) bool { return c.given }) {
			return true
		}
	}
	return false
}

// takesGiven reports whether a chunk of the target takes elements from what is given.
func (j *Job) takesGiven(p part, at []int64) bool {
	for i := range at {
		if p.cell(i, at).given {
			return true
		}
	}
	return false
}

// appendMoved appends to dst where the planes of a cell of the target come from, if they
// are moved.
func (a *axis) appendMoved(dst []byte, c grid.Cell) []byte {
	if !a.moved {
		return dst
	}
	for s := range a.segmentsIn(c.Start, c.Start+c.Logical) {
		dst = binary.AppendVarint(dst, s.Target)
		dst = binary.AppendVarint(dst, s.Source)
	}
	return dst
}

// wantGiven calls add with the chunks of the target that take elements from what is
// given.
func (j *Job) wantGiven(add func(grid.Box) bool) error {
	for i := range j.axes {
		for _, s := range j.axes[i].segments {
			if !s.Given {
				continue
			}
			box := grid.BoxOf(j.Target.Grid.Chunks())
			first, _, _ := j.axes[i].target.Locate(s.Target)
			last, _, _ := j.axes[i].target.Locate(s.Target + s.Count - 1)
			box[i] = grid.Interval{Start: first, Stop: last + 1}
			if n, ok := box.Len(); !ok || n > mostFilled {
				return fmt.Errorf("%w: more than %s of given elements, of %v", codec.ErrLimit, quantity.Count(int64(mostFilled), "chunks"), box.Shape())
			}
			add(box)
		}
	}
	return nil
}

// readGiven reads a box of the given elements into a view. It holds few of them beside
// the view.
func (t *task) readGiven(ctx context.Context, box grid.Box, to strided.View) error {
	size := int64(t.Target.Engine.Size)
	var failed error
	Halves(box, max(1, mostGiven/size), func(part grid.Box) bool {
		n, _ := part.Len() // of the elements of a task
		e, err := element.Buffer{Type: t.Target.Type}, error(nil)
		if t.given.Words != nil {
			e, err = element.From(e.Type, to.Heap, t.given.wordsOf(part))
		} else {
			room := budget.Get(n * size)
			defer room.Put()
			e.Data = room.Bytes(n * size)
			// Read may change the box.
			if err = t.given.readBox(ctx, slices.Clone(part), e.Data); err == nil {
				err = element.CheckValues(e)
			}
		}
		if err != nil {
			failed = snapshot.SourceError(fmt.Errorf("read elements %v of what is given: %w", part, err))
			return false
		}
		within := make(grid.Box, len(part))
		for i, in := range part {
			within[i] = grid.Interval{Start: in.Start - box[i].Start, Stop: in.Stop - box[i].Start}
		}
		from := strided.Contiguous(e.Data, part.Shape(), int(size))
		from.Heap = e.Heap
		strided.Copy(to.Sub(within), from)
		return true
	})
	return failed
}

// Halves calls yield with parts of a box in C order. Each has at most that many elements.
func Halves(box grid.Box, most int64, yield func(grid.Box) bool) bool {
	// Cut the first axis that has several elements, so that the parts are in C order.
	n, ok := box.Len()
	at := slices.IndexFunc(box, func(in grid.Interval) bool { return in.Len() > 1 })
	if ok && n <= most || at < 0 {
		return yield(box)
	}
	low, high := slices.Clone(box), slices.Clone(box)
	middle := box[at].Start + box[at].Len()/2
	low[at].Stop, high[at].Start = middle, middle
	return Halves(low, most, yield) && Halves(high, most, yield)
}
