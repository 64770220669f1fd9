// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// Chunk describes one chunk of an array. Lengths are in elements.
type Chunk struct {
	*grid.Chunk
	Key string // in the store
}

// Chunks yields every chunk in C order, stored or not. Each chunk is a new value.
func (a *Array) Chunks() iter.Seq[Chunk] {
	s := a.core.State()
	return func(yield func(Chunk) bool) {
		for c := range s.Grid.All() {
			if !yield(Chunk{c, s.Engine.Key(c.Index).String()}) {
				return
			}
		}
	}
}

// StoredChunks yields the indices of the chunks that are stored, in no particular order.
// Each index is a new slice.
func (a *Array) StoredChunks(ctx context.Context) iter.Seq2[[]int64, error] {
	s := a.core.State()
	return func(yield func([]int64, error) bool) {
		for index, err := range s.Engine.Stored(ctx, grid.BoxOf(s.Grid.Chunks())) {
			if !yield(slices.Clone(index), a.fail("list", err)) || err != nil {
				return
			}
		}
	}
}

// ChunkInfo returns the stored size and the version of a chunk. If the chunk is not
// stored, the error wraps [fs.ErrNotExist].
func (a *Array) ChunkInfo(ctx context.Context, index []int64) (store.Info, error) {
	s := a.core.State()
	if err := s.IsChunk(index); err != nil {
		return store.Info{}, a.fail("stat chunk", err)
	}
	info, err := store.Stat(ctx, a.hierarchy.store, s.Engine.Key(index))
	return info, a.fail("stat chunk", err)
}

// ReadChunk returns the elements of one chunk in its encoded shape, including those
// beyond the extent, in C order and host byte order. A chunk that is not stored has fill
// values.
func (a *Array) ReadChunk(ctx context.Context, index []int64) ([]byte, error) {
	return a.readChunk(ctx, chunkAt(index), func(s *snapshot.Array) ([]byte, engine.Suspicion, error) {
		n, err := s.ChunkBytes(index)
		if err == nil && s.Type.Variable() {
			err = element.ErrVariable(s.Type)
		}
		if err != nil {
			return nil, engine.Certain, err
		}
		data := make([]byte, n)
		suspect, err := s.Engine.ReadChunk(ctx, index, data, nil, engine.Reading{Since: s.Since()})
		return data, suspect, err
	})
}

// readChunk reads a chunk, and starts again like [target.read] if the state may be stale.
// The index means a region of the array, so a newer state must have the same one there.
func (a *Array) readChunk(
	ctx context.Context, cell func(*snapshot.Array) (*grid.Chunk, error), read func(*snapshot.Array) ([]byte, engine.Suspicion, error),
) ([]byte, error) {
	s := a.core.State()
	was, err := cell(s)
	if err != nil {
		return nil, a.fail("read chunk", err)
	}
	for range array.ReadTries {
		data, suspect, err := read(s)
		// A chunk that is missing or new, or that does not decode, may belong to another
		// grid.
		if suspect == engine.Certain && !errors.Is(err, ErrCorrupt) {
			return data, a.fail("read chunk", err)
		}
		now, staleErr := a.core.LookUnmoved(ctx, s)
		if errors.Is(staleErr, array.ErrMoved) {
			return data, a.fail("read chunk", a.core.OrMoved(ctx, s, err))
		}
		if now == s || staleErr != nil {
			return data, a.fail("read chunk", errors.Join(err, staleErr))
		}
		if is, err := cell(now); err != nil || !slices.Equal(is.Start, was.Start) || !slices.Equal(is.Encoded, was.Encoded) {
			return nil, a.fail("read chunk", errOtherChunk(was.Index))
		}
		s = now
	}
	return nil, a.fail("read chunk", array.ErrUnsettled)
}

// chunkAt returns a function that finds the chunk with an index.
func chunkAt(index []int64) func(*snapshot.Array) (*grid.Chunk, error) {
	return func(s *snapshot.Array) (*grid.Chunk, error) {
		if err := s.IsChunk(index); err != nil {
			return nil, err
		}
		c, _ := s.Grid.Chunk(index)
		return c, nil
	}
}

