// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Array is a node that has elements: a large block that is cut into chunks.
//
// Any number of goroutines may use an Array at the same time, also while it grows. A call
// works on one published version of the array. Within this process, writers of one chunk
// wait for each other, and a change of the extent waits for writes that have begun.
// Between processes, a change of the extent excludes other such changes, and writes to
// boundary chunks. The last writer of any other chunk wins, unless
// [Options.SharedWriters] is set.
//
// Indices mean the elements that the array had when it was opened, also after another
// process has dropped or inserted elements. Calls that are given indices then read those
// elements as long as they are stored, or return an error that wraps [ErrConflict].
// [Array.Refresh], and calls that append or change the array otherwise, take over the new
// indices.
type Array struct {
	node
	state  atomic.Pointer[snapshot.Array]
	recent publish.Recent
}

// newArray returns the array that a document of the given version describes.
func newArray(base node, doc *metadata.Array, version store.Version) (*Array, error) {
	a := &Array{node: base}
	// The array has no state yet, so Bind makes a new codec chain.
	s, err := a.binding().Bind(doc, nil, version)
	if err != nil {
		return nil, err
	}
	s.Numbering = new(snapshot.Numbering)
	a.state.Store(s)
	return a, nil
}

// binding returns the binding that turns a document of the array into a state.
func (a *Array) binding() *snapshot.Binding {
	o := &a.options
	_, locks := store.As[store.Locker](a.hierarchy.store)
	return &snapshot.Binding{
		Engine: &engine.Array{
			Store: a.hierarchy.store, Path: a.path, Concurrency: o.Concurrency, Budget: o.Budget,
			MaxChunk: o.Limits.chunk(), KeepFill: o.StoreFill, Fenced: !locks && !o.SingleWriter, RequireChunks: o.RequireChunks,
			Gap: o.Shards.Gap, Span: o.Shards.Span, Observer: a.hierarchy.observer,
		},
		Codecs: o.environment(), Grids: grid.ParseOptions{EncodedShapes: o.Experimental.EncodedShapes},
		Limits: o.Limits.metadata(), Present: a.state.Load(),
	}
}

// Shape returns the length of every axis in elements.
func (a *Array) Shape() []int64 { return a.state.Load().Grid.Shape() }

// Rank returns the number of axes.
func (a *Array) Rank() int { return a.state.Load().Grid.Rank() }

// Grid returns the chunk grid.
func (a *Array) Grid() *grid.Grid { return a.state.Load().Grid }

// Type returns the data type of the elements.
func (a *Array) Type() dtype.Type { return a.state.Load().Type }

// FillValue returns the value of elements that were never written.
func (a *Array) FillValue() FillValue {
	s := a.state.Load()
	return fillValueOf(s.Type, s.Fill, s.Doc.HasNullFill())
}

// HasChecksum reports whether a codec stores a checksum of every chunk or, in shards, of
// every inner chunk. Without one, damage that decodes to other values is read as them.
func (a *Array) HasChecksum() bool { return a.state.Load().Engine.Chain.HasChecksum() }

// Attributes returns the user attributes as a JSON object, in their stored spelling.
func (a *Array) Attributes() []byte { return bytes.Clone(a.state.Load().Doc.Attributes) }

// Metadata returns a copy of the document that describes the array.
func (a *Array) Metadata() *metadata.Array { return a.state.Load().Doc.Clone() }

// String describes the array in one line: data type, shape, chunks and location.
func (a *Array) String() string {
	s := a.state.Load()
	return fmt.Sprintf("%s %s at %s", s.Type, s.Grid, a.Location())
}

// DimensionNames returns the name of every axis, "" for an axis without one. It is nil if
// the array names none.
func (a *Array) DimensionNames() []string { return a.state.Load().DimensionNames() }

// parse binds a document of this array. attributes is its attributes document in format
// 2.
func (a *Array) parse(data, attributes []byte, version store.Version) (*snapshot.Array, error) {
	doc, err := a.parseDocument(data, attributes)
	if err != nil {
		return nil, err
	}
	s, err := a.binding().Bind(doc, nil, version)
	if err != nil {
		return nil, fault.InDocument(err)
	}
	s.Warned = publish.Warned(data)
	return s, nil
}

// parseDocument parses a document of this array.
func (a *Array) parseDocument(data, attributes []byte) (*metadata.Array, error) {
	l := a.options.Limits.metadata()
	if a.isV2() {
		// In format 2 the attributes are in a document of their own, .zattrs.
		return metadata.ParseArrayV2(data, attributes, l)
	}
	return metadata.ParseArray(data, l)
}

// Refresh reads the document again. Later calls see what other processes have published.
// If they have dropped or inserted elements, indices mean other elements from now on.
func (a *Array) Refresh(ctx context.Context) error {
	_, err := a.reload(ctx, a.state.Load())
	return a.fail("refresh", err)
}

// reload reads the document again, and the array takes it over. It returns the state of
// that document, or a newer one that another call of this process has published
// meanwhile.
func (a *Array) reload(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	next, err := a.load(ctx, s)
	if err != nil {
		return nil, err
	}
	return a.adopt(s, next), nil
}

