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
	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
)

// A chunk whose edge becomes shorter has to be stored anew under the key that it has,
// while the document still, or already, says otherwise. So the new chunk is first put
// aside, under a key that tells its shape; the document is published; and the chunk is
// moved to its place. Whoever finds a chunk that does not decode looks aside, and so
// reads the right elements all the time.

// asideDir is the directory, within that of the array, of chunks that are put aside.
const asideDir = own.Dir + "/aside/"

// errAlike refuses to store a chunk anew in another shape where nobody could tell the old
// from the new.
var errAlike = fmt.Errorf("%w: the stored chunk does not tell how many elements it has, so that it could be read as the shorter one; "+
	"keep the edges (grid.KeepEdges, no trim), or rewrite the array with codecs that count (packbits with padding_encoding \"first_byte\", an index of shards with a checksum)", codec.ErrUnsupported)

// aside returns the key under which the worker's chunk is put aside.
func (w *worker) aside() store.Key {
	return w.Path.MustKey(AsideName(w.Cell.Encoded, string(w.Keys.AppendKey(nil, w.Part.Chunk))))
}

// AsideName returns the key, below the array, under which a chunk of the encoded shape is
// put aside whose place below the array is key.
func AsideName(shape []int64, key string) string {
	name := []byte(asideDir)
	for i, n := range shape {
		if i > 0 {
			name = append(name, 'x')
		}
		name = strconv.AppendInt(name, n, 10)
	}
	return string(append(append(name, '/'), key...))
}

// decode reads the chunk, and w.Decoded then shows its elements. They are in room, which
// has just its bytes, or where room is nil in a buffer that the caller puts back. It is
// false where there is no such chunk; then nothing is taken.
func (w *worker) decode(ctx context.Context, n int64, room []byte) (found bool, buffer *budget.Buffer, err error) {
	found, err = w.orAside(func() (found bool, err error) {
		found, buffer, err = w.decodeStored(ctx, n, room)
		return found, err
	})
	return found, buffer, err
}

// orAside does something with the chunk, or where that is corrupt, with the one that is
// put aside, if there is one.
func (w *worker) orAside(do func() (bool, error)) (bool, error) {
	found, err := do()
	if !errors.Is(err, codec.ErrCorrupt) {
		return found, err
	}
	key, info := w.key, w.info
	w.key = w.aside()
	moved, asideErr := do()
	w.key, w.info = key, info
	if asideErr != nil || !moved {
		return false, err
	}
	return true, nil
}

// PutAside puts the stored chunks of the box aside in the shape that they have in the
// next array, which has the same keys. Of their elements they keep those of the shape
// valid; all else is the fill value.
func (a *Array) PutAside(ctx context.Context, next *Array, cells grid.Box, valid []int64, batch store.Batch) error {
	indices, stop := iter.Pull2(a.Stored(ctx, cells))
	defer stop()
	var failed error
	r, to := a.newRun(cells, math.MaxInt64), next.newRun(cells, math.MaxInt64)
	type pair struct{ from, to *writer }
	err := each(ctx, r.workers,
		func(p *pair) bool {
			index, err, more := indices()
			if err != nil {
				failed = err
			}
			copy(p.from.Part.Chunk, index)
			copy(p.to.Part.Chunk, index)
			return more && err == nil
		},
		func() *pair {
			how := Writing{Batch: batch, Valid: valid, KeepFill: true}
			return &pair{r.newWriter(how), to.newWriter(how)}
		},
		func(ctx context.Context, p *pair) error { return p.from.fail(p.from.putAside(ctx, p.to)) })
	return errors.Join(failed, err)
}

// putAside writes the chunk of w as the next array has it to where it waits.
func (w *writer) putAside(ctx context.Context, next *writer) error {
	n, err := w.begin()
	if err != nil {
		return err
	}
	size, err := next.begin()
	if err != nil {
		return err
	}
	// The document is not published yet. Once it is, readers and FetchAside take whatever
	// decodes under the chunk's key for the chunk in its new shape.
	if !w.Chain.Tells(w.Cell.Encoded, next.Cell.Encoded) {
		return errAlike
	}
	return w.holding(ctx, n*int64(3+w.Chain.Buffers()), func() error { return w.copyAside(ctx, next, n, size) })
}

// copyAside is putAside of a chunk of n bytes, which has size bytes there.
func (w *writer) copyAside(ctx context.Context, next *writer, n, size int64) error {
	found, old, err := w.decode(ctx, n, nil)
	defer old.Put()
	if err != nil || !found {
		return err
	}
	w.clearTail()
	buffer := budget.Get(size)
	defer buffer.Put()
	next.Show(buffer.Bytes(size), next.Heap.New())
	strided.FillBytes(next.Decoded.Data, next.Fill)
	common := make(grid.Box, len(w.Cell.Encoded))
	for i := range common {
		common[i].Stop = min(w.Cell.Encoded[i], next.Cell.Encoded[i])
	}
	strided.Copy(next.Decoded.Sub(common), w.Decoded.Sub(common))
	next.key = next.aside()
	return next.put(ctx, next.Decoded, size)
}

// Aside yields the keys of the chunks that are put aside, and their indices; nil for
// those that are none of the array's.
func (a *Array) Aside(ctx context.Context) iter.Seq2[AsideChunk, error] {
	dir := a.Path.MustKey(asideDir + "-").Dir()
	return func(yield func(AsideChunk, error) bool) {
		for e, err := range store.List(ctx, a.Store, dir, true) {
			if errors.Is(err, store.ErrUnsupported) {
				return
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

// AsideChunk is a chunk that is put aside.
type AsideChunk struct {
	Key   store.Key
	Index []int64 // nil where the array has no such chunk, or has it in another shape
}

func (a *Array) asideChunk(name string) AsideChunk {
	c := AsideChunk{Key: a.Path.MustKey(asideDir + name)}
	_, key, _ := strings.Cut(name, "/")
	index, ok := a.Keys.ParseKey(key, a.Grid.Rank(), nil)
	if !ok {
		return c
	}
	w := newWorker(&run{Array: a})
	copy(w.Part.Chunk, index)
	if a.Grid.Cell(index, w.Cell) && w.aside() == c.Key {
		c.Index = index
	}
	return c
}

// FetchAside moves the chunks that are put aside to their places, several at a time
// within the budget, and returns how many could not be moved, and why: the first fault,
// which does not keep it from the others.
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

// fetchAside moves a chunk that is put aside to its place, unless what is there decodes.
func (w *writer) fetchAside(ctx context.Context, c AsideChunk) error {
	if c.Index == nil {
		return nil
	}
	copy(w.Part.Chunk, c.Index)
	n, err := w.begin()
	if err != nil {
		return w.fail(err)
	}
	weight, err := w.bytes.Acquire(ctx, n*int64(2+w.Chain.Buffers()))
	if err != nil {
		return w.fail(err)
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return w.fail(err)
	}
	defer turn.unlock()
	found, buffer, err := w.decodeStored(ctx, n, nil)
	buffer.Put()
	if !errors.Is(err, codec.ErrCorrupt) {
		return w.fail(err)
	}
	value, _, err := w.Store.Get(ctx, c.Key, store.Request{}, nil)
	if errors.Is(err, fs.ErrNotExist) || found {
		return nil
	}
	if err != nil {
		return w.fail(err)
	}
	w.on = store.IfVersion(w.info.Version)
	return w.fail(w.store(ctx, value))
}
