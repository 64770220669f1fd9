// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"unsafe"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// Read returns the selected elements as a new block. A nil selection is the whole array.
// T must be the Go type of the selected data type; [ReadAs] converts numbers.
//
// Errors are of type [*Error]. They wrap [ErrInvalidArgument] if T or the selection does
// not fit, and [ErrCorrupt] if a chunk cannot be decoded.
func Read[T dtype.Element](ctx context.Context, from Elements, sel selection.Selection) (Block[T], error) {
	var b Block[T]
	var e element.Buffer
	t, err := from.of(sel)
	if err == nil {
		err = t.read(ctx, element.Check[T], true, func(r *snapshot.Selected) (strided.View, error) {
			// Divide instead of multiplying, which could overflow.
			if r.Len() > t.options.Limits.block()/r.Size() {
				return strided.View{}, fmt.Errorf("%w: a block of shape %v ("+remedy.LimitsBlock+"); read a part of it", ErrLimit, r.Shape())
			}
			b = newBlock[T](r)
			e = roomFor(t.Array, r, b.Data)
			return r.View(e)
		})
	}
	if err == nil {
		err = element.Values(e, b.Data)
	}
	if err != nil {
		return Block[T]{}, t.fail("read", err)
	}
	return b, nil
}

// ReadInto is [Read] into a slice of the caller, whose length must be the number of
// selected elements. After an error the content of the slice is undefined.
func ReadInto[T dtype.Element](ctx context.Context, from Elements, sel selection.Selection, dst []T) error {
	var e element.Buffer
	t, err := from.of(sel)
	if err == nil {
		err = t.read(ctx, element.Check[T], false, func(r *snapshot.Selected) (strided.View, error) {
			if int64(len(dst)) != r.Len() {
				return strided.View{}, fault.Argument("%s for a selection of shape %v, which has %d", quantity.Count(len(dst), "values"), r.Shape(), r.Len())
			}
			e = roomFor(t.Array, r, dst)
			return r.View(e)
		})
	}
	if err == nil {
		err = element.Values(e, dst)
	}
	return t.fail("read", err)
}

// roomFor returns memory for the selected elements. It is that of the caller's values if
// these have the form of elements.
func roomFor[T dtype.Element](a *Array, r *snapshot.Selected, values []T) element.Buffer {
	if element.Native[T](r.Type) {
		return element.Buffer{Type: r.Type, Data: element.Bytes(values)}
	}
	return r.Room(a.options.Limits.block())
}

// ReadBytes reads the selected elements into dst, for any data type of fixed size. The
// elements are in C order and host byte order, and dst must have exactly their size.
// Selected fields of structs are packed. After an error the content of dst is undefined.
func (a *Array) ReadBytes(ctx context.Context, sel selection.Selection, dst []byte) error {
	return a.fail("read", a.target(sel).read(ctx, nil, false, func(r *snapshot.Selected) (strided.View, error) {
		return r.View(element.Buffer{Type: r.Type, Data: dst})
	}))
}

// target is a selection, and the state of the array whose elements it means.
type target struct {
	*Array
	at  *snapshot.Array
	sel selection.Selection
}

// target returns what a selection means now.
func (a *Array) target(sel selection.Selection) target { return target{a, a.core.State(), sel} }

// part returns a part of the selected elements.
func (t target) part(e *subset.Elements) target {
	t.sel = (*selection.Resolved)(e)
	return t
}

// current returns the state of the array, or [array.ErrMoved] if elements have other
// indices there.
func (t target) current() (*snapshot.Array, error) {
	s := t.core.State()
	if s.Numbering != t.at.Numbering {
		return nil, array.MovedSince(t.at)
	}
	return s, nil
}

// read reads the selection into the view that room returns.
func (t target) read(ctx context.Context, takes snapshot.Accepts, zeroed bool, room func(*snapshot.Selected) (strided.View, error)) error {
	return t.core.Read(ctx, t.at, t.sel, takes, zeroed, room)
}

// Select binds a selection to the array as it is now. The result has the shape and the
// number of the selected elements.
func (a *Array) Select(sel selection.Selection) (*selection.Resolved, error) {
	r, err := a.core.State().Resolve(sel, nil)
	if err != nil {
		return nil, a.fail("select", err)
	}
	return (*selection.Resolved)(r.Elements), nil
}

