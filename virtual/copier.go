// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// CopyPadded copies the chunks whose padding is in the way ([Join.CopyPadded]) into the
// folder of a manifest, and makes the manifest refer to the copies. Each is decoded, cut
// to the elements of the array, and encoded with the codecs of its array. Call it with
// the store and the path that the manifest is then stored at. Without such chunks it does
// nothing.
//
// It reads the files that the collector was given, and what references may lead to
// ([WithAllowed]). Memory is bounded by [Collector.Budget]. After an
// error the manifest is as before, and values may be left in the folder that no manifest
// names.
func (c *Collector) CopyPadded(ctx context.Context, m *Manifest, s store.Store, path store.Path) error {
	from, err := c.collected(ctx, s, path)
	if err != nil {
		return err
	}
	defer from.others.closeOpened()
	total, _ := m.Padded()
	w := &copier{into: s, path: path, number: uint32(m.count()) + 1, budget: budget.New(cmp.Or(c.Budget, budget.Most())), most: cmp.Or(c.copyBytes, copyBytes), workers: c.atOnce()}
	if c.Copied != nil {
		w.copied = func(done int64) { c.Copied(done, total) }
	}
	// The manifest changes only when all copies are stored: an error leaves it as it was.
	made := make([]*Array, len(m.Arrays))
	for i, a := range m.Arrays {
		if made[i], err = w.array(ctx, m, a, from); err != nil {
			return fmt.Errorf("copying chunks of %q without their padding: %w", a.Path, err)
		}
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	for i, a := range m.Arrays {
		*a = *made[i]
	}
	m.Sources = slices.Concat(m.Sources, w.values)
	m.copies = slices.Concat(m.copies, w.values)
	return nil
}

// copier stores chunks without their padding. Its methods are safe for concurrent use.
type copier struct {
	into    store.Store
	path    store.Path
	budget  *budget.Budget
	most    int // bytes of a value
	workers int
	copied  func(done int64) // may be nil

	mu     sync.Mutex
	done   int64
	number uint32   // the number of the source that the buffer becomes
	buffer []byte   // what is not stored yet
	values []Source // what is
}

// copyBytes is the size in bytes of the values that copies are stored in.
const copyBytes = 32 << 20

// array returns an array with references to copies.
func (w *copier) array(ctx context.Context, m *Manifest, a *Array, from sources) (*Array, error) {
	b := *a
	if len(a.faces) == 0 {
		return &b, nil
	}
	scratch := memstore.New()
	src, err := facesPadded(ctx, m, a, from)
	if err != nil {
		return nil, err
	}
	// The copies are chunks of an array in memory, so the codecs encode them as usual.
	dst, err := a.facesAlone(ctx, func(f face) int64 { return f.logical }, scratch, false)
	if err != nil {
		return nil, err
	}
	b = *a.moved(0)
	b.faces = nil
	work, within := parallel.New(ctx)
	work.SetLimit(w.workers)
	for number, place := range a.padded() {
		if within.Err() != nil {
			break
		}
		work.Go(func() error {
			r, err := w.chunk(within, src, dst, scratch, place, a.Axis)
			if err != nil {
				return err
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			b.refs.set(int(number-a.stored()), r)
			delete(b.inline, number)
			if w.done++; w.copied != nil {
				w.copied(w.done)
			}
			return nil
		})
	}
	return &b, work.Wait(nil)
}

// chunk copies one chunk, and returns where its copy is.
func (w *copier) chunk(ctx context.Context, src, dst *zarr.Array, scratch store.Store, place int64, axis int) (reference, error) {
	index := make([]int64, dst.Rank())
	indexOf(place, dst.Grid().Chunks(), axis, index)
	padded, _ := src.Grid().Chunk(index) // the grids are made for the place
	whole, _ := dst.Grid().Chunk(index)
	// The limit is that of all readers: they refuse larger chunks.
	size, ok := checked.Product(append([]int64{widthOf(dst.Type())}, padded.Encoded...)...)
	if !ok || size > coding.DefaultChunk {
		return reference{}, fmt.Errorf("%w: a chunk of shape %v", ErrLimit, padded.Encoded)
	}
	// The encoded chunk, its elements, those of the copy, and the encoded copy.
	held, err := w.budget.Acquire(ctx, 4*size)
	if err != nil {
		return reference{}, err
	}
	defer w.budget.Release(held)
	if err := copyBox(ctx, dst, boxOf(whole.Start, whole.Logical), src, boxOf(padded.Start, whole.Logical)); err != nil {
		return reference{}, err
	}
	key := chunkKey(dst.Path(), index)
	data, _, err := scratch.Get(ctx, key, store.Request{}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return reference{}, nil // it has only fill values
	}
	if err == nil {
		// Free the encoded chunk at once: the memory store holds only what is in flight.
		_, err = store.Write(ctx, scratch, store.Delete(key), store.Sync)
	}
	if err != nil {
		return reference{}, err
	}
	return w.add(ctx, data)
}

// copyBox copies elements of a box to a box of the same shape.
func copyBox(ctx context.Context, dst *zarr.Array, to selection.Box, src *zarr.Array, from selection.Box) error {
	switch t := dst.Type(); {
	case t.Kind() == dtype.KindBytes:
		return copyAs[[]byte](ctx, dst, to, src, from)
	case t.Variable():
		return copyAs[string](ctx, dst, to, src, from)
	}
	n := int64(dst.Type().Size())
	for _, x := range to {
		n *= x[1] - x[0]
	}
	data := make([]byte, n)
	if err := src.ReadBytes(ctx, from, data); err != nil {
		return err
	}
	return dst.WriteBytes(ctx, to, data)
}

// copyAs is copyBox of elements that are values of Go.
func copyAs[T dtype.Element](ctx context.Context, dst *zarr.Array, to selection.Box, src *zarr.Array, from selection.Box) error {
	b, err := zarr.Read[T](ctx, src, from)
	if err != nil {
		return err
	}
	return zarr.Write(ctx, dst, to, b.Data)
}

// add adds an encoded chunk to the values, and returns where it is.
func (w *copier) add(ctx context.Context, data []byte) (reference, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Many chunks share a value: an object for each would cost a request for each. A
	// chunk that is longer than a value gets a value of its own.
	if len(w.buffer) > 0 && len(w.buffer)+len(data) > w.most {
		if err := w.store(ctx); err != nil {
			return reference{}, err
		}
	}
	r := reference{w.number, uint64(len(w.buffer)), uint64(len(data))}
	w.buffer = append(w.buffer, data...)
	return r, nil
}

// flush stores what is not stored yet.
func (w *copier) flush(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.buffer) == 0 {
		return nil
	}
	return w.store(ctx)
}

// store stores the buffer as a value, which becomes a source. Others wait meanwhile, so
// that memory stays bounded.
func (w *copier) store(ctx context.Context) error {
	name := "data/" + newID()
	key, err := w.path.Key(name)
	if err == nil {
		_, err = store.Write(ctx, w.into, store.Put(key, w.buffer), store.Sync)
	}
	if err != nil {
		return err
	}
	// The name is random and the value is never replaced, so its size identifies it.
	w.values = append(w.values, Source{Location: name, Size: int64(len(w.buffer))})
	w.buffer = w.buffer[:0]
	w.number++
	return nil
}

// collected opens the sources of a manifest that a collector makes: the files that it was
// given, wherever they are, and others where references may lead.
type collected struct {
	ctx    context.Context // of the call that reads them
	from   *opener
	others *sites
}

// of implements sources.
func (o *collected) of(location string) (target, error) {
	p, err := o.from.folder.join(location)
	if err != nil {
		return target{}, err
	}
	if !o.from.isGiven(&p) {
		return o.others.of(location)
	}
	return o.from.target(o.ctx, p)
}

func (o *collected) shown(location string) string { return o.others.shown(location) }

func (o *collected) close() error { return o.others.closeOpened() }

// collected returns the sources of a manifest that is stored at a path.
func (c *Collector) collected(ctx context.Context, s store.Store, path store.Path) (*collected, error) {
	others, err := sitesOf(ctx, s, path, c.files.folder)
	return &collected{ctx, c.files, others}, err
}

// widthOf returns the bytes of an element. A text counts as 64.
func widthOf(t dtype.Type) int64 {
	if t.Variable() {
		return 64
	}
	return int64(t.Size())
}

// boxOf selects a box of an array.
func boxOf(start, shape []int64) selection.Box {
	box := make(selection.Box, len(start))
	for i := range box {
		box[i] = [2]int64{start[i], start[i] + shape[i]}
	}
	return box
}
