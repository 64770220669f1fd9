// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/observe"
)

// decode decodes the chunk to w.Decoded. The elements are in room, which has exactly
// their size. If room is nil, they are in a buffer, which the caller puts back. found
// is false if the chunk is not stored.
func (w *worker) decode(ctx context.Context, n int64, room []byte) (found bool, buffer *budget.Buffer, err error) {
	found, err = w.orAside(func() (found bool, err error) {
		found, buffer, err = w.decodeStored(ctx, n, room)
		return found, err
	})
	return found, buffer, err
}

// decodeStored is decode without the chunk that is set aside.
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
		err = w.Chain.DecodeWithin(&w.Decoded, w.Part, src)
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

// decodePlain reads a chunk that is not encoded directly into room, or into a buffer if
// room is nil.
func (w *worker) decodePlain(ctx context.Context, n int64, room []byte) (bool, *budget.Buffer, error) {
	room, buffer := roomFor(n, room)
	src, err := w.fetch(ctx, n, room[:0])
	if err == nil && src != nil && int64(len(src)) != n {
		err = fmt.Errorf("%w: the stored chunk has %d bytes, but its shape %v needs %d", codec.ErrCorrupt, len(src), w.Cell.Encoded, n)
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

// heapFor returns the heap for elements that are decoded into room: the heap of the
// destination, or a temporary one if room is nil. It returns nil if elements have a fixed
// width.
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

// roomFor returns room. If room is nil, it returns n bytes of a new buffer.
func roomFor(n int64, room []byte) ([]byte, *budget.Buffer) {
	if room != nil {
		return room, nil
	}
	b := budget.Get(n)
	return b.Bytes(n), b
}
