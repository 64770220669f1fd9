// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/placement"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// checker looks for faults in one shard.
type checker struct {
	*decoder
	src    coding.Source
	memory bool // the shard is in memory
	deep   bool
	out    *codec.Check
}

// Check implements [coding.Divider].
func (c *coder) Check(ctx context.Context, w *coding.Work, shape []int64, src coding.Source, deep bool) (*codec.Check, error) {
	l, err := c.layout(shape)
	if err != nil {
		_, info, readErr := src.Read(ctx, store.Request{Range: store.Span(0, 0)}, nil)
		if readErr != nil {
			return nil, readErr // no shard may be stored
		}
		d := &checker{out: &codec.Check{Bytes: info.Size}}
		return d.out, d.addFault(nil, 0, info.Size, err)
	}
	d := &checker{decoder: &decoder{coder: c, layout: l, ctx: ctx, work: w}, src: src, deep: deep, out: new(codec.Check)}
	x, read, err := d.open()
	defer read.buffer.Put()
	if err != nil {
		return d.out, d.addFault(nil, d.indexOffset(read), l.index, err)
	}
	d.out.Bytes = x.info.Size
	stored := d.checkEntries(x)
	d.sweep(x, stored)
	if !deep && !d.chain.Divided() {
		return d.out, d.checkSizes(x, stored)
	}
	if !d.memory && l.index > mostKept {
		read.buffer.Put()
		read = stretch{} // do not hold a long index in both forms
	}
	return d.out, d.checkInner(x, stored, read)
}

// mostKept is the largest encoded index, in bytes, that is held while inner chunks are
// checked.
const mostKept = 1 << 20

// open returns the index of the shard, and the range that was read for it.
func (d *checker) open() (x *index, read stretch, err error) {
	var shard coding.Stored
	if shard, d.memory = d.src.(coding.Stored); d.memory {
		x, err = d.indexOf(d.layout, shard)
		return x, stretch{data: shard}, err
	}
	return d.fetchIndex(d.src)
}

// indexOffset returns the offset of an index that does not decode.
func (d *checker) indexOffset(read stretch) int64 {
	if d.atStart {
		return 0
	}
	return max(0, read.off+int64(len(read.data))-d.layout.index)
}

// addFault adds a fault if err is about what is stored, and returns any other error.
func (d *checker) addFault(inner [][]int64, off, n int64, err error) error {
	if !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrLimit) {
		return err
	}
	coding.AddFault(d.out, codec.Fault{Inner: inner, Off: off, Len: n, Err: err})
	return nil
}

// checkEntries returns the numbers of the stored inner chunks in the order of their
// bytes. It notes entries that leave the shard as faults.
func (d *checker) checkEntries(x *index) []uint32 {
	for k := range d.n {
		off, size := x.entries[2*k], x.entries[2*k+1]
		// Only entries that do not fit the shard are faults here.
		if x.isStored(k) || off == absent && size == absent {
			continue
		}
		d.out.Inner++
		d.addInnerFault(k, min(off, math.MaxInt64), min(size, math.MaxInt64), false, func() error {
			_, _, _, err := x.span(k)
			return err
		})
	}
	list := x.stored()
	d.out.Inner += int64(len(list))
	return list
}

// addInnerFault adds a fault of an inner chunk. It only counts those beyond the limit,
// without building their errors.
func (d *checker) addInnerFault(k int64, off, n uint64, shared bool, what func() error) {
	if len(d.out.Faults) == coding.MostFaults {
		d.out.More++
		return
	}
	coding.AddFault(d.out, codec.Fault{Inner: [][]int64{d.place(nil, k)}, Off: int64(off), Len: int64(n), Shared: shared, Err: what()})
}

// sweep notes inner chunks that share bytes as faults, and counts the dead bytes.
func (d *checker) sweep(x *index, stored []uint32) {
	covered, stop, last := d.layout.index, int64(0), int64(0)
	for _, k := range stored {
		w := x.want(k)
		// An inner chunk that begins before the end of an earlier one shares bytes with
		// it.
		if w.n > 0 && w.off < stop {
			d.addInnerFault(w.k, uint64(w.off), uint64(w.n), true, func() error {
				return fmt.Errorf("it shares bytes with inner chunk %v", d.place(nil, last))
			})
		}
		// Count shared bytes once.
		if end := w.off + w.n; end > stop {
			covered += end - max(w.off, stop)
			stop, last = end, w.k
		}
	}
	d.out.Dead += x.info.Size - covered
}

