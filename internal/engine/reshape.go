// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// When an edge becomes shorter, a chunk changes its shape but keeps its key. No store can
// replace the chunk and the document in one step. So a change takes these steps:
//
//  1. Set the new chunk aside, under a key that contains its shape.
//  2. Publish the document.
//  3. Move the chunk to its key.
//
// A reader whose chunk does not decode looks for a chunk of that shape that is set aside.
// After a crash between 2 and 3 it finds the new chunk there. A crash before 2 leaves an
// orphaned chunk aside, with a shape that no document describes.

// PutAside sets the stored chunks of the box aside in the shape that they have in the
// array next, which has the same keys. Elements within the shape valid stay; all others
// become the fill value.
func (a *Array) PutAside(ctx context.Context, next *Array, cells grid.Box, valid []int64, batch store.Batch) error {
	r, to := a.newRun(cells, math.MaxInt64), next.newRun(cells, math.MaxInt64)
	type pair struct{ from, to *writer }
	return eachIndex(ctx, r.workers, a.Stored(ctx, cells),
		func(p *pair, index []int64) bool { return p.from.moveTo(index) && p.to.moveTo(index) },
		func() *pair {
			how := Writing{Batch: batch, Valid: valid, KeepFill: true}
			return &pair{r.newWriter(how), to.newWriter(how)}
		},
		func(ctx context.Context, p *pair) error { return p.from.fail(p.from.putAside(ctx, p.to)) })
}

// putAside sets the chunk of w aside in its shape in the next array.
func (w *writer) putAside(ctx context.Context, next *writer) error {
	n, err := w.begin()
	if err != nil {
		return err
	}
	size, err := next.begin()
	if err != nil {
		return err
	}
	// After step 2, readers and FetchAside take a chunk that decodes for the new chunk.
	// So the old chunk must not decode in the new shape.
	if !w.Chain.Distinguishes(w.Cell.Encoded, next.Cell.Encoded) {
		return errAlike
	}
	return w.holdGrowing(ctx, n*int64(3+w.Chain.Buffers()), func() error { return w.copyAside(ctx, next, n, size) })
}

// copyAside is putAside of a chunk of n bytes, which has size bytes in the next array.
func (w *writer) copyAside(ctx context.Context, next *writer, n, size int64) error {
	found, old, err := w.decode(ctx, n, nil)
	defer old.Put()
	if err != nil || !found {
		return err
	}
	// Old elements beyond the published shape must not become visible.
	w.clearTail()
	buffer := budget.Get(size)
	defer buffer.Put()
	next.Show(buffer.Bytes(size), next.Heap.New())
	strided.FillBytes(next.Decoded.Data, next.Fill)
	common := make(grid.Box, len(w.Cell.Encoded))
	for i := range common {
		common[i].Stop = min(w.Cell.Encoded[i], next.Cell.Encoded[i])
	}
	// Keep the elements that lie in both shapes.
	strided.Copy(next.Decoded.Sub(common), w.Decoded.Sub(common))
	next.key = next.aside()
	return next.put(ctx, next.Decoded, size)
}

// Aside yields the chunks that are set aside.
func (a *Array) Aside(ctx context.Context) iter.Seq2[AsideChunk, error] {
	dir := a.Path.MustKey(asideDir + "-").Dir()
	return func(yield func(AsideChunk, error) bool) {
		for e, err := range store.Usable(store.List(ctx, a.Store, dir, store.Deep)) {
			if errors.Is(err, store.ErrUnsupported) {
				return // without a listing, nothing can be found
			}
			if err != nil {
				yield(AsideChunk{}, err)
				return
			}
			if !yield(a.asideChunk(e.Name), nil) {
				return
			}
		}
	}
}

// AsideChunk is a chunk that is set aside.
type AsideChunk struct {
	Key   store.Key
	Index []int64 // nil if the array has no chunk of this index and shape
}

func (a *Array) asideChunk(name string) AsideChunk {
	c := AsideChunk{Key: a.Path.MustKey(asideDir + name)}
	_, key, _ := strings.Cut(name, "/")
	index, ok := a.Keys.ParseKey(key, a.Grid.Rank(), nil)
	if !ok {
		return c
	}
	w := newWorker(&run{Array: a})
	copy(w.Visit.Chunk, index)
	if a.Grid.Cell(index, w.Cell) && w.aside() == c.Key {
		c.Index = index
	}
	return c
}

