// SPDX-License-Identifier: Apache-2.0

// Package comparison compares the values of whole arrays: it finds their first
// difference, and computes digests that are equal for equal values.
package comparison

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"
	"sync"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

const (
	// comparedBytes bounds the bytes that are read of each array at a time.
	comparedBytes = 32 << 20
	// comparedChunks bounds the chunks that are read of each array at a time. It matters
	// for tiny chunks: the first slab may already show a difference.
	comparedChunks = 1 << 12
)

// Difference is the first element that differs, in C order.
type Difference struct {
	Index []int64
	A, B  string // the elements in the JSON form of fill values
}

// Compare returns the first difference of the elements of two arrays of one shape and
// type, or nil.
func Compare(ctx context.Context, a, b Array) (*Difference, error) {
	c := &comparison{a: a, b: b, typ: a.State().Type}
	return c.run(ctx)
}

// comparison compares the elements of two arrays of one shape and type.
type comparison struct {
	a, b Array
	typ  dtype.Type
	data [2][]byte // buffers for one box of each

	division division
}

// run compares the boxes that may differ, in the C order of their first elements.
func (c *comparison) run(ctx context.Context) (*Difference, error) {
	states, boxes, sparse, err := stored(ctx, width(c.typ), c.a, c.b)
	if err != nil {
		return nil, err
	}
	c.division.grid = states[0].Finest()
	if !sparse {
		most := c.most(states[0].Grid, states[1].Grid)
		boxes = ofBoth(states[0].Grid, states[1].Grid, most).boxes(most)
	}
	var first *Difference
	for box := range boxes {
		// Boxes overlap in C order. A later box may still have an earlier difference,
		// unless even its first element comes later.
		if first != nil && slices.Compare(corner(box), first.Index) >= 0 {
			break
		}
		d, err := c.within(ctx, box)
		if err != nil {
			return nil, err
		}
		first = earlier(first, d)
	}
	return first, ctx.Err()
}

// corner returns the first index of a box.
func corner(box grid.Box) []int64 {
	index := make([]int64, len(box))
	box.First(index)
	return index
}

// most returns the number of elements that are read of each array at a time.
func (c *comparison) most(grids ...*grid.Grid) int64 {
	n := comparedBytes / width(c.typ)
	for _, g := range grids {
		elements := int64(comparedChunks)
		for i := range g.Rank() {
			longest := g.Axis(i).Longest(grid.Interval{Stop: g.Axis(i).Chunks()})
			// The factor is bounded, so elements never exceeds n.
			elements *= max(1, min(longest, n/elements))
		}
		n = min(n, elements)
	}
	return max(1, n)
}

