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
