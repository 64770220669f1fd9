package zarr

import (
	"context"
	"iter"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// Inner is the inner chunks of an array whose chunks are shards, seen as chunks of the
// array: their indices count over all shards. They are what is best read at a time; what
// is best written at a time is a shard.
type Inner struct{ a *Array }

// Inner returns the inner chunks of the array, nil where its chunks are no shards, or are
// compressed as a whole so that inner chunks cannot be had by themselves.
func (a *Array) Inner() *Inner {
	if !a.state.Load().Engine.Chain.Divided() {
		return nil
	}
	return &Inner{a}
}

// InnerChunk is one inner chunk of an array. Lengths are in elements.
type InnerChunk struct {
	*grid.Chunk
	Shard []int64 // index of the chunk that it is stored in
}

// Grid returns how the array is cut into inner chunks. Lists of lengths that would be too
// long to keep wrap [ErrUnsupported].
func (n *Inner) Grid() (*grid.Grid, error) {
	g, err := n.a.state.Load().Inner()
	return g, n.a.fail("inner chunks", err)
}

// Chunks yields every inner chunk in C order, stored or not. Each chunk is a new value.
func (n *Inner) Chunks() iter.Seq2[InnerChunk, error] {
	return func(yield func(InnerChunk, error) bool) {
		s := n.a.state.Load()
		g, err := s.Inner()
		if err != nil {
			yield(InnerChunk{}, n.a.fail("inner chunks", err))
			return
		}
		for c := range g.All() {
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
	return n.a.readChunk(ctx, func(s *snapshot.Array) ([]byte, engine.Suspicion, error) {
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

// WriteChunk stores the elements of one inner chunk in its encoded shape. The rest of its
// shard stays as it is stored.
func (n *Inner) WriteChunk(ctx context.Context, index []int64, data []byte) error {
	return n.write(ctx, index, func(s *snapshot.Array, at snapshot.InnerPlace, b store.Batch) error {
		size, err := s.Engine.ChunkBytes(at.Part.Count)
		if err == nil && int64(len(data)) != size {
			err = fault.Argument("%d bytes, the inner chunk has %d", len(data), size)
		}
		if err == nil {
			err = element.CheckValues(element.Buffer{Type: s.Type, Data: data})
		}
		if err != nil {
			return err
		}
		return s.Engine.WritePart(ctx, at.Shard, at.Part, data, nil, b)
	})
}

// ReadEncodedChunk returns the bytes of one inner chunk as they are stored. One that is
// not stored wraps [fs.ErrNotExist].
func (n *Inner) ReadEncodedChunk(ctx context.Context, index []int64) ([]byte, error) {
	s := n.a.state.Load()
	at, err := s.LocateInner(index)
	if err != nil {
		return nil, n.a.fail("read chunk", err)
	}
	data, err := s.Engine.ReadEncodedInner(ctx, at.Shard, at.Within)
	return data, n.a.fail("read chunk", err)
}

// WriteEncodedChunk stores bytes as one inner chunk, as [Inner.ReadEncodedChunk] returns
// them. Bytes that do not decode to its encoded shape wrap [ErrCorrupt] and are not
// stored.
func (n *Inner) WriteEncodedChunk(ctx context.Context, index []int64, data []byte) error {
	return n.write(ctx, index, func(s *snapshot.Array, at snapshot.InnerPlace, b store.Batch) error {
		return s.Engine.WriteEncodedInner(ctx, at.Shard, at.Within, data, b)
	})
}

func (n *Inner) write(ctx context.Context, index []int64, write func(*snapshot.Array, snapshot.InnerPlace, store.Batch) error) error {
	at, err := n.a.state.Load().LocateInner(index)
	if err != nil {
		return n.a.fail("write chunk", err)
	}
	return n.a.fail("write chunk", n.a.writeChunk(ctx, at.Shard, func(s *snapshot.Array, b store.Batch) error {
		at, err := s.LocateInner(index)
		if err != nil {
			return err
		}
		return write(s, at, b)
	}))
}
