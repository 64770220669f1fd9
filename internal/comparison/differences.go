// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
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
	// Unread counts the parts of a box, each of one chunk of a, that were not compared,
	// because a chunk there cannot be read. Elements does not count them. First is the
	// error of the first one in C order.
	Unread int64
	First  error
	first  []int64 // the first index of that part
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
// Chunks of the same cells and codecs whose stored bytes are equal are not decoded. Where
// a chunk is damaged, or may not be read, the others are compared; see [Counts.Unread].
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
	division  division

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
	c.division.grid = c.s.Finest()
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

// compare compares the elements of a box. If a chunk in it cannot be read, it compares
// the part in each chunk of a on its own, and counts those that fail.
func (c *differences) compare(ctx context.Context, box grid.Box, room *[2][]byte) error {
	found, counts, err := c.within(ctx, box, room)
	if c.isUnread(err) {
		parts, touch := c.s.Grid.Touching(box)
		if touch != nil {
			return err
		}
		for chunk := range parts {
			cell := clipped(cellOf(chunk), box)
			if slices.Equal(cell, box) {
				return c.skip(box, err)
			}
			if err := c.compare(ctx, cell, room); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
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

// isUnread reports whether an error is about the bytes of one chunk, and says nothing
// about the others.
func (c *differences) isUnread(err error) bool {
	if err == nil {
		return false
	}
	missing := (c.a.Complete || c.b.Complete) && errors.Is(err, fs.ErrNotExist)
	return missing || errors.Is(err, codec.ErrCorrupt) || errors.Is(err, engine.ErrLimit) || errors.Is(err, fs.ErrPermission)
}

// mostUnread bounds the parts that cannot be read: perhaps nothing of the array can.
const mostUnread = 1000

// skip counts a part that cannot be compared. It returns the error if there are too many.
func (c *differences) skip(part grid.Box, err error) error {
	n, _ := part.Len()
	c.mu.Lock()
	if c.counts.Unread++; c.counts.Unread > mostUnread {
		c.mu.Unlock()
		return fmt.Errorf("more than %s cannot be read, such as this one: %w", quantity.Count(int64(mostUnread), "chunks"), err)
	}
	if at := corner(part); c.counts.First == nil || slices.Compare(at, c.counts.first) < 0 {
		c.counts.First, c.counts.first = err, at
	}
	c.mu.Unlock()
	if c.done != nil {
		c.done(n)
	}
	return nil
}

// cellOf returns the elements of a chunk.
func cellOf(chunk *grid.Chunk) grid.Box {
	cell := make(grid.Box, len(chunk.Start))
	for i := range cell {
		cell[i] = grid.Interval{Start: chunk.Start[i], Stop: chunk.Start[i] + chunk.Logical[i]}
	}
	return cell
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
	all := regions{most: c.regions.most}
	for _, part := range open {
		if err := c.part(ctx, clipped(part, box), room, &all); err != nil {
			return nil, counts, err
		}
	}
	return all.all(), counts, nil
}

// part adds the regions of a part of a box.
func (c *differences) part(ctx context.Context, box grid.Box, room *[2][]byte, to *regions) error {
	read := func(box grid.Box, oneChunk bool) error {
		values, err := c.read(ctx, box, oneChunk, room)
		if err != nil {
			return err
		}
		values.regions(c.s.Grid, to.add)
		values.free()
		return nil
	}
	if !c.s.Type.Variable() {
		return read(box, false)
	}
	return c.division.each(box, read)
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
func (c *differences) read(ctx context.Context, box grid.Box, oneChunk bool, room *[2][]byte) (*pair, error) {
	p := &pair{box: box, rule: c.rule()}
	n, _ := box.Len() // cannot overflow: the array is larger
	for i, array := range []Array{c.a, c.b} {
		if c.s.Type.Variable() {
			e, err := array.Elements(ctx, box, oneChunk)
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
		if r, any := p.region(clipped(cellOf(chunk), p.box)); any {
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

// Region is a box around elements that differ.
type Region struct {
	Box     grid.Box
	Count   int64   // elements that differ
	Largest float64 // of |a - b|; negative if no two of the elements are finite numbers
	First   []int64 // the first element that differs, in C order
	A, B    string  // it in the JSON form of fill values
}

// regions are the regions that come first in C order, and one for all others. Which these
// are does not depend on the order in which they are found.
type regions struct {
	most int // at least 1
	list []Region
	rest *Region
}

// add adds regions.
func (r *regions) add(found ...Region) {
	r.list = append(r.list, found...)
	if len(r.list) > 2*r.most { // seldom, because sorting takes time
		r.trim(r.most)
	}
}

// trim keeps n regions, and joins all others to the rest.
func (r *regions) trim(n int) {
	r.sort()
	for _, one := range r.list[min(n, len(r.list)):] {
		if r.rest != nil {
			one = union(*r.rest, one)
		}
		r.rest = &one
	}
	r.list = r.list[:min(n, len(r.list))]
}

func (r *regions) sort() {
	sort.Slice(r.list, func(i, j int) bool { return slices.Compare(r.list[i].First, r.list[j].First) < 0 })
}

// all returns at most most regions, sorted. The last one has the rest.
func (r *regions) all() []Region {
	if r.rest != nil || len(r.list) > r.most {
		r.trim(r.most - 1)
		return append(slices.Clone(r.list), *r.rest)
	}
	r.sort()
	return r.list
}

// union returns the smallest region with the elements of both.
func union(a, b Region) Region {
	if slices.Compare(b.First, a.First) < 0 {
		a.First, a.A, a.B = b.First, b.A, b.B
	}
	box := slices.Clone(a.Box)
	for i, in := range b.Box {
		box[i].Start, box[i].Stop = min(box[i].Start, in.Start), max(box[i].Stop, in.Stop)
	}
	a.Box = box
	a.Count += b.Count
	a.Largest = max(a.Largest, b.Largest)
	return a
}

// joined returns all regions, after joining those that are one box together.
func (r *regions) joined() []Region {
	regions := r.list
	sort.Slice(regions, func(i, j int) bool { return slices.Compare(regions[i].First, regions[j].First) < 0 })
	for axis := range rank(regions) {
		// Neighbours along the axis follow each other if the axis is the last one to
		// sort by.
		sort.SliceStable(regions, func(i, j int) bool {
			a, b := regions[i].Box, regions[j].Box
			for k := range a {
				if k != axis && a[k] != b[k] {
					return slices.Compare([]int64{a[k].Start, a[k].Stop}, []int64{b[k].Start, b[k].Stop}) < 0
				}
			}
			return a[axis].Start < b[axis].Start
		})
		kept := regions[:0]
		for _, r := range regions {
			if n := len(kept); n > 0 && touch(kept[n-1].Box, r.Box, axis) {
				kept[n-1] = union(kept[n-1], r)
				continue
			}
			kept = append(kept, r)
		}
		regions = kept
	}
	r.list = regions
	return r.all()
}

func rank(regions []Region) int {
	if len(regions) == 0 {
		return 0
	}
	return len(regions[0].Box)
}

// touch reports whether b continues a along an axis.
func touch(a, b grid.Box, axis int) bool {
	for i := range a {
		if i != axis && a[i] != b[i] {
			return false
		}
	}
	return a[axis].Stop == b[axis].Start
}