// checkSizes notes inner chunks whose size in the index is wrong as faults. It reads
// nothing.
func (d *checker) checkSizes(x *index, stored []uint32) error {
	var at, shape []int64 // shape is that of the last inner chunk of a right size
	size := int64(-1)
	cell := grid.NewChunk(d.grid.Rank())
	for _, k := range stored {
		w := x.want(k)
		at = d.place(at[:0], w.k)
		d.grid.Cell(at, cell)
		// Most inner chunks have one shape, and with codecs of fixed size one size.
		if w.n > 0 && w.n == size && slices.Equal(cell.Encoded, shape) {
			continue
		}
		err := d.chain.CheckSize(d.ctx, d.work, cell.Encoded, w.n)
		if err == nil {
			shape, size = append(shape[:0], cell.Encoded...), w.n
		} else if err = d.addFault([][]int64{slices.Clone(at)}, w.off, w.n, err); err != nil {
			return err
		}
	}
	return nil
}

// checkInner checks the inner chunks themselves, some at a time.
func (d *checker) checkInner(x *index, stored []uint32, read stretch) error {
	wants := make([]want, 0, min(mostWants, len(stored)))
	for some := range slices.Chunk(stored, mostWants) {
		wants = wants[:0]
		for _, k := range some {
			wants = append(wants, x.want(k))
		}
		if err := d.checkWants(wants, read); err != nil {
			return err
		}
	}
	return nil
}

// checkWants checks inner chunks. Unless the shard is in memory, it reads ranges of
// several; inner chunks that are too large for memory are read range by range.
func (d *checker) checkWants(wants []want, read stretch) error {
	if d.memory {
		return d.checkGroup(read, wants)
	}
	for len(wants) > 0 {
		n := 1
		var err error
		// A large inner chunk is read by itself, if possible range by range.
		if first := wants[0]; first.n > d.large() {
			err = d.checkLarge(first)
		} else {
			var stop int64
			n, stop = d.group(wants)
			err = d.readAndCheck(wants[:n], stop, read)
		}
		if err != nil {
			return err
		}
		wants = wants[n:]
	}
	return nil
}

// large returns the size in bytes above which an inner chunk is read range by range, if
// its codecs permit that.
func (d *checker) large() int64 {
	if d.deep {
		return d.work.Bytes / 2
	}
	return d.work.Gap
}

// note tells the caller what inner chunk k holds.
func (d *checker) note(k int64, v strided.View) {
	if d.work.Notes != nil {
		d.work.Notes.Note(d.place(nil, k), v)
	}
}

// inner returns the work for the inner chunks of inner chunk k, of which there are no
// notes.
func (d *checker) inner(k int64) *coding.Work {
	if d.work.Notes == nil {
		return d.work
	}
	d.note(k, strided.View{})
	w := *d.work
	w.Notes = nil
	return &w
}

// checkLarge checks a large inner chunk, range by range if it is a shard itself.
func (d *checker) checkLarge(w want) error {
	if !d.chain.Divided() {
		return d.readAndCheck([]want{w}, w.off+w.n, stretch{})
	}
	at := d.place(nil, w.k)
	cell, _ := d.grid.Chunk(at)
	of, err := d.chain.Check(d.ctx, d.inner(w.k), cell.Encoded, section{d.src, w.off, w.n}, d.deep)
	if err == nil {
		coding.AddInner(d.out, at, w.off, of)
	}
	return err
}

// section is a range of a stored chunk that is an inner chunk.
type section struct {
	coding.Source
	off, n int64
}

// Key returns the zero Key.
func (s section) Key() store.Key { return store.Key{} }

// Expect does nothing: the enclosing chunk has the version.
func (s section) Expect(store.Info) {}

// Read implements [coding.Source].
func (s section) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, store.Info, error) {
	off, n, err := q.Resolve(s.n)
	if err != nil {
		return nil, store.Info{}, err
	}
	out, _, err := s.Source.Read(ctx, store.Request{Range: store.Span(s.off+off, n)}, dst)
	return out, store.Info{Size: s.n}, err
}

