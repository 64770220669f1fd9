// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/store"
)

// copyApart copies a stored chunk into another node as it is. Values of two nodes never
// share their bytes: other programs write in place.
func (t *task) copyApart(ctx context.Context, b store.Batch, p part, at, source []int64) error {
	from, key := t.Source.Engine.Key(source), t.Target.Engine.Key(at)
	before, err := store.Stat(ctx, t.Source.Engine.Store, from)
	if errors.Is(err, fs.ErrNotExist) {
		return t.absent(ctx, b, p, at, func([]int64) Digest { return 0 })
	}
	if err != nil {
		return err
	}
	n, err := t.move(ctx, b, key, from, before)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	after, err := store.Stat(ctx, t.Source.Engine.Store, from)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !after.Same(before) {
		return replaced(from)
	}
	if err != nil {
		return err
	}
	made := func([]int64) Digest { return DigestOf(before.Version) }
	t.record(p, at, made, &Record{Stored: true}, Counts{Cloned: 1, BytesCopied: n})
	return nil
}

func replaced(key store.Key) error {
	return fmt.Errorf("%w: %s was replaced while it was copied", store.ErrConflict, key)
}

// move copies a value between two stores, without this program if they can, and never
// whole into memory if the target can be written piece by piece.
func (t *task) move(ctx context.Context, b store.Batch, key, from store.Key, before store.Info) (int64, error) {
	n, err := store.BatchCopy(ctx, b, key, t.Source.Engine.Store, from)
	if !errors.Is(err, store.ErrUnsupported) {
		return n, err
	}
	whole := []store.Part{{Key: from, Version: before.Version, N: before.Size}}
	return before.Size, t.gather(ctx, b, key, whole)
}

// inOneStore reports whether the store of the target has the source, too.
func (t *task) inOneStore() bool {
	if t.Apart == nil {
		return true
	}
	a, b := store.Driver(t.Store), store.Driver(t.Source.Engine.Store)
	return reflect.ValueOf(a).Comparable() && a == b
}

// assemble stores parts of the source as a value of the target, without the bytes passing
// through this program if the store can.
func (t *task) assemble(ctx context.Context, b store.Batch, key store.Key, parts []store.Part) error {
	if t.inOneStore() {
		return store.BatchAssemble(ctx, b, key, parts)
	}
	return t.gather(ctx, b, key, parts)
}

// gather stores parts of the source as a value of another store, piece by piece if that
// store can.
func (t *task) gather(ctx context.Context, b store.Batch, key store.Key, parts []store.Part) error {
	n, err := store.AssembledSize(parts)
	if err != nil {
		return err
	}
	held, err := t.Apart.Acquire(ctx, min(n, store.PartsMemory))
	if err != nil {
		return err
	}
	err = store.BatchGather(ctx, b, key, t.Source.Engine.Store, parts)
	t.Apart.Release(held)
	if errors.Is(err, store.ErrUnsupported) {
		err = t.put(ctx, b, key, parts, n)
	}
	if errors.Is(err, fs.ErrNotExist) { // its version was seen before
		return fmt.Errorf("%w: a source of %s was deleted while it was copied", store.ErrConflict, key)
	}
	return err
}

// put stores parts of the source, of n bytes, as one value that is held in memory.
func (t *task) put(ctx context.Context, b store.Batch, key store.Key, parts []store.Part, n int64) error {
	held, err := t.Apart.Acquire(ctx, n+min(n, store.PartsMemory))
	if err != nil {
		return err
	}
	defer t.Apart.Release(held)
	buffer := budget.Get(n)
	defer buffer.Put()
	value := writer{buffer.B[:0]}
	if err := store.WriteParts(ctx, &value, t.Source.Engine.Store, parts); err != nil {
		return err
	}
	return b.Put(ctx, key, value.data)
}

// writer appends what is written.
type writer struct{ data []byte }

func (w *writer) Write(data []byte) (int, error) {
	w.data = append(w.data, data...)
	return len(data), nil
}
