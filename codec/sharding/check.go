package sharding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// checker looks for faults in one shard.
type checker struct {
	*decoder
	src    codec.Source
	memory bool // the shard is in memory
	deep   bool
	out    *codec.Check
}

// Check implements [codec.Divider].
func (c *coder) Check(ctx context.Context, w *codec.Work, shape []int64, src codec.Source, deep bool) (*codec.Check, error) {
	l, err := c.layout(shape)
	if err != nil {
		_, info, readErr := src.Read(ctx, store.Request{Range: store.Span(0, 0)}, nil)
		if readErr != nil {
			return nil, readErr // there may be no shard
		}
		d := &checker{out: &codec.Check{Bytes: info.Size}}
		return d.out, d.note(nil, 0, info.Size, err)
	}
	d := &checker{decoder: &decoder{coder: c, layout: l, ctx: ctx, work: w}, src: src, deep: deep, out: new(codec.Check)}
	x, read, err := d.open()
	defer read.buffer.Put()
	if err != nil {
		return d.out, d.note(nil, d.indexOffset(read), l.index, err)
	}
	d.out.Bytes = x.info.Size
	wants := d.entries(x)
	d.sweep(x, wants)
	if !deep && !d.chain.Divided() {
		return d.out, nil
	}
	return d.out, d.checkInner(wants, read)
}

// open returns the index of the shard, and what else of it was read.
func (d *checker) open() (x *index, read stretch, err error) {
	var shard codec.Stored
	if shard, d.memory = d.src.(codec.Stored); d.memory {
		x, err = d.indexOf(d.layout, shard)
		return x, stretch{data: shard}, err
	}
	return d.fetchIndex(d.src)
}

// indexOffset returns where the index is that cannot be read.
func (d *checker) indexOffset(read stretch) int64 {
	if d.atStart {
		return 0
	}
	return max(0, read.off+int64(len(read.data))-d.layout.index)
}

// note adds what is wrong to the faults. Errors that say nothing of what is stored are returned.
func (d *checker) note(inner [][]int64, off, n int64, err error) error {
	if !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrLimit) {
		return err
	}
	d.out.Add(codec.Fault{Inner: inner, Off: off, Len: n, Err: err})
	return nil
}

// entries returns the inner chunks that are stored, in the order of their bytes. Those that lead out of the shard are faults.
func (d *checker) entries(x *index) []want {
	var wants []want
	for k := range d.n {
		off, n, stored, err := x.span(k)
		if err != nil {
			off, n = int64(min(x.entries[2*k], math.MaxInt64)), int64(min(x.entries[2*k+1], math.MaxInt64))
			d.out.Add(codec.Fault{Inner: d.path(k), Off: off, Len: n, Err: err})
		} else if stored {
			wants = append(wants, want{off, n, k})
		}
		if stored || err != nil {
			d.out.Inner++
		}
	}
	slices.SortFunc(wants, want.compare)
	return wants
}

// path leads to inner chunk k.
func (d *checker) path(k int64) [][]int64 { return [][]int64{d.place(nil, k)} }

// sweep goes over the bytes of the shard once, and notes those that several inner chunks have, and counts those that none has.
func (d *checker) sweep(x *index, wants []want) {
	covered, stop, last := d.layout.index, int64(0), int64(0)
	for _, w := range wants {
		if w.n > 0 && w.off < stop {
			err := fmt.Errorf("inner chunk %v has some of its bytes too", d.place(nil, last))
			d.out.Add(codec.Fault{Inner: d.path(w.k), Off: w.off, Len: w.n, Shared: true, Err: err})
		}
		if end := w.off + w.n; end > stop {
			covered += end - max(w.off, stop)
			stop, last = end, w.k
		}
	}
	d.out.Dead += x.info.Size - covered
}

// checkInner looks into the inner chunks: range by range, unless the shard is in memory, and those that are too large to be
// read whole piece by piece.
func (d *checker) checkInner(wants []want, read stretch) error {
	if d.memory {
		return d.checkGroup(read, wants)
	}
	for len(wants) > 0 {
		n := 1
		var err error
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

// large returns from how many bytes on an inner chunk is not read whole, if it can be read in pieces.
func (d *checker) large() int64 {
	if d.deep {
		return d.work.Bytes / 2
	}
	return d.work.Gap
}

// checkLarge looks into an inner chunk that is not to be read whole if that can be helped.
func (d *checker) checkLarge(w want) error {
	if !d.chain.Divided() {
		return d.readAndCheck([]want{w}, w.off+w.n, stretch{})
	}
	at := d.place(nil, w.k)
	cell, _ := d.grid.Chunk(at)
	of, err := d.chain.Check(d.ctx, d.work, cell.Encoded, section{d.src, w.off, w.n}, d.deep)
	if err == nil {
		d.out.AddInner(at, w.off, of)
	}
	return err
}

// section is a part of a stored chunk that is a chunk itself.
type section struct {
	codec.Source
	off, n int64
}

// Key returns the zero Key.
func (s section) Key() store.Key { return store.Key{} }

// Expect does nothing: the version is that of the chunk around it.
func (s section) Expect(store.Info) {}

// Read implements [codec.Source].
func (s section) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, store.Info, error) {
	off, n, err := q.Resolve(s.n)
	if err != nil {
		return nil, store.Info{}, err
	}
	out, _, err := s.Source.Read(ctx, store.Request{Range: store.Span(s.off+off, n)}, dst)
	return out, store.Info{Size: s.n}, err
}

// readAndCheck looks into inner chunks after reading the bytes up to stop, if those that were read before do not hold them.
func (d *checker) readAndCheck(group []want, stop int64, read stretch) error {
	off := group[0].off
	data, ok := read.holds(off, stop-off)
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

// looked is what was found in an inner chunk.
type looked struct {
	want
	of *codec.Check
}

// checkGroup looks into inner chunks whose bytes were read. The caller holds a core.
func (d *checker) checkGroup(s stretch, group []want) error {
	var mu sync.Mutex
	var found []looked
	pieces := make([]*selection.Piece, max(1, cap(d.work.Cores)))
	err := d.work.Cores.Each(d.ctx, int64(len(group)), func(worker int, i int64) error {
		if pieces[worker] == nil {
			pieces[worker] = selection.NewPiece(len(d.chunks), int(d.size))
		}
		data, _ := s.holds(group[i].off, group[i].n)
		of, err := d.checkStored(pieces[worker], group[i], data)
		if of != nil && (of.Dead > 0 || len(of.Faults) > 0) {
			mu.Lock()
			found = append(found, looked{group[i], of})
			mu.Unlock()
		}
		return err
	})
	slices.SortFunc(found, func(a, b looked) int { return cmp.Or(a.compare(b.want), cmp.Compare(a.k, b.k)) })
	for _, l := range found {
		d.out.AddInner(d.place(nil, l.k), l.off, l.of)
	}
	return err
}

// checkStored looks into an inner chunk that is in memory; nil is nothing to tell.
func (d *checker) checkStored(p *selection.Piece, w want, data []byte) (*codec.Check, error) {
	d.grid.Cell(d.place(p.Part.Chunk[:0], w.k), p.Cell)
	if d.chain.Divided() {
		return d.chain.Check(d.ctx, d.work, p.Cell.Encoded, codec.Stored(data), d.deep)
	}
	err := d.decodes(d.ctx, d.work, p, data)
	if err == nil {
		return nil, nil
	}
	of := checker{out: new(codec.Check)}
	return of.out, of.note(nil, 0, w.n, err)
}