// load reads the document again. s is an older state.
func (a *Array) load(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	// Take the time before the request. A chunk that is stored while it runs may belong
	// to a later document.
	now := time.Now()
	data, info, err := a.hierarchy.store.Get(ctx, a.key(), store.Request{Limit: a.options.Limits.document()}, nil)
	if err != nil {
		return nil, err
	}
	var attributes []byte
	if a.isV2() {
		if attributes, err = a.hierarchy.reader(a.options.Limits).Attributes(ctx, a.path); err != nil {
			return nil, err
		}
	}
	next, err := a.parse(data, attributes, info.Version)
	if err != nil {
		return nil, fault.InFile(a.key(), err)
	}
	next.Confirm(now)
	next.SetWritten(info.Modified)
	// The same version says the same, except for attributes of format 2.
	if next.Numbering = s.Numbering; next.Version != s.Version || next.Version.IsZero() {
		a.number(ctx, s, next)
	}
	return next, ctx.Err()
}

// adopt makes next the state of the array, unless another call has published or reloaded
// since s was loaded: that state may be newer, so it wins.
func (a *Array) adopt(s, next *snapshot.Array) *snapshot.Array {
	if !a.state.CompareAndSwap(s, next) {
		return a.state.Load()
	}
	return next
}

// look returns s if the document still has the version of s, or else a newer state. The
// array takes that over only if elements have the same indices there. In a store without
// versions look always returns s.
func (a *Array) look(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	now := time.Now()
	info, err := store.Stat(ctx, a.hierarchy.store, a.key())
	if err != nil {
		return s, err
	}
	if info.Version == s.Version {
		s.Confirm(now)
		s.SetWritten(info.Modified)
		return s, nil
	}
	if is := a.state.Load(); is.Version == info.Version {
		return is, nil
	}
	next, err := a.load(ctx, s)
	if err != nil {
		return s, err
	}
	// If another call has published meanwhile, its state stays.
	if next.Numbering == s.Numbering {
		a.state.CompareAndSwap(s, next)
	}
	return next, nil
}

// fresh returns s or a newer state, like look. If elements have other indices there, it
// returns s and [errMoved].
func (a *Array) fresh(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	now, err := a.look(ctx, s)
	if err == nil && now.Numbering != s.Numbering {
		err = movedSince(s)
	}
	if err != nil {
		return s, err
	}
	return now, nil
}

// newest is look for calls that are given no indices: the array takes over the newer
// state in any case.
func (a *Array) newest(ctx context.Context) (*snapshot.Array, error) {
	s := a.state.Load()
	now, err := a.look(ctx, s)
	if err != nil || now.Numbering == s.Numbering {
		return now, err
	}
	return a.adopt(s, now), nil
}

// Chunk describes one chunk of an array. Lengths are in elements.
type Chunk struct {
	*grid.Chunk
	Key string // in the store
}

// Chunks yields every chunk in C order, stored or not. Each chunk is a new value.
func (a *Array) Chunks() iter.Seq[Chunk] {
	s := a.state.Load()
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
	s := a.state.Load()
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
	s := a.state.Load()
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
	s := a.state.Load()
	was, err := cell(s)
	if err != nil {
		return nil, a.fail("read chunk", err)
	}
	for range readTries {
		data, suspect, err := read(s)
		// A chunk that is missing or new, or that does not decode, may belong to another
		// grid.
		if suspect == engine.Certain && !errors.Is(err, ErrCorrupt) {
			return data, a.fail("read chunk", err)
		}
		now, staleErr := a.fresh(ctx, s)
		if errors.Is(staleErr, errMoved) {
			return data, a.fail("read chunk", a.orMoved(ctx, s, err))
		}
		if now == s || staleErr != nil {
			return data, a.fail("read chunk", errors.Join(err, staleErr))
		}
		if is, err := cell(now); err != nil || !slices.Equal(is.Start, was.Start) || !slices.Equal(is.Encoded, was.Encoded) {
			return nil, a.fail("read chunk", errOtherChunk(was.Index))
		}
		s = now
	}
	return nil, a.fail("read chunk", errUnsettled)
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
		if err == nil && int64(len(data)) != n {
			err = fault.Argument("%d bytes, the chunk has %d", len(data), n)
		}
		if err == nil {
			err = element.CheckValues(element.Buffer{Type: s.Type, Data: data})
		}
		if err != nil {
			return err
		}
		return s.Engine.WriteChunk(ctx, index, data, nil, b)
	}))
}

// ReadEncodedChunk returns the stored bytes of one chunk. If the chunk is not stored, the
// error wraps [fs.ErrNotExist].
func (a *Array) ReadEncodedChunk(ctx context.Context, index []int64) ([]byte, error) {
	s := a.state.Load()
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
	was := a.state.Load()
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
	s := a.state.Load()
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
		return snapshot.CellOf(index), a.batch(ctx, func(_ context.Context, b store.Batch) error { return write(s, b) })
	}
	// A boundary chunk also holds elements beyond the extent, which a concurrent append
	// may fill. Without versions this process cannot tell whether the grid is current, so
	// it takes the lock for every chunk.
	border := was.IsBoundary() || s.Version.IsZero()
	if !border && !a.options.SingleWriter { // another process may have published other edges
		if s, err = a.fresh(ctx, s); err != nil {
			return err
		}
		if is, ok := s.Grid.Chunk(index); ok {
			border = is.IsBoundary()
		}
	}
	return a.store(ctx, lock, s, border, put)
}