// sameRegion reports whether two chunks have the same part of the array.
func sameRegion(a, b *grid.Chunk) bool {
	return slices.Equal(a.Start, b.Start) && slices.Equal(a.Logical, b.Logical)
}

// errOtherChunk returns the conflict of a call that means a chunk which is another one by
// now.
func errOtherChunk(index []int64) error {
	return fmt.Errorf("%w: chunk %v now holds another part of the array; look at its chunks again", ErrConflict, index)
}

// WriteChunk stores the elements of one chunk in its encoded shape, as [Array.ReadChunk]
// returns them. If another process has changed the edges or the extent of the chunk, the
// error wraps [ErrConflict].
func (a *Array) WriteChunk(ctx context.Context, index []int64, data []byte) error {
	return a.fail("write chunk", a.writeChunk(ctx, index, func(s *snapshot.Array, b store.Batch) error {
		n, err := s.ChunkBytes(index)
		if err == nil {
			err = checkElements(s, data, n, "the chunk")
		}
		if err != nil {
			return err
		}
		return s.Engine.WriteChunk(ctx, index, data, nil, b)
	}))
}

// checkElements returns an error unless data has size bytes of elements of the array.
func checkElements(s *snapshot.Array, data []byte, size int64, of string) error {
	if int64(len(data)) != size {
		return fault.Argument("%s, %s has %d", quantity.Count(len(data), "bytes"), of, size)
	}
	return element.CheckValues(element.Buffer{Type: s.Type, Data: data})
}

// ReadEncodedChunk returns the stored bytes of one chunk. If the chunk is not stored, the
// error wraps [fs.ErrNotExist].
func (a *Array) ReadEncodedChunk(ctx context.Context, index []int64) ([]byte, error) {
	s := a.core.State()
	if err := s.IsChunk(index); err != nil {
		return nil, a.fail("read chunk", err)
	}
	data, err := s.Engine.ReadEncoded(ctx, index)
	return data, a.fail("read chunk", err)
}

// WriteEncodedChunk stores the bytes of one chunk, as [Array.ReadEncodedChunk] returns
// them. If they do not decode to the encoded shape of the chunk, the error wraps
// [ErrCorrupt] and nothing is stored.
func (a *Array) WriteEncodedChunk(ctx context.Context, index []int64, data []byte) error {
	was := a.core.State()
	return a.fail("write chunk", a.writeChunk(ctx, index, func(s *snapshot.Array, b store.Batch) error {
		if err := sameCoding(was, s); err != nil {
			return err
		}
		return s.Engine.WriteEncoded(ctx, index, data, b)
	}))
}

func (a *Array) writeChunk(ctx context.Context, index []int64, write func(*snapshot.Array, store.Batch) error) error {
	if err := a.writable(); err != nil {
		return err
	}
	lock, err := a.lock().Share(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	s := a.core.State()
	if err := s.IsChunk(index); err != nil {
		return err
	}
	// The caller means this region of the array. Another process may give the same index
	// to another region before the chunk is stored.
	was, _ := s.Grid.Chunk(index)
	put := func(s *snapshot.Array, _ bool) (grid.Box, error) {
		if is, ok := s.Grid.Chunk(index); !ok || !sameRegion(is, was) {
			return nil, errOtherChunk(index)
		}
		return engine.BoxAt(index), a.core.Batch(ctx, func(_ context.Context, b store.Batch) error { return write(s, b) })
	}
	// A boundary chunk also holds elements beyond the extent, which a concurrent append
	// may fill. Without versions this process cannot tell whether the grid is current, so
	// it takes the lock for every chunk.
	border := was.IsBoundary() || s.Version.IsZero()
	if !border && !a.options.SingleWriter { // another process may have published other edges
		if s, err = a.core.LookUnmoved(ctx, s); err != nil {
			return err
		}
		if is, ok := s.Grid.Chunk(index); ok {
			border = is.IsBoundary()
		}
	}
	return a.core.Store(ctx, lock, s, border, put)
}

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
