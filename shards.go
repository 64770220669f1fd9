// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// Inner gives access to the inner chunks of an array whose chunks are shards. Their
// indices count over all shards, as if they were the chunks of the array. An inner chunk
// is the best unit for reading, and a shard is the best unit for writing.
type Inner struct{ a *Array }

// Inner returns the inner chunks of the array. It returns nil if chunks are not shards,
// or if shards are compressed as a whole, so that inner chunks cannot be read alone.
func (a *Array) Inner() *Inner {
	if !a.core.State().Engine.Chain.Divided() {
		return nil
	}
	return &Inner{a}
}

// InnerChunk describes one inner chunk of an array. Lengths are in elements.
type InnerChunk struct {
	*grid.Chunk
	Shard []int64 // index of its shard
}

// Grid returns the grid of inner chunks. If the lists of edges would be too long, the
// error wraps [ErrUnsupported].
func (n *Inner) Grid() (*grid.Grid, error) {
	g, err := n.a.core.State().Inner()
	return g, n.a.fail("inner chunks", err)
}

// Chunks yields every inner chunk in C order, stored or not. Each chunk is a new value.
func (n *Inner) Chunks() iter.Seq2[InnerChunk, error] {
	return func(yield func(InnerChunk, error) bool) {
		s := n.a.core.State()
		g, err := s.Inner()
		if err != nil {
			yield(InnerChunk{}, n.a.fail("inner chunks", err))
			return
		}
		for c := range g.All() {
			// An inner chunk lies within one shard, so its first element names the shard.
			shard, _, err := s.Grid.Locate(c.Start)
			if !yield(InnerChunk{c, shard}, n.a.fail("inner chunks", err)) {
				return
			}
		}
	}
}

// ReadChunk returns the elements of one inner chunk in its encoded shape, as
// [Array.ReadChunk] does for a chunk.
func (n *Inner) ReadChunk(ctx context.Context, index []int64) ([]byte, error) {
	return n.a.readChunk(ctx, func(s *snapshot.Array) (*grid.Chunk, error) { return innerCell(s, index) }, func(s *snapshot.Array) ([]byte, engine.Suspicion, error) {
		at, err := s.LocateInner(index)
		if err != nil {
			return nil, engine.Certain, err
		}
		size, err := s.Engine.ChunkBytes(at.Part.Count)
		if err == nil && s.Type.Variable() {
			err = element.ErrVariable(s.Type)
		}
		if err != nil {
			return nil, engine.Certain, err
		}
		data := make([]byte, size)
		suspect, err := s.Engine.ReadPart(ctx, at.Shard, at.Part, data, nil, engine.Reading{Since: s.Since()})
		return data, suspect, err
	})
}

// WriteChunk stores the elements of one inner chunk in its encoded shape. The other inner
// chunks of the shard stay as they are.
func (n *Inner) WriteChunk(ctx context.Context, index []int64, data []byte) error {
	return n.write(ctx, index, func(s *snapshot.Array, at snapshot.InnerPlace, b store.Batch) error {
		size, err := s.Engine.ChunkBytes(at.Part.Count)
		if err == nil {
			err = checkElements(s, data, size, "the inner chunk")
		}
		if err != nil {
			return err
		}
		return s.Engine.WritePart(ctx, at.Shard, at.Part, data, nil, b)
	})
}

// ReadEncodedChunk returns the stored bytes of one inner chunk. If it is not stored, the
// error wraps [fs.ErrNotExist].
func (n *Inner) ReadEncodedChunk(ctx context.Context, index []int64) ([]byte, error) {
	s := n.a.core.State()
	at, err := s.LocateInner(index)
	if err != nil {
		return nil, n.a.fail("read chunk", err)
	}
	data, err := s.Engine.ReadEncodedInner(ctx, at.Shard, at.Within)
	return data, n.a.fail("read chunk", err)
}

// WriteEncodedChunk stores the bytes of one inner chunk, as [Inner.ReadEncodedChunk]
// returns them. If they do not decode to its encoded shape, the error wraps [ErrCorrupt]
// and nothing is stored.
func (n *Inner) WriteEncodedChunk(ctx context.Context, index []int64, data []byte) error {
	was := n.a.core.State()
	return n.write(ctx, index, func(s *snapshot.Array, at snapshot.InnerPlace, b store.Batch) error {
		if err := sameCoding(was, s); err != nil {
			return err
		}
		return s.Engine.WriteEncodedInner(ctx, at.Shard, at.Within, data, b)
	})
}

func (n *Inner) write(ctx context.Context, index []int64, write func(*snapshot.Array, snapshot.InnerPlace, store.Batch) error) error {
	s := n.a.core.State()
	at, err := s.LocateInner(index)
	if err != nil {
		return n.a.fail("write chunk", err)
	}
	was, err := innerCell(s, index)
	if err != nil {
		return n.a.fail("write chunk", err)
	}
	return n.a.fail("write chunk", n.a.writeChunk(ctx, at.Shard, func(s *snapshot.Array, b store.Batch) error {
		// Resolve the index again: writeChunk may pass a newer state, in which the place
		// of the inner chunk differs.
		at, err := s.LocateInner(index)
		if err != nil {
			return err
		}
		is, err := innerCell(s, index)
		if err != nil {
			return err
		}
		// The array may have been rechunked with other inner chunks.
		if !slices.Equal(is.Start, was.Start) || !slices.Equal(is.Encoded, was.Encoded) {
			return fmt.Errorf("%w: inner chunk %v now holds another part of the array; read it again", ErrConflict, index)
		}
		return write(s, at, b)
	}))
}

