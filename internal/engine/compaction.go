// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/store"
)

// Compacting configures [Array.Compact].
type Compacting struct {
	Batch store.Batch         // nil to only count
	Done  func(index []int64) // if not nil, called after every stored shard, one at a time
}

// Compacted is the result of compacting shards.
type Compacted struct {
	Chunks, Changed int64 // stored shards, and those that were not compact
	Before, After   int64 // bytes of all stored shards
}

// manyDamaged is the largest number of damaged chunks that an error names.
const manyDamaged = 8

// compaction is one call of Compact.
type compaction struct {
	*run
	how Compacting

	mu      sync.Mutex
	sum     Compacted
	damaged []error
	more    int64 // number of damaged chunks that are not in damaged
}

// Compact rewrites every stored shard of the box with its inner chunks in order and
// without gaps. It does not decode them. It leaves damaged shards alone, and at the end
// returns a [codec.ErrCorrupt] that names them.
func (a *Array) Compact(ctx context.Context, cells grid.Box, how Compacting) (Compacted, error) {
	c := &compaction{run: a.newRun(cells, math.MaxInt64), how: how}
	next, stop := iter.Pull2(a.mayBeStored(ctx, cells))
	defer stop()
	var failed error
	err := each(ctx, c.workers,
		func(w *writer) bool {
			index, err, more := next()
			if err != nil {
				failed = err
			}
			copy(w.Visit.Chunk, index)
			return more && err == nil
		},
		func() *writer { return c.newWriter(Writing{Batch: how.Batch}) },
		func(ctx context.Context, w *writer) error { return c.chunk(ctx, w) })
	if c.more > 0 {
		c.damaged = append(c.damaged, fmt.Errorf("%w: %d more chunks", codec.ErrCorrupt, c.more))
	}
	return c.sum, errors.Join(append(c.damaged, failed, err)...)
}

// mayBeStored yields the stored cells of the box. For a small box it yields all cells,
// because reading a missing chunk costs no more than asking whether it is stored.
func (a *Array) mayBeStored(ctx context.Context, cells grid.Box) iter.Seq2[[]int64, error] {
	if n, ok := cells.Len(); !ok || n > fewCells {
		return a.Stored(ctx, cells)
	}
	return func(yield func([]int64, error) bool) {
		for index := range cells.IndicesInto(make([]int64, len(cells))) {
			if !yield(index, nil) {
				return
			}
		}
	}
}

// mayBeStoredIn is mayBeStored for several boxes, one after the other.
func (a *Array) mayBeStoredIn(ctx context.Context, boxes []grid.Box) iter.Seq2[[]int64, error] {
	return func(yield func([]int64, error) bool) {
		for _, cells := range boxes {
			for index, err := range a.mayBeStored(ctx, cells) {
				if !yield(index, err) || err != nil {
					return
				}
			}
		}
	}
}

// chunk compacts one shard and adds the result.
func (c *compaction) chunk(ctx context.Context, w *writer) error {
	is, err := w.compact(ctx)
	if err == nil && !is.stored {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.sum.add(is)
	// Other errors end the call. A damaged shard stays as it is, and the others follow.
	case !errors.Is(err, codec.ErrCorrupt):
		return w.fail(err)
	case len(c.damaged) < manyDamaged:
		c.damaged = append(c.damaged, w.fail(err))
	default:
		c.more++
	}
	if c.how.Done != nil {
		c.how.Done(w.Visit.Chunk)
	}
	return nil
}

// ordered is the result for one shard, with its bytes before and after.
type ordered struct {
	stored, changed bool
	before, after   int64
}

func (c *Compacted) add(is ordered) {
	c.Chunks++
	c.Before += is.before
	c.After += is.after
	if is.changed {
		c.Changed++
	}
}

// compact compacts the shard, or in a trial only measures it.
func (w *writer) compact(ctx context.Context) (is ordered, err error) {
	_, _ = w.begin() // ignore the limit, because nothing is decoded
	e := w.asStored(coding.Edit{Compact: true})
	// A trial stores nothing, so it needs no bytes of inner chunks.
	e.Splices = e.Splices || w.Batch == nil
	weight, err := w.bytes.Acquire(ctx, w.compactWeight(e))
	if err != nil {
		return is, err
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return is, err
	}
	defer turn.Release(1)
	if w.Batch == nil {
		weight = 0 // a trial reads no inner chunks
	}
	err = w.again(func() error {
		out, _, err := w.encodeOver(ctx, w.key, weight, e)
		if err != nil {
			return err
		}
		defer out.Release()
		is = ordered{true, !out.Same, out.From.Size, out.Size}
		if out.Same || w.Batch == nil {
			return nil // compact already, or a trial
		}
		out.Empty = false // keep storing a shard that has no inner chunks
		w.info, w.on = out.From, store.IfVersion(out.From.Version)
		return w.storeEdited(ctx, out)
	})
	// The shard was not stored, or a concurrent writer has deleted it.
	if errors.Is(err, fs.ErrNotExist) {
		return ordered{}, nil
	}
	return is, err
}

// compactWeight estimates the bytes of memory that compacting the shard takes. If the
// store splices, that is a few times the index. Some more memory avoids splicing small
// shards from many fragments.
func (w *writer) compactWeight(e coding.Edit) int64 {
	all := w.editWeight()
	if !e.Splices {
		return all
	}
	p := everything(w.Cell.Encoded)
	p.Count = p.Step // one element
	return min(all, 2*w.Chain.Weight(coding.Extract{Shape: w.Cell.Encoded, Part: p}, 1)+4*span)
}