// readAndCheck checks inner chunks after reading their range, which ends at stop, unless
// read holds it.
func (d *checker) readAndCheck(group []want, stop int64, read stretch) error {
	off := group[0].off
	data, ok := read.holds(off, stop-off)
	// Read the group, unless the range that was read for the index holds it.
	if !ok || read.data == nil {
		b := budget.Get(stop - off)
		defer b.Put()
		var err error
		if data, _, err = d.src.Read(d.ctx, store.Request{Range: store.Span(off, stop-off)}, b.B); err != nil {
			return err
		}
		d.work.Coalesced(d.ctx, len(group), stop-off)
	}
	d.work.Cores.Enter()
	defer d.work.Cores.Leave()
	return d.checkGroup(stretch{off: off, data: data}, group)
}

// sharedCheck is the check of inner chunks that have the same bytes and shape.
type sharedCheck struct {
	at   int // in the group
	same []want
	of   *codec.Check
}

// checkGroup checks inner chunks from a stretch that holds them. It adds the results in
// the order of their bytes. The caller holds a core.
func (d *checker) checkGroup(s stretch, group []want) error {
	var mu sync.Mutex
	var found []sharedCheck
	movers := make([]*placement.Mover, max(1, cap(d.work.Cores)))
	starts := alike(group)
	err := d.work.Cores.Each(d.ctx, int64(len(starts)-1), func(worker int, i int64) error {
		if movers[worker] == nil {
			movers[worker] = placement.NewMover(len(d.chunks), int(d.size))
		}
		return d.checkAlike(movers[worker], s, group[starts[i]:starts[i+1]], func(at int, same []want, of *codec.Check) {
			mu.Lock()
			defer mu.Unlock()
			found = append(found, sharedCheck{starts[i] + at, same, of})
		})
	})
	// Goroutines end in any order, so sort their results.
	sort.Slice(found, func(i, j int) bool { return found[i].at < found[j].at })
	for _, l := range found {
		for i, w := range l.same {
			// If the list is full, count the rest together. There may be millions.
			if len(d.out.Faults) == coding.MostFaults {
				left := int64(len(l.same) - i)
				d.out.Dead += left * l.of.Dead
				d.out.More += left * (int64(len(l.of.Faults)) + l.of.More)
				break
			}
			coding.AddInner(d.out, d.place(nil, w.k), w.off, l.of)
		}
	}
	return err
}

// alike returns the positions of the wants in a group whose range differs from the range
// before, and the length of the group.
func alike(group []want) []int {
	starts := make([]int, 0, len(group)+1)
	for i, w := range group {
		if i == 0 || w.off != group[i-1].off || w.n != group[i-1].n {
			starts = append(starts, i)
		}
	}
	return append(starts, len(group))
}

// checkAlike checks inner chunks that share the same bytes, once for each run of one
// shape, and passes the faults to report. So checking a hostile shard, whose bytes stand
// for millions of inner chunks, takes no longer than its bytes do.
func (d *checker) checkAlike(p *placement.Mover, s stretch, same []want, report func(at int, same []want, of *codec.Check)) error {
	data, _ := s.holds(same[0].off, same[0].n)
	var shape []int64
	var room [8]int64
	for from := 0; from < len(same); {
		d.grid.Cell(d.place(room[:0], same[from].k), p.Cell)
		shape = append(shape[:0], p.Cell.Encoded...)
		of, err := d.checkStored(p, same[from], data)
		to := from + 1
		// Inner chunks with the same bytes and the same shape have the same faults.
		for ; to < len(same) && d.grid.Cell(d.place(room[:0], same[to].k), p.Cell) && slices.Equal(shape, p.Cell.Encoded); to++ {
			d.note(same[to].k, strided.View{})
		}
		if of != nil && (of.Dead > 0 || len(of.Faults) > 0) {
			report(from, same[from:to], of)
		}
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// checkStored checks an inner chunk that is in memory, whose cell p has. It returns nil
// if there is no fault.
func (d *checker) checkStored(p *placement.Mover, w want, data []byte) (*codec.Check, error) {
	if d.chain.Divided() {
		return d.chain.Check(d.ctx, d.inner(w.k), p.Cell.Encoded, coding.Stored(data), d.deep)
	}
	err := d.decodes(d.ctx, d.work, p, data, func() { d.note(w.k, p.Decoded) })
	if err == nil {
		return nil, nil
	}
	of := checker{out: new(codec.Check)}
	return of.out, of.addFault(nil, 0, w.n, err)
}