// Elements is an [*Array], or a [*View] of one: what selections are read from and written
// to.
type Elements interface {
	// Type returns the data type of the elements.
	Type() dtype.Type
	// Shape returns the length of every axis in elements.
	Shape() []int64
	// DimensionNames returns the name of every axis, "" for an axis without one. It is
	// nil if there are no names.
	DimensionNames() []string
	// of returns the selection of the array that sel means.
	of(sel selection.Selection) (target, error)
}

func (a *Array) of(sel selection.Selection) (target, error) {
	return a.target(sel), nil
}

// View is a selection of an array that can be used like an array: read, written, and
// selected from. Making a view reads nothing. A view of a view is a view of the array.
//
// A view selects the elements that the array had when the view was made. It does not
// follow when the array grows. If the array shrinks and loses some of the elements,
// errors of calls on the view wrap [ErrInvalidArgument]. If other elements are dropped or
// inserted, they wrap [ErrConflict]: make the view again.
type View struct {
	array     *Array
	sel       *subset.Elements
	typ       dtype.Type
	numbering *snapshot.Numbering // of the elements that sel selects
}

// View returns a view of the selected elements. Its axes are those of the selected block.
func (a *Array) View(sel selection.Selection) (*View, error) {
	v, err := a.target(sel).view()
	return v, a.fail("view", err)
}

func (t target) view() (*View, error) {
	r, err := t.at.Resolve(t.sel, nil)
	if err != nil {
		return nil, err
	}
	return &View{t.Array, r.Elements, r.Type, t.at.Numbering}, nil
}

// View returns a selection of the view.
func (v *View) View(sel selection.Selection) (*View, error) {
	t, err := v.of(sel)
	if err != nil {
		return nil, v.array.fail("view", err)
	}
	part, err := t.view()
	return part, v.array.fail("view", err)
}

// Transpose returns the view with its axes in another order: axis i of the result is axis
// axes[i] of v. Without arguments the order is reversed.
func (v *View) Transpose(axes ...int) (*View, error) {
	rank := v.Rank()
	if len(axes) == 0 {
		for i := range rank {
			axes = append(axes, rank-1-i)
		}
	}
	if err := checkOrder(axes, rank); err != nil {
		return nil, v.array.fail("view", err)
	}
	return &View{v.array, v.sel.Transpose(axes), v.typ, v.numbering}, nil
}

func checkOrder(axes []int, rank int) error {
	seen := make([]bool, rank)
	for _, k := range axes {
		if k < 0 || k >= rank || seen[k] {
			return fault.Argument("axes %d are not a permutation of %s", axes, quantity.Count(rank, "axes"))
		}
		seen[k] = true
	}
	if len(axes) != rank {
		return fault.Argument("%s given, but the view has %s", quantity.Count(len(axes), "axes"), quantity.Count(rank, "axes"))
	}
	return nil
}

// Array returns the array that the view selects from.
func (v *View) Array() *Array { return v.array }

// Selection returns the elements of the view as a selection of the array.
func (v *View) Selection() *selection.Resolved { return (*selection.Resolved)(v.sel) }

// Type returns the data type of the elements.
func (v *View) Type() dtype.Type { return v.typ }

// Shape returns the length of every axis in elements.
func (v *View) Shape() []int64 { return v.sel.Shape() }

// Rank returns the number of axes.
func (v *View) Rank() int { return len(v.sel.Shape()) }

// DimensionNames returns the name of every axis, "" for an axis without one. It is nil if
// no axis of the array has a name, and for a view of points or a mask, whose axes are not
// axes of the array.
func (v *View) DimensionNames() []string {
	given, axes := v.array.DimensionNames(), v.sel.Axes()
	// There are no axes of points and masks.
	if given == nil || axes == nil {
		return nil
	}
	names := make([]string, len(axes))
	for i, axis := range axes {
		names[i] = given[axis]
	}
	return slices.Clip(names)
}

