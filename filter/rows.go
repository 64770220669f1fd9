// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
)

// rows are the kept rows of a table: one bit for each row.
type rows struct {
	n    int64
	bits []uint64
}

func newRows(n int64) *rows { return &rows{n, make([]uint64, (n+63)/64)} }

// keep adds the rows from start on for which is is true. Calls may be concurrent.
func (r *rows) keep(start int64, is []bool) {
	word, at := uint64(0), start/64
	for i, b := range is {
		row := start + int64(i)
		if row/64 != at {
			r.add(at, word)
			word, at = 0, row/64
		}
		if b {
			word |= 1 << (row % 64)
		}
	}
	r.add(at, word)
}

// add adds the rows of a word, which other goroutines may change as well.
func (r *rows) add(at int64, word uint64) {
	if word != 0 {
		atomic.OrUint64(&r.bits[at], word)
	}
}

// keepRange adds all rows of a range.
func (r *rows) keepRange(in grid.Interval) {
	for at := in.Start / 64 * 64; at < in.Stop; at += 64 {
		word := ^uint64(0)
		if at < in.Start {
			word <<= in.Start - at
		}
		if at+64 > in.Stop {
			word &= ^uint64(0) >> (at + 64 - in.Stop)
		}
		r.bits[at/64] |= word
	}
}

// shifted returns the first row of n, and each kept one as the row after it.
func (r *rows) shifted(n int64) *rows {
	s := newRows(n)
	s.keepRange(grid.Interval{Stop: 1})
	for word, first := range r.words(grid.Interval{Stop: r.n}) {
		s.bits[first/64] |= word << 1
		if word>>63 != 0 {
			s.bits[first/64+1] |= 1
		}
	}
	return s
}

// count returns the number of kept rows of a range.
func (r *rows) count(in grid.Interval) int64 {
	n := 0
	for word := range r.words(in) {
		n += bits.OnesCount64(word)
	}
	return int64(n)
}

// words yields the words of a range, without the bits outside of it, and the row of the
// first bit of each.
func (r *rows) words(in grid.Interval) func(yield func(word uint64, first int64) bool) {
	return func(yield func(uint64, int64) bool) {
		for at := in.Start / 64 * 64; at < in.Stop; at += 64 {
			word := r.bits[at/64]
			if at < in.Start {
				word &= ^uint64(0) << (in.Start - at)
			}
			if at+64 > in.Stop {
				word &= ^uint64(0) >> (at + 64 - in.Stop)
			}
			if !yield(word, at) {
				return
			}
		}
	}
}

// after returns the row behind the first n kept ones of a range, which has as many.
func (r *rows) after(in grid.Interval, n int64) int64 {
	for word, first := range r.words(in) {
		k := int64(bits.OnesCount64(word))
		if n > k {
			n -= k
			continue
		}
		for ; n > 1; n-- {
			word &= word - 1
		}
		return first + int64(bits.TrailingZeros64(word)) + 1
	}
	return in.Stop
}

// list appends the kept rows of a range.
func (r *rows) list(dst []int64, in grid.Interval) []int64 {
	for word, first := range r.words(in) {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, first+int64(bits.TrailingZeros64(word)))
		}
	}
	return dst
}

// A round ends after so many writes, or bytes of chunks: often enough that an
// interruption costs little work, and so rarely that records and syncs cost little.
var (
	roundWrites = 256
	roundBytes  = int64(64 << 20)
)

// rounds are batches of chunks of a result, one after another. When the chunks of a round
// are durable, they are recorded.
type rounds struct {
	*copying
	s store.Store

	mu   sync.Mutex
	last *round // takes more writes; nil if there is none
}

// round is one batch.
type round struct {
	store.Batch
	begun, running int // writes
	made
}

// made are chunks that were stored.
type made struct {
	indices [][]int64
	bytes   int64
}

// do calls write, which makes chunks by a batch. The last write of a full round ends it.
func (r *rounds) do(ctx context.Context, write func(store.Batch) (made, error)) error {
	at, err := r.enter(ctx)
	if err != nil {
		return err
	}
	m, err := write(at.Batch)
	if err != nil {
		m = made{}
	}
	if r.leave(at, m) {
		defer at.Discard()
		if err == nil {
			err = r.commit(ctx, at)
		}
	}
	return err
}

func (r *rounds) enter(ctx context.Context) (*round, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		b, err := store.NewBatch(ctx, r.s, r.work.Durability)
		if err != nil {
			return nil, err
		}
		r.last = &round{Batch: b}
	}
	at := r.last
	at.begun, at.running = at.begun+1, at.running+1
	if r.work.records && at.begun >= roundWrites {
		r.last = nil
	}
	return at, nil
}

// leave ends a write, and reports whether it was the last one of a full round.
func (r *rounds) leave(at *round, m made) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at.running--
	at.indices, at.bytes = append(at.indices, m.indices...), at.bytes+m.bytes
	if r.work.records && at.bytes >= roundBytes && at == r.last {
		r.last = nil
	}
	return at.running == 0 && at != r.last
}

