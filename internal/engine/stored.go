// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"varve.dev/zarr/internal/budget"
)

// decode decodes the chunk to w.Decoded. The elements are in room, which has exactly their
// size. If room is nil, they are in a buffer, which the caller puts back. found is false
// if the chunk is not stored.
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
