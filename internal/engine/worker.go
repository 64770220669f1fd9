package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
)

// ErrLimit says that something exceeds the limits.
var ErrLimit = codec.ErrLimit

// worker is the state of one goroutine, which handles one chunk at a time.
type worker struct {
	*run
	*selection.Piece
	key   store.Key
	info  store.Info // of the stored chunk that was read last
	names []byte     // keys are cut from it, which saves an allocation for each

	within bool  // only the part of the decoded chunk is wanted
	text   int64 // room in bytes for elements that differ in length; 0 is MaxChunk
}

func newWorker(r *run) *worker {
	return &worker{run: r, Piece: selection.NewPiece(r.Grid.Rank(), r.Size)}
}

// begin sets the cell and the key of the part's chunk, and returns the bytes of the
// decoded chunk. If these exceed the limit, it returns an error but sets both.
func (w *worker) begin() (int64, error) {
	w.Grid.Cell(w.Part.Chunk, w.Cell)
	w.key = w.cutKey()
	return w.ChunkBytes(w.Cell.Encoded)
}

// keyBlock is the largest size of the memory that keys are cut from, in bytes.
const keyBlock = 8 << 10

// cutKey returns the key of the part's chunk. Its bytes are never written again, so the
// unsafe string stays constant.
func (w *worker) cutKey() store.Key {
	longest := len(w.Path.String()) + 2 + 20*max(1, len(w.Part.Chunk))
	if cap(w.names)-len(w.names) < longest {
		w.names = make([]byte, 0, max(longest, min(keyBlock, 4*cap(w.names))))
	}
	from := len(w.names)
	if dir := w.Path.String(); dir != "" {
		w.names = append(append(w.names, dir...), '/')
	}
	w.names = w.Keys.AppendKey(w.names, w.Part.Chunk)
	key := w.names[from:]
	return store.Path{}.MustKey(unsafe.String(unsafe.SliceData(key), len(key)))
}

// fail adds the chunk to err.
func (w *worker) fail(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, codec.ErrRoom) {
		err = fmt.Errorf("%w: %w (Limits.Chunk and Limits.Block); read a part, or raise the limits for data that is trusted", ErrLimit, err)
	}
	return &ChunkError{w.key.String(), slices.Clone(w.Part.Chunk), err}
}

// decodeStored is decode of the chunk at w.key.
func (w *worker) decodeStored(ctx context.Context, n int64, room []byte) (bool, *budget.Buffer, error) {
	if w.Chain.Plain() {
		return w.decodePlain(ctx, n, room)
	}
	if w.Chain.Divided() {
		return w.decodeDivided(ctx, n, room)
	}
	s, err := w.stored(ctx, n)
	defer s.buffer.Put()
	if err != nil || s.data == nil {
		return false, nil, err
	}
	w.cores.Enter()
	defer w.cores.Leave()
	buffer, err := w.decodeData(ctx, n, room, s.data)
	return err == nil, buffer, err
}

// decodeData decodes the stored bytes of the chunk. The caller holds a core, and puts
// back the buffer, which is nil after an error.
func (w *worker) decodeData(ctx context.Context, n int64, room, src []byte) (*budget.Buffer, error) {
	heap := w.heapFor(room)
	room, buffer := roomFor(n, room)
	w.Show(room, heap)
	start := observe.Start(w.Observer)
	var err error
	if w.within {
		err = w.Chain.DecodeWithin(&w.Decoded, w.Part.Part, src)
	} else {
		err = w.Chain.Decode(&w.Decoded, src)
	}
	observe.Done(ctx, w.Observer, observe.Decode, w.key, n, start, err)
	if err != nil {
		buffer.Put()
		return nil, err
	}
	return buffer, nil
}

// decodePlain reads a chunk that is not encoded straight into room, or into a buffer if
// room is nil.
func (w *worker) decodePlain(ctx context.Context, n int64, room []byte) (bool, *budget.Buffer, error) {
	room, buffer := roomFor(n, room)
	src, err := w.fetch(ctx, n, room[:0])
	if err == nil && src != nil && int64(len(src)) != n {
		err = fmt.Errorf("%w: %d bytes are stored, its shape %v needs %d", codec.ErrCorrupt, len(src), w.Cell.Encoded, n)
	}
	if err != nil || src == nil {
		buffer.Put()
		return false, nil, err
	}
	if n > 0 && &src[0] != &room[0] {
		copy(room, src) // the store returned its own memory
	}
	w.Show(room, nil)
	return true, buffer, nil
}

// heapFor returns the heap for elements that are decoded into room, nil if they have one
// width. It is the heap of the destination if room is there, else a temporary one.
func (w *worker) heapFor(room []byte) *strided.Heap {
	switch {
	case w.Heap == nil:
		return nil
	case room == nil && w.text > 0:
		return w.Heap.New().Limited(w.text)
	case room == nil:
		return w.Heap.New().Limited(w.MaxChunk)
	case w.text > 0:
		return w.Placed.Heap.Within(w.text)
	}
	return w.Placed.Heap
}

// roomFor returns room, or if that is nil n bytes of a buffer.
func roomFor(n int64, room []byte) ([]byte, *budget.Buffer) {
	if room != nil {
		return room, nil
	}
	b := budget.Get(n)
	return b.Bytes(n), b
}
