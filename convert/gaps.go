// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/bits"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// The most missing chunks that a conversion to format 2 stores without Options.FillAll.
const (
	mostFilled      = 10_000
	mostFilledBytes = 1 << 30
)

// ErrManyMissing reports that a conversion to format 2 would have to store more missing
// chunks than permitted. It wraps [zarr.ErrLimit]. Options.FillAll permits any number.
var ErrManyMissing = fmt.Errorf("%w: too many chunks are missing", zarr.ErrLimit)

// gauge counts the missing chunks that the conversion must store, and refuses more than
// permitted.
func (s *survey) gauge(ctx context.Context, opt *Options) error {
	var chunks, size int64
	for _, m := range s.own() {
		if m.mask == nil || !m.mask.Fills {
			continue
		}
		err := s.gaugeOne(ctx, m, &opt.Options)
		ok, fits := true, true
		chunks, ok = checked.Add(chunks, m.Filled)
		size, fits = checked.Add(size, m.FilledBytes)
		if err == nil && !(ok && fits) {
			err = fmt.Errorf("%w: their number or size", zarr.ErrOverflow)
		}
		if err != nil {
			return fmt.Errorf("%q: missing chunks: %w", "/"+m.path.String(), err)
		}
	}
	// A dry run reports the numbers and does not fail.
	if opt.DryRun || opt.FillAll || chunks <= mostFilled && size <= mostFilledBytes {
		return nil
	}
	return fmt.Errorf("%w: format 2 needs %s of %s in total that the source does not store ("+remedy.FillAll+")",
		ErrManyMissing, quantity.Count(chunks, "chunks"), quantity.Count(size, "bytes"))
}

func (s *survey) gaugeOne(ctx context.Context, m *member, opt *zarr.Options) error {
	g, err := newGaps(m)
	if err == nil {
		m.Filled, err = g.count(ctx, s.store, m.path)
	}
	if err != nil || m.Filled == 0 {
		return err
	}
	if g.value, err = g.chunk(ctx, m.result.(*metadata.Array), m.mask.Gap, opt); err != nil {
		return err
	}
	var ok bool
	if m.FilledBytes, ok = checked.Mul(m.Filled, int64(len(g.value))); !ok {
		return fmt.Errorf("%w: their size", zarr.ErrOverflow)
	}
	m.gaps = g
	return nil
}

// gaps are the chunks that the source does not store but the new format needs.
type gaps struct {
	from, to *grid.Grid
	named    metadata.KeyEncoding // of the source
	names    metadata.KeyEncoding // of the new format
	value    []byte               // one such chunk as stored
}

// newGaps returns the gaps of a member.
func newGaps(m *member) (*gaps, error) {
	is, err := zarr.SpecOf(m.node.(*metadata.Array))
	if err != nil {
		return nil, err
	}
	will, err := zarr.SpecOf(m.result.(*metadata.Array))
	if err != nil {
		return nil, err
	}
	return &gaps{from: is.Grid, to: will.Grid, named: is.KeyEncoding, names: will.KeyEncoding}, nil
}

// count returns how many chunks of the new format contain nothing that the source stores.
// If both formats cut the array alike, these are all missing chunks. A stored shard
// counts as complete.
func (g *gaps) count(ctx context.Context, s store.Store, p store.Path) (int64, error) {
	total, ok := g.to.NumChunks()
	if !ok {
		return 0, fmt.Errorf("%w: the number of chunks", zarr.ErrOverflow)
	}
	for index, err := range g.stored(ctx, s, p) {
		if err != nil {
			return 0, err
		}
		total -= g.touched(index)
	}
	// A chunk of the new format may overlap several of the source, so the count may
	// go below zero.
	return max(0, total), nil
}

// touched returns how many chunks of the new format overlap a chunk of the source.
func (g *gaps) touched(index []int64) int64 {
	n := int64(1)
	for i, k := range index {
		c, _ := g.from.Axis(i).Cell(k)
		first, _, _ := g.to.Axis(i).Locate(c.Start)
		last, _, _ := g.to.Axis(i).Locate(c.Start + c.Logical - 1)
		n *= last - first + 1
	}
	return n
}