// within returns the first difference within a box.
func (c *comparison) within(ctx context.Context, box grid.Box) (*Difference, error) {
	if c.typ.Variable() {
		return c.withinVariable(ctx, box)
	}
	n, _ := box.Len() // cannot overflow: Select counted the whole array
	n *= width(c.typ)
	for i, array := range []Array{c.a, c.b} {
		c.data[i] = slices.Grow(c.data[i][:0], int(n))[:n]
		if err := array.Read(ctx, box, c.data[i]); err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(c.data[0], c.data[1]) {
		return differenceWithin(c.typ, box, c.data), nil
	}
	return nil, nil
}

// withinVariable is within for elements of variable length. It compares them in the
// decoded chunks, and releases the memory before the next part of the box.
func (c *comparison) withinVariable(ctx context.Context, box grid.Box) (first *Difference, err error) {
	err = c.division.each(box, func(box grid.Box, oneChunk bool) error {
		x, err := c.a.Elements(ctx, box, oneChunk)
		if err != nil {
			return err
		}
		defer x.Heap.Release()
		y, err := c.b.Elements(ctx, box, oneChunk)
		if err != nil {
			return err
		}
		defer y.Heap.Release()
		first = earlier(first, c.differenceOf(box, x, y))
		return nil
	})
	return first, err
}

// differenceOf returns the first difference of elements of variable length.
func (c *comparison) differenceOf(box grid.Box, x, y element.Buffer) *Difference {
	at := 0
	for index := range box.IndicesInto(make([]int64, len(box))) {
		// References of two heaps differ even for equal elements.
		if p, q := x.Heap.Bytes(x.Data[at:]), y.Heap.Bytes(y.Data[at:]); !bytes.Equal(p, q) {
			text := func(elem []byte) string { return string(c.typ.AppendJSON(nil, elem)) }
			return &Difference{Index: slices.Clone(index), A: text(p), B: text(q)}
		}
		at += strided.RefSize
	}
	return nil
}

// earlier returns the difference with the earlier index in C order. Nil is none.
func earlier(a, b *Difference) *Difference {
	if a == nil || b != nil && slices.Compare(b.Index, a.Index) < 0 {
		return b
	}
	return a
}

// differenceWithin finds the first difference of two blocks that differ.
func differenceWithin(t dtype.Type, slab grid.Box, data [2][]byte) *Difference {
	size := t.Size()
	index := make([]int64, len(slab))
	slab.First(index)
	at := 0
	for bytes.Equal(data[0][at:at+size], data[1][at:at+size]) {
		at += size
		slab.Next(index)
	}
	text := func(i int) string { return string(t.AppendJSON(nil, data[i][at:at+size])) }
	return &Difference{Index: index, A: text(0), B: text(1)}
}

// storedAlike reports whether chunks of two arrays with equal stored bytes have equal
// elements: the arrays have the same chunks, fill value and codecs, and no chunks that an
// unfinished trim has set aside.
func (c *differences) storedAlike(ctx context.Context) (bool, error) {
	s, t := c.s, c.t
	same := s.Grid.SameCells(t.Grid, grid.BoxOf(common(s.Grid.Chunks(), t.Grid.Chunks()))) && likeness.SameElements(s.Doc, t.Doc)
	for _, x := range []struct {
		array Array
		state *snapshot.Array
	}{{c.a, s}, {c.b, t}} {
		if aside, err := x.state.SetAside(ctx); err != nil || aside {
			return false, x.array.failed(err)
		}
	}
	return same, nil
}

// common returns the smaller number along each axis.
func common(a, b []int64) []int64 {
	both := slices.Clone(a)
	for i := range both {
		both[i] = min(both[i], b[i])
	}
	return both
}

const (
	// rangeBytes is the number of bytes of a chunk that are compared at a time.
	rangeBytes = 4 << 20
	// chunksAtOnce bounds the chunks of a box that are compared at the same time.
	chunksAtOnce = 16
)

// unlike returns the boxes of those chunks whose stored bytes differ, and the number of
// the others.
func (c *differences) unlike(ctx context.Context, chunks grid.Box) (boxes []grid.Box, alike int64, err error) {
	group, ctx := parallel.New(ctx)
	group.SetLimit(chunksAtOnce)
	var mu sync.Mutex
	for index := range chunks.Indices() {
		if ctx.Err() != nil {
			break
		}
		index = slices.Clone(index)
		group.Go(func() error {
			same, err := c.sameBytes(ctx, index)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if same {
				alike++
				return nil
			}
			chunk, _ := c.s.Grid.Chunk(index)
			box := make(grid.Box, len(index))
			for i := range box {
				box[i] = grid.Interval{Start: chunk.Start[i], Stop: chunk.Start[i] + chunk.Logical[i]}
			}
			boxes = append(boxes, box)
			return nil
		})
	}
	err = group.Wait(nil)
	return boxes, alike, err
}

// values has memory for two values of at most rangeBytes.
var values = sync.Pool{New: func() any { return new([2][]byte) }}

// failed returns the first of the errors of reading a chunk of both arrays, with the
// chunk and its array.
func (c *differences) failed(index []int64, errA, errB error) error {
	array, state, err := c.a, c.s, errA
	if errA == nil {
		array, state, err = c.b, c.t, errB
	}
	if err == nil {
		return nil
	}
	return array.failed(&engine.ChunkError{Key: state.Engine.Key(index).String(), Index: index, Err: err})
}

// sameBytes reports whether the stored bytes of a chunk are equal, or neither array
// stores it.
func (c *differences) sameBytes(ctx context.Context, index []int64) (bool, error) {
	from, to := c.s.Engine.Store, c.t.Engine.Store
	x, y := c.s.Engine.Key(index), c.t.Engine.Key(index)
	room := values.Get().(*[2][]byte)
	defer values.Put(room)
	whole := store.Request{Limit: rangeBytes}
	a, _, errA := from.Get(ctx, x, whole, room[0][:0])
	b, _, errB := to.Get(ctx, y, whole, room[1][:0])
	if errA == nil && errB == nil {
		*room = [2][]byte{a, b}
	}
	missing := errors.Is(errA, fs.ErrNotExist)
	switch {
	case missing != errors.Is(errB, fs.ErrNotExist):
		return false, nil
	case missing:
		return !c.a.Complete && !c.b.Complete, nil // else reading the chunk is an error
	case errors.Is(errA, store.ErrTooLarge) && errors.Is(errB, store.ErrTooLarge):
		return c.sameRanges(ctx, index)
	case errors.Is(errA, store.ErrTooLarge), errors.Is(errB, store.ErrTooLarge):
		return false, nil
	}
	return bytes.Equal(a, b), c.failed(index, errA, errB)
}

// sameRanges is sameBytes for long values.
func (c *differences) sameRanges(ctx context.Context, index []int64) (bool, error) {
	from, to := c.s.Engine.Store, c.t.Engine.Store
	x, y := c.s.Engine.Key(index), c.t.Engine.Key(index)
	a, errA := store.Stat(ctx, from, x)
	b, errB := store.Stat(ctx, to, y)
	if errA != nil || errB != nil || a.Size != b.Size {
		return false, c.failed(index, errA, errB)
	}
	var room [2][]byte
	for at := int64(0); at < a.Size; at += rangeBytes {
		part := store.Request{Range: store.Span(at, min(rangeBytes, a.Size-at))}
		if room[0], _, errA = from.Get(ctx, x, part, room[0][:0]); errA != nil {
			return false, c.failed(index, errA, nil)
		}
		if room[1], _, errB = to.Get(ctx, y, part, room[1][:0]); errB != nil {
			return false, c.failed(index, nil, errB)
		}
		if !bytes.Equal(room[0], room[1]) {
			return false, nil
		}
	}
	return true, nil
}

// Array is an array to compare.
type Array struct {
	// State returns the known state of the array.
	State func() *snapshot.Array
	// Fresh returns the newest state, or s if that is the newest.
	Fresh func(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error)
	// Read reads the elements of a box, of fixed size, in C order.
	Read func(ctx context.Context, box grid.Box, dst []byte) error
	// Elements returns the elements of a box, of variable length. The caller releases
	// their heap. If they are too long together, the error wraps [coding.ErrRoom].
	Elements func(ctx context.Context, box grid.Box, oneChunk bool) (element.Buffer, error)
	// Fail adds the array to an error, because a caller that compares two cannot tell
	// whose it is. It may be nil if there is one array only.
	Fail func(err error) error
	// Complete means that a missing chunk is an error.
	Complete bool
}

// fresh is Fresh with the array in the error.
func (a Array) fresh(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	now, err := a.Fresh(ctx, s)
	return now, a.failed(err)
}

// failed adds the array to an error. Nil stays nil.
func (a Array) failed(err error) error {
	if err == nil || a.Fail == nil {
		return err
	}
	return a.Fail(err)
}

// width returns the bytes of an element, or an estimate for elements of variable length.
func width(t dtype.Type) int64 {
	if t.Variable() {
		return likelyBytes
	}
	return int64(t.Size())
}

// likelyBytes is the assumed size of an element of variable length. It is large, because
// the memory of texts is known only when they are read.
const likelyBytes = 1 << 10

// rule says when elements of a data type differ, and by how much.
type rule struct {
	typ       dtype.Type
	tolerance Tolerance
	loose     bool // numbers are compared, not bits
}

// width returns the bytes of an element in memory.
func (r rule) width() int64 {
	if r.typ.Variable() {
		return strided.RefSize
	}
	return int64(r.typ.Size())
}

// text returns an element in the JSON form of fill values.
func (r rule) text(elem []byte, heap *strided.Heap) string {
	if heap != nil {
		elem = heap.Bytes(elem)
	}
	return string(r.typ.AppendJSON(nil, elem))
}

// each calls differ for every element of two rows that differs, with the distance of the
// numbers, or -1 if these are not two finite numbers.
func (r rule) each(x, y []byte, heaps [2]*strided.Heap, differ func(i int64, gap float64)) {
	if heaps[0] != nil {
		for i, at := int64(0), 0; at < len(x); i, at = i+1, at+strided.RefSize {
			if !bytes.Equal(heaps[0].Bytes(x[at:]), heaps[1].Bytes(y[at:])) {
				differ(i, -1)
			}
		}
		return
	}
	format, parts := r.numbers()
	if format == nil {
		size := r.typ.Size()
		for i := range len(x) / size {
			if !bytes.Equal(x[i*size:(i+1)*size], y[i*size:(i+1)*size]) {
				differ(int64(i), -1)
			}
		}
		return
	}
	r.eachNumber(format, parts, x, y, differ)
}

// numbers returns the format of the numbers that an element consists of, and how many
// these are: two of a complex number. The format is nil for other elements.
func (r rule) numbers() (*number.Format, int) {
	switch r.typ.Kind() {
	case dtype.KindDatetime, dtype.KindTimedelta:
		f, _ := number.Of(dtype.Int64)
		return f, 1
	case dtype.KindComplex:
		part := map[int]dtype.Type{8: dtype.Float32, 16: dtype.Float64}[r.typ.Size()]
		if part.IsZero() {
			return nil, 0
		}
		f, _ := number.Of(part)
		return f, 2
	}
	f, ok := number.Of(r.typ)
	if !ok {
		return nil, 0
	}
	return f, 1
}

// eachNumber is each for numbers, a block at a time.
func (r rule) eachNumber(f *number.Format, parts int, x, y []byte, differ func(i int64, gap float64)) {
	a, b := number.NewBlock(), number.NewBlock()
	defer a.Free()
	defer b.Free()
	size, first := f.Bytes*parts, int64(0)
	for step := number.Size / parts * size; len(x) > 0; first += number.Size / int64(parts) {
		n := min(len(x), step)
		if !bytes.Equal(x[:n], y[:n]) {
			f.Load(a, x[:n])
			f.Load(b, y[:n])
			for i := range n / size {
				if bytes.Equal(x[i*size:(i+1)*size], y[i*size:(i+1)*size]) {
					continue
				}
				if gap, differs := r.compare(f.Carrier, a, b, i*parts, parts); differs {
					differ(first+int64(i), gap)
				}
			}
		}
		x, y = x[n:], y[n:]
	}
}

// compare compares the element at a place of two blocks, whose bits differ.
func (r rule) compare(c number.Carrier, a, b *number.Block, at, parts int) (gap float64, differs bool) {
	differs = !r.loose
	for i := at; i < at+parts; i++ {
		var d, of float64
		switch c {
		case number.Signed:
			// The difference of two int64 fits a uint64.
			d, of = float64(uint64(max(a.I[i], b.I[i]))-uint64(min(a.I[i], b.I[i]))), float64(b.I[i])
		case number.Unsigned:
			d, of = float64(max(a.U[i], b.U[i])-min(a.U[i], b.U[i])), float64(b.U[i])
		case number.Float:
			d, of = distance(a.F[i], b.F[i]), b.F[i]
		}
		gap = max(gap, d) // NaN if d is
		// The size of a time depends on where its counting begins.
		within := r.tolerance.Absolute
		if r.typ.Kind() != dtype.KindDatetime {
			within += r.tolerance.Relative * math.Abs(of)
		}
		// What is not finite is within no tolerance. Two NaNs have no distance.
		if d != 0 && (finite(d) < 0 || d > within) {
			differs = true
		}
	}
	return finite(gap), differs
}

// distance returns |a - b|, which is 0 for two NaNs and for equal infinities. A finite
// number and infinity are infinitely far from each other, and a NaN from every number.
func distance(a, b float64) float64 {
	switch {
	case a == b, math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a), math.IsNaN(b):
		return math.NaN()
	}
	return math.Abs(a - b)
}
