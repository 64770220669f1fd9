// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// Tolerance says which numbers count as equal: a and b if |a - b| is at most Absolute +
// Relative·|b|, and any two NaNs. The zero value compares bits.
type Tolerance struct{ Absolute, Relative float64 }

// Counts counts the work of a comparison.
type Counts struct {
	Elements int64 // in the boxes that were compared; not those that neither array stores
	Differ   int64 // elements that differ
	Alike    int64 // chunks whose stored bytes are equal, and which were not decoded
}

// regionBytes bounds the bytes that are read of each array at a time, unless one chunk is
// longer.
const regionBytes = 16 << 20

// Differences returns where the elements of two arrays of one data type differ, among
// those with indices that both have: one region for each chunk of a in which some do, in
// C order of their first elements. It does not keep more than most regions: further ones
// become one. done, if not nil, is called with the number of elements of each part that
// was compared, from several goroutines.
//
// Chunks of the same cells and codecs whose stored bytes are equal are not decoded.
func Differences(ctx context.Context, a, b Array, t Tolerance, most int, done func(elements int64)) ([]Region, Counts, error) {
	c := &differences{a: a, b: b, tolerance: t, done: done, regions: regions{most: most}}
	boxes, err := c.boxes(ctx)
	if err != nil {
		return nil, c.counts, err
	}
	group, within := parallel.New(ctx)
	group.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	rooms := sync.Pool{New: func() any { return new([2][]byte) }}
	for box := range boxes {
		if within.Err() != nil {
			break
		}
		group.Go(func() error {
			room := rooms.Get().(*[2][]byte)
			defer rooms.Put(room)
			return c.compare(within, box, room)
		})
	}
	if err := group.Wait(nil); err != nil {
		return nil, c.counts, err
	}
	return c.regions.joined(), c.counts, c.settled(ctx)
}

// differences is a search for all elements that differ.
type differences struct {
	a, b      Array
	s, t      *snapshot.Array
	tolerance Tolerance
	alike     bool // equal stored bytes are equal elements
	done      func(elements int64)

	mu      sync.Mutex
	regions regions
	counts  Counts
}

// boxes returns the boxes to compare.
func (c *differences) boxes(ctx context.Context) (iter.Seq[grid.Box], error) {
	states, boxes, sparse, err := stored(ctx, width(c.a.State().Type), c.a, c.b)
	if err != nil {
		return nil, err
	}
	c.s, c.t = states[0], states[1]
	if c.alike, err = c.storedAlike(ctx); err != nil || sparse {
		return boxes, err
	}
	shape := common(c.s.Grid.Shape(), c.t.Grid.Shape())
	if _, ok := checked.Product(append(shape, width(c.s.Type))...); !ok {
		return nil, fmt.Errorf("%w: more than 2^63 bytes to compare, because the fill values differ or many chunks are stored; compare parts", engine.ErrLimit)
	}
	most := regionBytes / width(c.s.Type)
	return ofBoth(c.s.Grid, c.t.Grid, most).boxes(most), nil
}

// compare compares the elements of a box.
func (c *differences) compare(ctx context.Context, box grid.Box, room *[2][]byte) error {
	found, counts, err := c.within(ctx, box, room)
	if err != nil {
		return err
	}
	n, _ := box.Len()
	counts.Elements = n
	for _, r := range found {
		counts.Differ += r.Count
	}
	c.mu.Lock()
	c.counts.Elements += counts.Elements
	c.counts.Differ += counts.Differ
	c.counts.Alike += counts.Alike
	c.regions.add(found...)
	c.mu.Unlock()
	if c.done != nil {
		c.done(n)
	}
	return nil
}

// within returns the regions of a box, one for each chunk of a in which elements differ.
func (c *differences) within(ctx context.Context, box grid.Box, room *[2][]byte) (found []Region, counts Counts, err error) {
	chunks, err := c.s.Grid.Touched(box)
	if err != nil {
		return nil, counts, err
	}
	var open []grid.Box // parts of the box that may differ
	if c.alike {
		if open, counts.Alike, err = c.unlike(ctx, chunks); err != nil || len(open) == 0 {
			return nil, counts, err
		}
	}
	// If most chunks may differ, reading all at once is quicker.
	if n, _ := chunks.Len(); !c.alike || int64(len(open)) > n/2 {
		open = []grid.Box{box}
	}
	for _, part := range open {
		values, err := c.read(ctx, clipped(part, box), room)
		if err != nil {
			return nil, counts, err
		}
		here := regions{most: c.regions.most}
		here.add(found...)
		values.regions(c.s.Grid, here.add)
		found = here.all()
		values.free()
	}
	return found, counts, nil
}

// clipped returns what two boxes share.
func clipped(a, b grid.Box) grid.Box {
	both := make(grid.Box, len(a))
	for i := range both {
		both[i] = grid.Interval{Start: max(a[i].Start, b[i].Start), Stop: min(a[i].Stop, b[i].Stop)}
	}
	return both
}

