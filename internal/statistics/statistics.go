// SPDX-License-Identifier: Apache-2.0

// Package statistics keeps, beside an array, what each of its stored chunks holds: the
// least and the largest number, and how many elements are missing or equal the fill
// value. Of an array with shards it keeps that of each inner chunk.
//
// The entries are elements of an array of structs in the directory of the array, which
// readers of the array never look at. docs/statistics.md describes it for other programs.
// An entry names what it describes by a mark (see mark): a hash of the version of the
// stored chunk, its key, the elements of the cell, and all that gives the stored bytes
// their meaning. Whoever uses an entry computes the mark from the present document and a
// present listing. So nothing has to be deleted or told when a program writes a chunk,
// changes the grid or an attribute: the entry is unknown from then on, and never wrong.
//
// [Make] follows three rules:
//
//  1. The listing comes before the chunks are read, by at least one tick of the clock of
//     files: a later write in place has another version.
//  2. An entry is kept only if the version that was read is the listed one.
//  3. An entry is one element, and a block of entries one value, which is stored at once.
//
// Writers keep entries in step by rules 4 to 6, in keep.go.
package statistics

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// Entries are the kept entries of an array, beside a listing of its stored chunks.
type Entries struct {
	*subject
	form   *form
	listed *staging.Table
	blocks map[int64]*block // by number
	asking *asking          // without a listing
}

// asking has the versions of chunks that were asked for one by one.
type asking struct {
	mu       sync.Mutex // of blocks, too
	versions map[int64]staging.Digest
}

// mostVersions bounds the versions of [asking] that are held.
const mostVersions = 1 << 20

// Ask returns the entries of an array whose store cannot be listed. They are read, and
// versions asked for, when they are needed. Ask returns nil if no entries are kept, or
// the array permits none.
func Ask(ctx context.Context, a *zarr.Array, s *snapshot.Array, c *cf.Comparer) (*Entries, error) {
	of, err := newSubject(a.Core(), s, c)
	if err != nil {
		return nil, nil
	}
	f, err := of.find(ctx)
	if errors.Is(err, errNone) {
		return nil, nil
	}
	return &Entries{subject: of, form: f, blocks: map[int64]*block{}, asking: &asking{versions: map[int64]staging.Digest{}}}, err
}

// Suffices reports whether what a cell holds is known, and is enough for the caller: is
// gets it, and the number of elements. Without a listing, the version of the chunk is
// asked for only if that could spare reading the chunk.
func (e *Entries) Suffices(ctx context.Context, cell []int64, is func(s cf.Summary, n int64) bool) bool {
	if e.asking == nil {
		s, n, known := e.Known(cell)
		return known && is(s, n)
	}
	c, ok := e.cells.Chunk(cell)
	if !ok {
		return false
	}
	chunk, _, err := e.Grid.Locate(c.Start)
	if err != nil {
		return false
	}
	n, _ := checked.Product(c.Logical...)
	mark, s, ok := e.asking.entry(ctx, e, cell, n)
	if !ok || !is(s, n) {
		return false
	}
	version := e.asking.version(ctx, e, chunk)
	return version != 0 && mark == e.mark(chunk, version, c)
}

// entry returns the entry of a cell with n elements, whatever its mark, and this.
func (q *asking) entry(ctx context.Context, e *Entries, cell []int64, n int64) (mark uint64, s cf.Summary, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e.relieve()
	if e.need(cell); e.readBlocks(ctx) != nil {
		clear(e.blocks)
		return 0, s, false
	}
	b, at := e.place(cell)
	if b == nil || b.data == nil {
		return 0, s, false
	}
	mark = binary.NativeEndian.Uint64(b.data[at:])
	s, ok = e.entry(cell, n, func() uint64 { return mark })
	s.Minimum, s.Maximum = slices.Clone(s.Minimum), slices.Clone(s.Maximum)
	return mark, s, ok
}

// version returns the version of a chunk, or 0 if it is not stored, or not known.
func (q *asking) version(ctx context.Context, e *Entries, chunk []int64) staging.Digest {
	number := strided.Number(e.Grid, chunk)
	q.mu.Lock()
	version, asked := q.versions[number]
	q.mu.Unlock()
	if asked {
		return version
	}
	info, err := store.Stat(ctx, e.Engine.Store, e.Engine.Key(chunk))
	if err == nil && !staging.IsVague(info.Version) {
		version = staging.DigestOf(info.Version)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.versions) < mostVersions {
		q.versions[number] = version
	}
	return version
}

