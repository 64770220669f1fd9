// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"unsafe"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

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