func (v *View) of(sel selection.Selection) (target, error) {
	t := v.array.target(v.Selection())
	if t.at.Numbering != v.numbering {
		return t, array.ErrMoved
	}
	if sel == nil {
		return t, nil
	}
	inner := selection.Target{Shape: v.Shape(), Names: v.DimensionNames()}
	q, err := inner.Resolve(sel)
	if err != nil {
		return t, err
	}
	return t.part(v.sel.Select((*subset.Elements)(q))), nil
}

// ReadStrided is [Read] into memory with another layout than C order. The element at
// index i of the selected block goes to dst[Σ i[k]*strides[k]]. strides has one stride
// for each axis of the block, in elements. Strides must not be negative; a selection with
// a negative step reverses an axis. Other elements of dst do not change. For example,
// this fills a column of a table:
//
//	zarr.ReadStrided(ctx, a, sel, table[column:], []int64{columns})
//
// Text, byte strings, times and durations support C order only. If two elements would
// have the same place, the error wraps [ErrInvalidArgument]. After an error the content
// of these places is undefined.
func ReadStrided[T dtype.Element](ctx context.Context, from Elements, sel selection.Selection, dst []T, strides []int64) error {
	t, err := from.of(sel)
	if err != nil {
		return t.fail("read", err)
	}
	return t.fail("read", t.read(ctx, unconverted[T], false, func(r *snapshot.Selected) (strided.View, error) {
		// Chunks are decoded concurrently, so two elements in one place would be a data
		// race.
		if len(strides) == len(r.Shape()) && !snapshot.Apart(r.Shape(), strides) {
			return strided.View{}, fault.Argument("strides %d give several elements of shape %v the same place", strides, r.Shape())
		}
		return r.Strided(element.Buffer{Type: r.Type, Data: element.Bytes(dst)}, strides)
	}))
}

// WriteStrided is [Write] from memory with another layout than C order, as [ReadStrided]
// describes it. A stride of 0 repeats the elements along that axis, like broadcasting in
// NumPy.
func WriteStrided[T dtype.Element](ctx context.Context, to Elements, sel selection.Selection, src []T, strides []int64) error {
	t, err := to.of(sel)
	if err != nil {
		return t.fail("write", err)
	}
	return t.fail("write", t.writeView(ctx, element.Check[T], func(r *snapshot.Selected) (strided.View, error) {
		e, err := element.From(r.Type, r.Heap, src)
		if err == nil {
			// Check the whole slice: elements between the strides are checked, too.
			err = element.CheckValues(e)
		}
		if err != nil {
			return strided.View{}, err
		}
		return r.Strided(e, strides)
	}))
}

// unconverted returns an error if values of type T must be converted to become elements.
func unconverted[T dtype.Element](t dtype.Type) error {
	if element.Native[T](t) || !element.Converted[T](t) {
		return element.Check[T](t)
	}
	var zero T
	return fault.Argument("elements of %s can be read as %T in C order only (Read, ReadInto)", t, zero)
}

// Block is a piece of an array in memory: its shape, and its elements in C order.
type Block[T any] struct {
	Shape []int64
	Data  []T
}

// newBlock returns a block for a selection, filled with zero values.
func newBlock[T any](r *snapshot.Selected) Block[T] {
	return Block[T]{r.Shape(), make([]T, r.Len())}
}

// At returns the element at an index of the block. Like indexing a slice, it panics if
// the index is out of range or has the wrong number of axes.
func (b Block[T]) At(index ...int64) T { return b.Data[b.offset(index, len(b.Shape))] }

// Set replaces the element at an index of the block. It panics as [Block.At] does.
func (b Block[T]) Set(value T, index ...int64) { b.Data[b.offset(index, len(b.Shape))] = value }

// Row returns the part of Data that has the given index along the leading axes. For a
// matrix, Row(i) is row i. Without an index it is all of Data. It panics as [Block.At]
// does.
func (b Block[T]) Row(index ...int64) []T {
	if len(index) > len(b.Shape) {
		b.refuse(index)
	}
	size := int64(1)
	for _, n := range b.Shape[len(index):] {
		size *= n
	}
	start := b.offset(index, len(index)) * size
	// Clip the capacity, so that an append to the row does not overwrite the next one.
	return b.Data[start : start+size : start+size]
}