// end ends the last round, or discards it after an error. All writes have ended.
func (r *rounds) end(ctx context.Context, err error) error {
	at := r.last
	if at == nil {
		return err
	}
	defer at.Discard()
	if err == nil {
		err = r.commit(ctx, at)
	}
	return err
}

// commit makes the chunks of a round durable, and records them.
func (r *rounds) commit(ctx context.Context, at *round) error {
	err := at.Commit(ctx)
	if err == nil && r.work.records {
		err = r.record(ctx, at.indices)
	}
	return err
}

// piece is a chunk of the result along the filtered axis.
type piece struct {
	rows  grid.Interval // of the source; all kept ones among them belong to the piece
	count int64         // of kept rows
	edge  int64         // the length of the chunk, at least count
	whole int64         // the chunk of the source that is the same, or -1
}

// cutter cuts the kept rows of an axis into chunks of the result.
type cutter struct {
	axis   grid.Axis
	kept   *rows
	unit   int64 // every chunk but the last has a multiple of it
	every  int64 // the length of all chunks, or 0 for listed lengths
	pieces []piece
	open   piece // rows that make no chunk yet
}

// cut cuts an axis. Each chunk of the result takes what one chunk of the source keeps. If
// that is no multiple of unit, the rest goes to the next one. If every is set, chunks are
// filled up to that length.
func cut(a grid.Axis, kept *rows, unit, every int64) []piece {
	c := &cutter{axis: a, kept: kept, unit: max(unit, every), every: every}
	for k := range a.Chunks() {
		cell, _ := a.Cell(k)
		in := grid.Interval{Start: cell.Start, Stop: cell.Start + cell.Logical}
		if n := kept.count(in); n > 0 {
			c.add(in, n)
		}
	}
	if c.open.count > 0 {
		c.close(c.open)
	}
	return c.pieces
}

// add adds a chunk of the source that keeps n rows.
func (c *cutter) add(in grid.Interval, n int64) {
	if c.open.count == 0 {
		c.open.rows.Start = in.Start
	}
	c.open.rows.Stop = in.Stop
	c.open.count += n
	for take := c.takes(); take > 0; take = c.takes() {
		full, rest := c.open, c.open
		full.count, rest.count = take, c.open.count-take
		if rest.count > 0 {
			full.rows.Stop = c.kept.after(c.open.rows, take)
			rest.rows.Start = full.rows.Stop
		}
		c.close(full)
		c.open = rest
	}
}

// takes returns how many of the open rows make a chunk, or 0.
func (c *cutter) takes() int64 {
	n := c.open.count / c.unit * c.unit
	if c.every > 0 {
		return min(n, c.every)
	}
	return n
}

// close adds a chunk to the result.
func (c *cutter) close(p piece) {
	p.edge, p.whole = (p.count+c.unit-1)/c.unit*c.unit, -1
	// The chunk of the source is the same if it has these rows and no others, also beyond
	// the extent.
	if k, within, ok := c.axis.Locate(p.rows.Start); ok && within == 0 {
		if cell, _ := c.axis.Cell(k); cell.Logical == p.count && cell.Encoded == p.edge && cell.Logical == cell.Encoded && p.rows.Len() == p.count {
			p.whole = k
		}
	}
	c.pieces = append(c.pieces, p)
}

// slab is what becomes of the chunks with one index along the filtered axis.
type slab struct {
	kept        int64 // rows
	first, last int64 // the pieces that they belong to
	whole       bool  // the piece is the same
}

// slabsOf returns what becomes of every chunk of an axis.
func slabsOf(a grid.Axis, kept *rows, pieces []piece) []slab {
	slabs := make([]slab, a.Chunks())
	k, before := int64(0), int64(0) // the present piece, and the rows of it that were met
	for i := range slabs {
		cell, _ := a.Cell(int64(i))
		s := slab{kept: kept.count(grid.Interval{Start: cell.Start, Stop: cell.Start + cell.Logical})}
		if s.kept == 0 {
			continue
		}
		for s.first = k; before+s.kept > pieces[k].count; k++ {
			before -= pieces[k].count
		}
		s.last, s.whole = k, pieces[k].whole == int64(i)
		if before += s.kept; before == pieces[k].count {
			k, before = k+1, 0
		}
		slabs[i] = s
	}
	return slabs
}

// axisOf returns the axis of the result. It has a chunk for each piece, and the growth of
// an axis without elements begins with the first chunk of the source.
func axisOf(a grid.Axis, pieces []piece, every int64) (grid.Axis, error) {
	extent := int64(0)
	var runs []grid.Run
	for _, p := range pieces {
		extent += p.count
		if n := len(runs) - 1; n >= 0 && runs[n].Length == p.edge {
			runs[n].Count++
			continue
		}
		runs = append(runs, grid.Run{Length: p.edge, Count: 1})
	}
	if every > 0 {
		return grid.NewAxis(extent, grid.Every(every))
	}
	if first, ok := a.Cell(0); len(runs) == 0 && (ok || a.IsRegular()) {
		runs = append(runs, grid.Run{Length: max(first.Edge, a.Step()), Count: 1})
	}
	return grid.NewAxis(extent, grid.Runs(runs...))
}