// read reads the elements of a box of both arrays.
func (c *differences) read(ctx context.Context, box grid.Box, room *[2][]byte) (*pair, error) {
	p := &pair{box: box, rule: c.rule()}
	n, _ := box.Len() // cannot overflow: the array is larger
	for i, array := range []Array{c.a, c.b} {
		if c.s.Type.Variable() {
			e, err := array.Elements(ctx, box)
			if err != nil {
				p.free()
				return nil, err
			}
			p.data[i], p.heaps[i] = e.Data, e.Heap
			continue
		}
		room[i] = slices.Grow(room[i][:0], int(n)*c.s.Type.Size())[:int(n)*c.s.Type.Size()]
		if err := array.Read(ctx, box, room[i]); err != nil {
			return nil, err
		}
		p.data[i] = room[i]
	}
	return p, nil
}

// rule returns how elements are compared.
func (c *differences) rule() rule {
	return rule{typ: c.s.Type, tolerance: c.tolerance, loose: c.tolerance != Tolerance{}}
}

// settled returns an error if an array changed meanwhile other than by growth. Then the
// stored bytes of some chunks may be those of other cells.
func (c *differences) settled(ctx context.Context) error {
	for _, x := range []struct {
		array Array
		state *snapshot.Array
	}{{c.a, c.s}, {c.b, c.t}} {
		now, err := x.array.fresh(ctx, x.state)
		if err != nil {
			return err
		}
		if c.alike && now != x.state && !x.state.GrewTo(now, grid.BoxOf(x.state.Grid.Chunks())) {
			return x.array.failed(fmt.Errorf("%w: the array changed while it was compared; compare again", store.ErrConflict))
		}
	}
	return nil
}

// pair has the elements of a box of both arrays, in C order.
type pair struct {
	box   grid.Box
	rule  rule
	data  [2][]byte
	heaps [2]*strided.Heap // for elements of variable length
}

// free releases the memory of elements of variable length.
func (p *pair) free() {
	for _, h := range p.heaps {
		if h != nil {
			h.Release()
		}
	}
}

// regions calls add with one region for each chunk in which elements differ.
func (p *pair) regions(g *grid.Grid, add func(...Region)) {
	// References of two heaps differ even for equal elements.
	if p.heaps[0] == nil && bytes.Equal(p.data[0], p.data[1]) {
		return
	}
	chunks, err := g.Touching(p.box)
	if err != nil {
		return // read has read the box
	}
	for chunk := range chunks {
		cell := make(grid.Box, len(p.box))
		for i := range cell {
			cell[i] = grid.Interval{Start: chunk.Start[i], Stop: chunk.Start[i] + chunk.Logical[i]}
		}
		if r, any := p.region(clipped(cell, p.box)); any {
			add(r)
		}
	}
}

// region compares the elements of a part of the box, row by row.
func (p *pair) region(part grid.Box) (r Region, any bool) {
	r.Largest = -1
	width := p.rule.width()
	rows, length := slices.Clone(part), int64(1)
	if last := len(part) - 1; last >= 0 {
		rows[last].Stop, length = rows[last].Start+1, part[last].Len()
	}
	index := make([]int64, len(part))
	for row := range rows.IndicesInto(make([]int64, len(part))) {
		at := p.place(row) * width
		x, y := p.data[0][at:at+length*width], p.data[1][at:at+length*width]
		if p.heaps[0] == nil && bytes.Equal(x, y) {
			continue
		}
		p.rule.each(x, y, p.heaps, func(i int64, gap float64) {
			copy(index, row)
			if len(index) > 0 {
				index[len(index)-1] += i
			}
			if !any {
				r.First = slices.Clone(index)
				r.A, r.B = p.rule.text(x[i*width:(i+1)*width], p.heaps[0]), p.rule.text(y[i*width:(i+1)*width], p.heaps[1])
			}
			any = true
			r.Count++
			r.Largest = max(r.Largest, gap)
			r.Box = around(r.Box, index)
		})
	}
	return r, any
}

// place returns the place of an element among those of the box.
func (p *pair) place(index []int64) int64 {
	n := int64(0)
	for i, at := range index {
		n = n*p.box[i].Len() + at - p.box[i].Start
	}
	return n
}

// around returns the smallest box with the elements of box, which may be nil, and index.
func around(box grid.Box, index []int64) grid.Box {
	if box == nil {
		box = make(grid.Box, len(index))
		for i, at := range index {
			box[i] = grid.Interval{Start: at, Stop: at + 1}
		}
	}
	for i, at := range index {
		box[i].Start, box[i].Stop = min(box[i].Start, at), max(box[i].Stop, at+1)
	}
	return box
}

// finite returns a gap between two numbers, or -1 if one of them is not finite.
func finite(gap float64) float64 {
	if math.IsNaN(gap) || math.IsInf(gap, 0) {
		return -1
	}
	return gap
}