// offset returns the position, in C order, of an index of the first axes.
func (b Block[T]) offset(index []int64, axes int) int64 {
	if len(index) != axes {
		b.refuse(index)
	}
	at := int64(0)
	for i, k := range index {
		if k < 0 || k >= b.Shape[i] {
			b.refuse(index)
		}
		at = at*b.Shape[i] + k
	}
	return at
}

func (b Block[T]) refuse(index []int64) {
	panic(fmt.Sprintf("zarr: index %v of a block of shape %v", index, b.Shape))
}

// indexBatch is how many indices [Block.All] allocates at once.
const indexBatch = 256

// All yields every index of the block, in C order, with its element. Indices may be kept.
func (b Block[T]) All() iter.Seq2[[]int64, T] {
	return func(yield func([]int64, T) bool) {
		rank := len(b.Shape)
		var last, room []int64
		for i, value := range b.Data {
			if len(room) < rank {
				// The caller may keep an index, so memory is never reused. Allocating
				// many indices at once is still cheap.
				room = make([]int64, rank*min(indexBatch, len(b.Data)-i))
			}
			index := room[:rank:rank]
			room = room[rank:]
			if copy(index, last); i > 0 {
				b.next(index)
			}
			if !yield(index, value) {
				return
			}
			last = index
		}
	}
}

// next advances an index in C order.
func (b Block[T]) next(index []int64) {
	for i := len(index) - 1; i >= 0; i-- {
		if index[i]++; index[i] < b.Shape[i] {
			return
		}
		index[i] = 0
	}
}

// Piece has the elements that a selection takes from one chunk.
type Piece[T dtype.Element] struct {
	Block[T]
	// From selects the elements of the piece in the array, for example to write them.
	From *selection.Resolved
	// To selects the place of the piece in the block of the whole selection.
	To *selection.Resolved

	whole []int64
	bare  bool // values are copied as bytes
}

// Into copies the piece to its place in a block of the whole selection, in C order.
func (p Piece[T]) Into(dst []T) error {
	n := int64(1)
	for _, l := range p.whole {
		n *= l
	}
	if n != int64(len(dst)) {
		return fault.Argument("%s for a selection of shape %v, which has %d", quantity.Count(len(dst), "values"), p.whole, n)
	}
	// Values with pointers must not be copied as bytes, because the garbage collector
	// needs to see each store.
	if !p.bare {
		return p.move(dst)
	}
	var zero T
	size := int(unsafe.Sizeof(zero))
	return (*subset.Elements)(p.To).Scatter(strided.Contiguous(element.Bytes(dst), p.whole, size), strided.Contiguous(element.Bytes(p.Data), p.Shape, size))
}

// move is Into for values with pointers, which cannot be copied as bytes.
func (p Piece[T]) move(dst []T) error {
	for i, place := range (*subset.Elements)(p.To).Places() {
		dst[place] = p.Data[i]
	}
	return nil
}

// pieceBudget bounds the bytes of pieces that are read ahead if [Options.Budget] is 0.
const pieceBudget = 64 << 20

// Pieces yields the selected elements chunk by chunk, in the C order of chunks. It
// decodes each chunk once, so a program can process a selection that does not fit into
// memory. Large shards are split into their inner chunks. Pieces are read ahead within
// [Options.Budget]. The caller may keep a piece. When the loop ends early, nothing keeps
// running. [Array.Slabs] has blocks in C order instead.
//
// All pieces are of the array as it was when the loop began. An error ends the loop.
func Pieces[T dtype.Element](ctx context.Context, from Elements, sel selection.Selection) iter.Seq2[Piece[T], error] {
	return func(yield func(Piece[T], error) bool) {
		t, err := from.of(sel)
		if err == nil {
			err = readPieces(ctx, t, yield)
		}
		if err != nil {
			yield(Piece[T]{}, t.fail("read", err))
		}
	}
}

// pending is a piece that is being read.
type pending[T dtype.Element] struct {
	Piece[T]
	bytes int64
	done  chan error
}

