// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// storedAlike reports whether chunks of two arrays with equal stored bytes have equal
// elements: the arrays have the same chunks, fill value and codecs, and no chunks that an
// unfinished trim has set aside.
func (c *differences) storedAlike(ctx context.Context) (bool, error) {
	s, t := c.s, c.t
	same := s.Grid.SameCells(t.Grid, grid.BoxOf(common(s.Grid.Chunks(), t.Grid.Chunks()))) && likeness.SameElements(s.Doc, t.Doc)
	for _, x := range []struct {
		array Array
		state *snapshot.Array
	}{{c.a, s}, {c.b, t}} {
		if aside, err := x.state.SetAside(ctx); err != nil || aside {
			return false, x.array.failed(err)
		}
	}
	return same, nil
}

// common returns the smaller number along each axis.
func common(a, b []int64) []int64 {
	both := slices.Clone(a)
	for i := range both {
		both[i] = min(both[i], b[i])
	}
	return both
}

const (
	// rangeBytes is the number of bytes of a chunk that are compared at a time.
	rangeBytes = 4 << 20
	// chunksAtOnce bounds the chunks of a box that are compared at the same time.
	chunksAtOnce = 16
)

// unlike returns the boxes of those chunks whose stored bytes differ, and the number of
// the others.
func (c *differences) unlike(ctx context.Context, chunks grid.Box) (boxes []grid.Box, alike int64, err error) {
	group, ctx := parallel.New(ctx)
	group.SetLimit(chunksAtOnce)
	var mu sync.Mutex
	for index := range chunks.Indices() {
		if ctx.Err() != nil {
			break
		}
		index = slices.Clone(index)
		group.Go(func() error {
			same, err := c.sameBytes(ctx, index)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if same {
				alike++
				return nil
			}
			chunk, _ := c.s.Grid.Chunk(index)
			box := make(grid.Box, len(index))
			for i := range box {
				box[i] = grid.Interval{Start: chunk.Start[i], Stop: chunk.Start[i] + chunk.Logical[i]}
			}
			boxes = append(boxes, box)
			return nil
		})
	}
	err = group.Wait(nil)
	return boxes, alike, err
}

// values has memory for two values of at most rangeBytes.
var values = sync.Pool{New: func() any { return new([2][]byte) }}

// failed returns the first of the errors of reading a chunk of both arrays, with the
// chunk and its array.
func (c *differences) failed(index []int64, errA, errB error) error {
	array, state, err := c.a, c.s, errA
	if errA == nil {
		array, state, err = c.b, c.t, errB
	}
	if err == nil {
		return nil
	}
	return array.failed(&engine.ChunkError{Key: state.Engine.Key(index).String(), Index: index, Err: err})
}

// sameBytes reports whether the stored bytes of a chunk are equal, or neither array
// stores it.
func (c *differences) sameBytes(ctx context.Context, index []int64) (bool, error) {
	from, to := c.s.Engine.Store, c.t.Engine.Store
	x, y := c.s.Engine.Key(index), c.t.Engine.Key(index)
	room := values.Get().(*[2][]byte)
	defer values.Put(room)
	whole := store.Request{Limit: rangeBytes}
	a, _, errA := from.Get(ctx, x, whole, room[0][:0])
	b, _, errB := to.Get(ctx, y, whole, room[1][:0])
	if errA == nil && errB == nil {
		*room = [2][]byte{a, b}
	}
	missing := errors.Is(errA, fs.ErrNotExist)
	switch {
	case missing != errors.Is(errB, fs.ErrNotExist):
		return false, nil
	case missing:
		return !c.a.Complete && !c.b.Complete, nil // else reading the chunk is an error
	case errors.Is(errA, store.ErrTooLarge) && errors.Is(errB, store.ErrTooLarge):
		return c.sameRanges(ctx, index)
	case errors.Is(errA, store.ErrTooLarge), errors.Is(errB, store.ErrTooLarge):
		return false, nil
	}
	return bytes.Equal(a, b), c.failed(index, errA, errB)
}

// sameRanges is sameBytes for long values.
func (c *differences) sameRanges(ctx context.Context, index []int64) (bool, error) {
	from, to := c.s.Engine.Store, c.t.Engine.Store
	x, y := c.s.Engine.Key(index), c.t.Engine.Key(index)
	a, errA := store.Stat(ctx, from, x)
	b, errB := store.Stat(ctx, to, y)
	if errA != nil || errB != nil || a.Size != b.Size {
		return false, c.failed(index, errA, errB)
	}
	var room [2][]byte
	for at := int64(0); at < a.Size; at += rangeBytes {
		part := store.Request{Range: store.Span(at, min(rangeBytes, a.Size-at))}
		if room[0], _, errA = from.Get(ctx, x, part, room[0][:0]); errA != nil {
			return false, c.failed(index, errA, nil)
		}
		if room[1], _, errB = to.Get(ctx, y, part, room[1][:0]); errB != nil {
			return false, c.failed(index, nil, errB)
		}
		if !bytes.Equal(room[0], room[1]) {
			return false, nil
		}
	}
	return true, nil
}
