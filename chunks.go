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
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/store"
)

// Chunk is one chunk of an array. Lengths are in elements.
type Chunk struct {
	*grid.Chunk
	Key string // in the store
}

// Chunks yields every chunk in C order, stored or not. The chunk is reused: clone what is
// kept.
func (a *Array) Chunks() iter.Seq[Chunk] {
	s := a.state.Load()
	return func(yield func(Chunk) bool) {
		for c := range s.grid.All() {
			if !yield(Chunk{c, s.engine.Key(c.Index).String()}) {
				return
			}
		}
	}
}

// StoredChunks yields the indices of the chunks that are stored, in no order. The slice
// is reused.
func (a *Array) StoredChunks(ctx context.Context) iter.Seq2[[]int64, error] {
	s := a.state.Load()
	return func(yield func([]int64, error) bool) {
		for index, err := range s.engine.Stored(ctx, grid.BoxOf(s.grid.Chunks())) {
			if !yield(index, a.fail("list", err)) || err != nil {
				return
			}
		}
	}
}

// ChunkInfo returns the bytes that a chunk takes in the store. A chunk that is not stored
// wraps [fs.ErrNotExist].
func (a *Array) ChunkInfo(ctx context.Context, index []int64) (store.Info, error) {
	s := a.state.Load()
	if err := s.isChunk(index); err != nil {
		return store.Info{}, a.fail("stat chunk", err)
	}
	info, err := store.Stat(ctx, a.hierarchy.store, s.engine.Key(index))
	return info, a.fail("stat chunk", err)
}

// ReadChunk returns the elements of one chunk in its encoded shape: C order, host byte
// order, with what lies beyond the array. A chunk that is not stored is the fill value.
func (a *Array) ReadChunk(ctx context.Context, index []int64) ([]byte, error) {
	return a.readChunk(ctx, func(s *state) ([]byte, engine.Suspicion, error) {
		n, err := s.chunkBytes(index)
		if err == nil && s.typ.Variable() {
			err = element.ErrVariable(s.typ)
		}
		if err != nil {
			return nil, engine.Certain, err
		}
		data := make([]byte, n)
		suspect, err := s.engine.ReadChunk(ctx, index, data, nil, engine.Reading{Since: s.since()})
		return data, suspect, err
	})
}

// readChunk reads a chunk of a state that is not suspected to be out of date.
func (a *Array) readChunk(ctx context.Context, read func(*state) ([]byte, engine.Suspicion, error)) ([]byte, error) {
	s := a.state.Load()
	for range readTries {
		data, suspect, err := read(s)
		if suspect == engine.Certain && !errors.Is(err, ErrCorrupt) {
			return data, a.fail("read chunk", err)
		}
		now, staleErr := a.fresh(ctx, s)
		if now == s || staleErr != nil {
			return data, a.fail("read chunk", errors.Join(err, staleErr))
		}
		s = now
	}
	return nil, a.fail("read chunk", fmt.Errorf("%w while it was read, again and again", ErrConflict))
}

// WriteChunk stores the elements of one chunk in its encoded shape, as [Array.ReadChunk]
// returns them. A chunk that another program has cut in another way, or that holds more
// or less of the array by now, wraps [ErrConflict].
func (a *Array) WriteChunk(ctx context.Context, index []int64, data []byte) error {
	return a.fail("write chunk", a.writeChunk(ctx, index, func(s *state, b store.Batch) error {
		n, err := s.chunkBytes(index)
		if err == nil && int64(len(data)) != n {
			err = fault.Argument("%d bytes, the chunk has %d", len(data), n)
		}
		if err == nil {
			err = element.CheckValues(element.Buffer{Type: s.typ, Data: data})
		}
		if err != nil {
			return err
		}
		return s.engine.WriteChunk(ctx, index, data, nil, b)
	}))
}

// ReadEncodedChunk returns the bytes of one chunk as they are stored. A chunk that is not
// stored wraps [fs.ErrNotExist].
func (a *Array) ReadEncodedChunk(ctx context.Context, index []int64) ([]byte, error) {
	s := a.state.Load()
	if err := s.isChunk(index); err != nil {
		return nil, a.fail("read chunk", err)
	}
	data, err := s.engine.ReadEncoded(ctx, index)
	return data, a.fail("read chunk", err)
}

// WriteEncodedChunk stores bytes as one chunk, as [Array.ReadEncodedChunk] returns them.
// Bytes that do not decode to the chunk's encoded shape wrap [ErrCorrupt] and are not
// stored.
func (a *Array) WriteEncodedChunk(ctx context.Context, index []int64, data []byte) error {
	return a.fail("write chunk", a.writeChunk(ctx, index, func(s *state, b store.Batch) error {
		return s.engine.WriteEncoded(ctx, index, data, b)
	}))
}

func (a *Array) writeChunk(ctx context.Context, index []int64, write func(*state, store.Batch) error) error {
	if err := a.writable(); err != nil {
		return err
	}
	lock, err := a.lock().Share(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	s := a.state.Load()
	if err := s.isChunk(index); err != nil {
		return err
	}
	was, _ := s.grid.Chunk(index)
	put := func(s *state) error {
		if is, ok := s.grid.Chunk(index); !ok || !slices.Equal(is.Start, was.Start) || !slices.Equal(is.Logical, was.Logical) {
			return fmt.Errorf("%w: chunk %v now holds another part of the array; read it again", ErrConflict, index)
		}
		if err := a.batch(ctx, func(_ context.Context, b store.Batch) error { return write(s, b) }); err != nil {
			return err
		}
		return a.confirmStored(ctx, s, cellOf(index))
	}
	border := was.IsBoundary() || s.version.IsZero()
	if !border && !a.options.SingleWriter { // another program may have cut the array in another way
		if s, err = a.fresh(ctx, s); err != nil {
			return err
		}
		if is, ok := s.grid.Chunk(index); ok {
			border = is.IsBoundary()
		}
	}
	if !border {
		return put(s)
	}
	return a.withoutGrowth(ctx, lock, s, func(s *state, _ bool) error { return put(s) })
}