// readPieces reads pieces ahead and yields them in order. It returns the error that ended
// the sequence, which the caller yields.
func readPieces[T dtype.Element](ctx context.Context, t target, yield func(Piece[T], error) bool) error {
	r, err := t.at.Resolve(t.sel, element.Check[T])
	if err != nil || r.Len() == 0 {
		return err
	}
	// All pieces are planned on this state, so they do not depend on changes of the array
	// meanwhile.
	g, err := t.at.PieceGrid()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	// Deferred calls run in reverse order: first cancel the reads, then wait for them. A
	// loop that ends early leaves no goroutine behind.
	defer running.Wait()
	defer cancel()
	next, stop := iter.Pull2(r.Pieces(g))
	defer stop()
	ahead := reader[T]{target: t, size: r.Size(), bare: element.Native[T](r.Type), pull: next, shape: r.Shape(), running: &running, most: t.options.Budget}
	for ahead.fill(ctx); len(ahead.queue) > 0; ahead.fill(ctx) {
		p := ahead.queue[0]
		ahead.queue = ahead.queue[1:]
		if err := <-p.done; err != nil {
			return err
		}
		ahead.bytes -= p.bytes
		if !yield(p.Piece, nil) {
			return nil
		}
	}
	return nil
}

// reader reads pieces ahead.
type reader[T dtype.Element] struct {
	target
	size    int64 // bytes of an element
	bare    bool
	pull    func() (from, to *subset.Elements, more bool)
	shape   []int64
	running *sync.WaitGroup
	most    int64 // bytes; 0 is pieceBudget

	queue []*pending[T]
	bytes int64       // of all in the queue
	held  *pending[T] // the next one, which did not fit the budget
}

// fill starts to read pieces while they fit the budget, and at least one.
func (d *reader[T]) fill(ctx context.Context) {
	most := d.most
	if most <= 0 {
		most = pieceBudget
	}
	for {
		if d.held == nil {
			from, to, more := d.pull()
			if !more {
				return
			}
			d.held = &pending[T]{Piece: Piece[T]{From: (*selection.Resolved)(from), To: (*selection.Resolved)(to), whole: d.shape, bare: d.bare}, done: make(chan error, 1)}
			// Twice the size leaves room for elements that are converted to values. The
			// bound only prevents an overflow.
			d.held.bytes = 2 * min(from.Len(), math.MaxInt64/32) * d.size
		}
		// Read at least one piece, even if it exceeds the budget alone.
		if len(d.queue) > 0 && (d.bytes+d.held.bytes > most || len(d.queue) >= maxAhead) {
			return
		}
		p := d.held
		d.held, d.bytes, d.queue = nil, d.bytes+p.bytes, append(d.queue, p)
		d.running.Go(func() { p.done <- d.read(ctx, p) })
	}
}

// maxAhead bounds the pieces that are read at the same time.
const maxAhead = 16

func (d *reader[T]) read(ctx context.Context, p *pending[T]) error {
	var e element.Buffer
	err := d.part((*subset.Elements)(p.From)).read(ctx, element.Check[T], true, func(r *snapshot.Selected) (strided.View, error) {
		// Divide instead of multiplying, which could overflow.
		if r.Len() > d.options.Limits.block()/d.size {
			return strided.View{}, fmt.Errorf("%w: a block of shape %v selected from one chunk ("+remedy.LimitsBlock+")", ErrLimit, r.Shape())
		}
		p.Block = newBlock[T](r)
		e = roomFor(d.Array, r, p.Data)
		return r.View(e)
	})
	if err == nil {
		err = element.Values(e, p.Data)
	}
	return err
}

// Slabs splits a selection into selections that follow each other in C order. Each has at
// most limit bytes of elements, but at least one element. Reading them one by one streams
// the selection. Slabs end at chunk boundaries if possible, or at those of inner chunks
// if a chunk has more bytes than that. So few chunks are read twice. A nil selection is
// the whole array.
func (a *Array) Slabs(sel selection.Selection, limit int64) (iter.Seq[selection.Selection], error) {
	r, err := a.core.State().Resolve(sel, nil)
	if err != nil {
		return nil, a.fail("select", err)
	}
	var within []*grid.Grid
	if inner := a.Inner(); inner != nil {
		if g, err := inner.Grid(); err == nil { // else slabs end at the borders of shards alone
			within = append(within, g)
		}
	}
	return func(yield func(selection.Selection) bool) {
		for slab := range r.Slabs(a.Grid(), int64(a.core.State().Engine.Size), limit, within...) {
			if !yield((*selection.Resolved)(r.Part(slab))) {
				return
			}
		}
	}, nil
}