// innerCell returns the cell of an inner chunk in the grid of all inner chunks.
func innerCell(s *snapshot.Array, index []int64) (*grid.Chunk, error) {
	g, err := s.Inner()
	if err != nil {
		return nil, err
	}
	c, ok := g.Chunk(index)
	if !ok {
		return nil, fmt.Errorf("%w: no inner chunk %v; there are %v", grid.ErrOutOfRange, index, g.Chunks())
	}
	return c, nil
}

// sameCoding returns an error that wraps [ErrConflict] unless chunks are encoded in now
// as they were in the state that the caller's bytes were made for.
func sameCoding(was, now *snapshot.Array) error {
	if !likeness.SameElements(was.Doc, now.Doc) {
		return fmt.Errorf("%w: the codecs, the data type or the fill value of the array have changed; encode the chunk again", ErrConflict)
	}
	return nil
}

// CompactOptions are the options of [Array.CompactShards]. A nil *CompactOptions is the
// zero value.
type CompactOptions struct {
	// DryRun writes nothing, and returns the same report. The array need not be opened
	// for writing.
	DryRun bool
	// Progress, if not nil, is called for each stored shard, one call at a time.
	Progress func(shard []int64)
}

// CompactReport counts what [Array.CompactShards] has done.
type CompactReport struct {
	Shards  int64 // stored shards that are not damaged
	Changed int64 // of these, the shards that were rewritten
	Before  int64 // bytes of all these shards before the call
	After   int64 // bytes of all these shards after it
}

// String returns the counts in one line.
func (r CompactReport) String() string {
	return fmt.Sprintf("%d of %s rewritten: %s became %d", r.Changed, quantity.Of(r.Shards, "shard"), quantity.Count(r.Before, "bytes"), r.After)
}

// CompactShards rewrites stored shards so that their inner chunks follow each other in
// the order of [Options.Shards], without bytes that belong to no inner chunk. It copies
// encoded inner chunks and decodes nothing, even if inner chunks are shards themselves.
// Elements and grid stay as they are.
//
// A shard that is compact already costs one or two requests for its index, and is not
// written. Any other shard is replaced in one step. If the store can compare versions
// and the shard has changed since it was read, it is read again. If the store splices
// ([store.OpSplice]), the bytes do not pass through this process. In other stores a
// shard is read into memory, and one that is larger than [Options.Budget] is processed
// alone. If the call is interrupted, every shard is whole, and another call continues.
//
// A damaged shard is not changed: its index points outside of the shard, an inner chunk
// has an impossible length, or inner chunks share bytes. The other shards are compacted,
// and the error wraps [ErrCorrupt] and names the first damaged ones. If chunks are not
// shards, or are compressed as a whole, the error wraps [ErrUnsupported].
func (a *Array) CompactShards(ctx context.Context, opt *CompactOptions) (CompactReport, error) {
	if opt == nil {
		opt = &CompactOptions{}
	}
	o := *opt
	if progress := o.Progress; progress != nil {
		// The engine reuses the index, and the caller may keep it.
		o.Progress = func(shard []int64) { progress(slices.Clone(shard)) }
	}
	report, err := a.compactShards(ctx, o)
	return report, a.fail("compact", err)
}

func (a *Array) compactShards(ctx context.Context, opt CompactOptions) (report CompactReport, err error) {
	s := a.core.State()
	compact := func(s *snapshot.Array, _ bool) error {
		done, err := a.compactState(ctx, s, opt)
		report.add(done)
		return err
	}
	if opt.DryRun {
		err = a.core.UntilFresh(ctx, s, compact)
		return report, err
	}
	if err := a.writable(); err != nil {
		return report, err
	}
	lock, err := a.lock().Share(ctx)
	if err != nil {
		return report, err
	}
	defer lock.Release()
	// A shard that another process trims meanwhile counts as damaged, so untilFresh tries
	// again.
	if s.Engine.Chain.DistinguishesShapes() {
		err = a.core.UntilFresh(ctx, s, compact)
	} else { // stored bytes may decode as another shape: exclude writers that trim shards
		err = a.core.WithoutGrowth(ctx, lock, s, compact)
	}
	return report, err
}

// errNoShards is the error for arrays whose inner chunks cannot be read alone.
var errNoShards = fmt.Errorf("%w: the chunks are not shards, or another codec compresses each shard as a whole, so that its inner chunks cannot be read alone", ErrUnsupported)

// compactState compacts the shards of one state of the array.
func (a *Array) compactState(ctx context.Context, s *snapshot.Array, opt CompactOptions) (done engine.Compacted, err error) {
	cells := grid.BoxOf(s.Grid.Chunks())
	if !s.Engine.Chain.Divided() {
		return done, errNoShards
	}
	if opt.DryRun {
		return s.Engine.Compact(ctx, cells, engine.Compacting{Done: opt.Progress})
	}
	var damaged error
	err = a.core.Batch(ctx, func(ctx context.Context, b store.Batch) error {
		done, err = s.Engine.Compact(ctx, cells, engine.Compacting{Batch: b, Done: opt.Progress})
		if errors.Is(err, ErrCorrupt) && ctx.Err() == nil {
			// Returning this error would discard the batch instead of committing the good
			// shards.
			damaged, err = err, nil
		}
		return err
	})
	return done, errors.Join(damaged, err)
}

// add adds the counts of one more pass over the same shards. Sizes after the pass replace
// earlier ones; what earlier passes saved stays in Before.
func (r *CompactReport) add(done engine.Compacted) {
	// Earlier passes made the shards smaller, so the sizes before this pass are not the
	// original ones.
	saved := r.Before - r.After
	r.Shards, r.After = done.Chunks, done.After
	r.Before = done.Before + saved
	r.Changed += done.Changed
}