// chunk returns the stored form of a chunk with the same element everywhere. All chunks
// of format 2 have one shape, so one value serves for all.
func (g *gaps) chunk(ctx context.Context, doc *metadata.Array, elem []byte, opt *zarr.Options) ([]byte, error) {
	shape := make([]int64, g.to.Rank())
	for i := range shape {
		shape[i] = g.to.Axis(i).Step()
	}
	list, err := documentsOf(doc.Resized(shape, doc.ChunkGrid))
	if err != nil {
		return nil, err
	}
	s := memstore.New()
	for _, d := range list {
		if _, err := store.Write(ctx, s, store.Put(store.MustKey(d.name), d.bytes), store.Flush); err != nil {
			return nil, err
		}
	}
	o := *opt
	// Without StoreFill a chunk of fill values would not be stored at all.
	o.Write, o.StoreFill, o.Observer = true, true, nil
	a, err := zarr.At(s, "").OpenArray(ctx, &o)
	if err != nil {
		return nil, err
	}
	if a.Type().Variable() {
		err = zarr.Fill(ctx, a, nil, elem)
	} else {
		err = a.FillBytes(ctx, nil, elem)
	}
	if err != nil {
		return nil, err
	}
	value, _, err := s.Get(ctx, store.Path{}.MustKey(string(g.names.AppendKey(nil, make([]int64, len(shape))))), store.Request{}, nil)
	return value, err
}

// mostMarked bounds the chunks for which marks are kept in memory.
const mostMarked = 1 << 30

// fill calls put for every missing chunk.
func (g *gaps) fill(ctx context.Context, workers int, s store.Store, p store.Path, put func(ctx context.Context, name string, value []byte) error) error {
	marks, err := g.marks(ctx, s, p)
	if err != nil {
		return err
	}
	work, each := parallel.New(ctx)
	work.SetLimit(workers)
	i := int64(-1)
	for c := range g.to.All() {
		// C order, as in marks.
		if i++; marks != nil && marks[i/bits.UintSize]&(1<<(i%bits.UintSize)) != 0 {
			continue
		}
		name, was := string(g.names.AppendKey(nil, c.Index)), p.MustKey(string(g.named.AppendKey(nil, c.Index)))
		work.Go(func() error {
			// Too many chunks for marks: ask the store for each.
			if marks == nil {
				if found, err := store.Exists(each, s, was); found || err != nil {
					return err
				}
			}
			return put(each, name, g.value)
		})
		// After a failed call, begin no further ones.
		if each.Err() != nil {
			break
		}
	}
	return work.Wait(nil)
}

// marks returns one bit for every chunk in C order, set if the chunk is stored. If there
// are too many chunks, it returns nil, and the caller asks the store for each.
func (g *gaps) marks(ctx context.Context, s store.Store, p store.Path) ([]uint, error) {
	total, ok := g.to.NumChunks()
	if !ok || total > mostMarked {
		return nil, nil
	}
	marks := make([]uint, total/bits.UintSize+1)
	chunks := g.to.Chunks()
	for index, err := range g.stored(ctx, s, p) {
		if err != nil {
			return nil, err
		}
		i := int64(0)
		for axis, k := range index {
			i = i*chunks[axis] + k
		}
		marks[i/bits.UintSize] |= 1 << (i % bits.UintSize)
	}
	return marks, nil
}

// stored yields the indices of the chunks that the source stores. The next iteration
// overwrites the index.
func (g *gaps) stored(ctx context.Context, s store.Store, p store.Path) iter.Seq2[[]int64, error] {
	return func(yield func([]int64, error) bool) {
		index, chunks := make([]int64, g.from.Rank()), grid.BoxOf(g.from.Chunks())
		for e, err := range store.List(ctx, s, p, store.Deep) {
			if errors.Is(err, store.ErrUnsupported) {
				g.asked(ctx, s, p, yield)
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			var isChunk bool
			// Skip documents, and chunks that a crash has left beyond the extent.
			if index, isChunk = g.named.ParseKey(e.Name, g.from.Rank(), index); isChunk && chunks.Contains(index) && !yield(index, nil) {
				return
			}
		}
	}
}

// asked is [gaps.stored] for a store that cannot list: it checks every chunk.
func (g *gaps) asked(ctx context.Context, s store.Store, p store.Path, yield func([]int64, error) bool) {
	var key []byte
	for c := range g.from.All() {
		key = g.named.AppendKey(key[:0], c.Index)
		found, err := store.Exists(ctx, s, p.MustKey(string(key)))
		if (found || err != nil) && !yield(c.Index, err) || err != nil {
			return
		}
	}
}

// putMissing stores a chunk if it is missing.
func putMissing(ctx context.Context, b store.Batch, key store.Key, value []byte) error {
	_, err := b.Write(ctx, store.PutIf(key, value, store.IfAbsent()))
	if errors.Is(err, store.ErrUnsupported) {
		_, err = b.Write(ctx, store.Put(key, value))
	}
	// A concurrent writer stored the chunk. Its elements are newer than the fill.
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}