// FetchAside moves the chunks that are set aside to their keys, several at a time within
// the budget. A chunk that cannot be moved does not stop it. It returns the number of
// such chunks, and the first error.
func (a *Array) FetchAside(ctx context.Context, batch store.Batch) (left int, fault error) {
	next, stop := iter.Pull2(a.Aside(ctx))
	defer stop()
	var listing error
	var mu sync.Mutex
	r := a.newRun(grid.BoxOf(a.Grid.Chunks()), math.MaxInt64)
	type fetched struct {
		*writer
		chunk AsideChunk
	}
	err := each(ctx, r.workers,
		func(f *fetched) bool {
			var more bool
			var err error
			if f.chunk, err, more = next(); err != nil {
				listing = err
			}
			return more && err == nil
		},
		func() *fetched { return &fetched{writer: r.newWriter(Writing{Batch: batch})} },
		func(ctx context.Context, f *fetched) error {
			// A chunk that cannot be moved must not keep the others aside.
			if err := f.fetchAside(ctx, f.chunk); err != nil {
				mu.Lock()
				defer mu.Unlock()
				left++
				fault = cmp.Or(fault, err)
			}
			return nil
		})
	return left, errors.Join(fault, listing, err)
}

// fetchAside moves a chunk that is set aside to its key. It does nothing if the chunk at
// the key decodes: an earlier call moved it, or a writer replaced it.
func (w *writer) fetchAside(ctx context.Context, c AsideChunk) error {
	if c.Index == nil {
		return nil
	}
	copy(w.Visit.Chunk, c.Index)
	n, err := w.begin()
	if err != nil {
		return w.fail(err)
	}
	return w.fail(w.hold(ctx, n*int64(2+w.Chain.Buffers()), func(int64) error { return w.moveAside(ctx, c.Key, n) }))
}

// moveAside is fetchAside with the lock and the bytes that it takes. A chunk has n bytes.
func (w *writer) moveAside(ctx context.Context, aside store.Key, n int64) error {
	found, buffer, err := w.decodeStored(ctx, n, nil)
	buffer.Put()
	if !errors.Is(err, codec.ErrCorrupt) {
		return err
	}
	value, _, err := w.Store.Get(ctx, aside, store.Request{}, nil)
	if errors.Is(err, fs.ErrNotExist) || found {
		return nil // a concurrent call moved it after the listing
	}
	if err != nil {
		return err
	}
	// Replace only the version that does not decode, not a newer one of a concurrent
	// writer. The caller deletes the chunk set aside later, so a crash here loses
	// nothing.
	w.condition = store.IfVersion(w.info.Version)
	return w.store(ctx, value)
}

// asideDir is the directory, below that of the array, of chunks that are set aside.
const asideDir = own.Dir + "/aside/"

// errAlike is the error for a chunk that decodes in its old shape and in its new one.
// Readers could not tell which of the two is stored.
var errAlike = fmt.Errorf("%w: the stored bytes of the chunk do not tell its number of elements, so readers could decode it in its new, shorter shape; "+
	"keep the edges ("+remedy.KeepEdges+"), or rewrite the array with codecs that record it (packbits with padding_encoding \"first_byte\", a shard index with a checksum)", codec.ErrUnsupported)

// aside returns the key under which the worker's chunk is set aside.
func (w *worker) aside() store.Key {
	return w.Path.MustKey(AsideName(w.Cell.Encoded, string(w.Keys.AppendKey(nil, w.Visit.Chunk))))
}

// AsideName returns the key under which a chunk with the encoded shape and the given key
// is set aside. Both keys are relative to the array.
func AsideName(shape []int64, key string) string {
	name := []byte(asideDir)
	if len(shape) == 0 {
		// The chunk of an array of rank 0 is never set aside, but its key must be valid.
		name = append(name, '0')
	}
	for i, n := range shape {
		if i > 0 {
			name = append(name, 'x')
		}
		name = strconv.AppendInt(name, n, 10)
	}
	return string(append(append(name, '/'), key...))
}

// tryAside calls do for the chunk. If that is corrupt, it calls do for the chunk that is
// set aside.
func (w *worker) tryAside(do func() (bool, error)) (bool, error) {
	found, err := do()
	if !errors.Is(err, codec.ErrCorrupt) {
		return found, err
	}
	// Between steps 2 and 3 of a reshape, or after a crash there, the key has the chunk
	// in its old shape.
	key, info := w.key, w.info
	w.key = w.aside()
	moved, asideErr := do()
	w.key, w.info = key, info
	if asideErr != nil || !moved {
		return false, err // the chunk is damaged; that is more important than asideErr
	}
	return true, nil
}