// Load reads the entries of an array in the given state. listed has its stored chunks
// with their versions. Load returns nil if no entries are kept, if the array or its store
// permits none, or if they have more than limit bytes.
func Load(ctx context.Context, a *zarr.Array, s *snapshot.Array, c *cf.Comparer, listed *staging.Table, limit int64) (*Entries, error) {
	if listed == nil || listed.Vague {
		return nil, nil
	}
	of, err := newSubject(a.Core(), s, c)
	if err != nil {
		return nil, nil
	}
	f, err := of.find(ctx)
	if errors.Is(err, errNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n, ok := checked.Product(f.Grid.Chunks()...)
	if total, fits := checked.Mul(n, f.bytes); !ok || !fits || total > limit {
		return nil, nil
	}
	e := &Entries{subject: of, form: f, listed: listed, blocks: map[int64]*block{}}
	for index, err := range f.Engine.Stored(ctx, grid.BoxOf(f.Grid.Chunks())) {
		if err != nil {
			return nil, err
		}
		b := &block{index: append([]int64(nil), index...)}
		e.blocks[strided.Number(f.Grid, index)] = b
	}
	return e, e.readBlocks(ctx)
}

// readBlocks reads the blocks that were not read yet.
func (e *Entries) readBlocks(ctx context.Context) error {
	group, ctx := parallel.New(ctx)
	group.SetLimit(parallelReads)
	for _, b := range e.blocks {
		if !b.read {
			group.Go(func() (err error) {
				b.data, err = e.form.read(ctx, b.index)
				b.read = err == nil
				return err
			})
		}
	}
	return group.Wait(nil)
}

// parallelReads is how many blocks are read at once.
const parallelReads = 16

// Known returns what a cell holds: a chunk, or an inner chunk of a shard. n is the number
// of its elements. It returns false if that is not known, also if the chunk is not
// stored.
func (e *Entries) Known(cell []int64) (s cf.Summary, n int64, known bool) {
	c, ok := e.cells.Chunk(cell)
	if !ok {
		return s, 0, false
	}
	chunk, _, err := e.Grid.Locate(c.Start)
	version := e.listed.Digest(chunk)
	if err != nil || version == 0 {
		return s, 0, false
	}
	n, _ = checked.Product(c.Logical...)
	s, known = e.entry(cell, n, func() uint64 { return e.mark(chunk, version, c) })
	return s, n, known
}

// Cells yields the indices of the cells of stored chunks.
func (e *Entries) Cells() iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		for chunk := range e.listed.All() {
			box, err := e.cellsOf(chunk)
			if err != nil {
				return // no chunk of the array
			}
			for cell := range box.IndicesInto(make([]int64, len(box))) {
				if !yield(slices.Clone(cell)) {
					return
				}
			}
		}
	}
}

// entry returns the entry of a cell with n elements if it has the given mark. Without an
// entry no mark is computed.
func (e *Entries) entry(cell []int64, n int64, mark func() uint64) (s cf.Summary, ok bool) {
	b, at := e.place(cell)
	if b == nil || b.data == nil {
		return s, false
	}
	if is := binary.NativeEndian.Uint64(b.data[at:]); is == 0 || is != mark() {
		return s, false
	}
	data := b.data[at:]
	size := e.Type.Size()
	low, high := data[number:][:size], data[number+size:][:size]
	counts := data[number+2*size:]
	missing, filled := binary.NativeEndian.Uint64(counts), binary.NativeEndian.Uint64(counts[number:])
	if missing > math.MaxInt64 || filled > math.MaxInt64 {
		return s, false
	}
	if s = (cf.Summary{Missing: int64(missing), Fill: int64(filled)}); s.Missing < n {
		s.Minimum, s.Maximum = low, high
	}
	return s, true
}

// place returns the block that has the entry of a cell, and its first byte there, or nil
// if there is no such block.
func (e *Entries) place(cell []int64) (*block, int64) {
	index := make([]int64, len(cell))
	at, ok := e.form.place(cell, index)
	if !ok {
		return nil, 0
	}
	return e.blocks[strided.Number(e.form.Grid, index)], at
}

// set sets the entry of a cell, whose block was read.
func (e *Entries) set(cell []int64, mark uint64, s cf.Summary) {
	b, at := e.place(cell)
	if b.data == nil {
		b.data = make([]byte, e.form.bytes)
	}
	data, size := b.data[at:][:e.form.Type.Size()], e.Type.Size()
	b.changed = true
	clear(data)
	binary.NativeEndian.PutUint64(data, mark)
	// If all elements are missing there is no number, and the bytes stay zero.
	copy(data[number:], s.Minimum)
	copy(data[number+size:], s.Maximum)
	binary.NativeEndian.PutUint64(data[number+2*size:], uint64(s.Missing))
	binary.NativeEndian.PutUint64(data[2*number+2*size:], uint64(s.Fill))
}
