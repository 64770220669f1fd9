// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"fmt"
	"io/fs"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

// overlay is a store with documents that are not stored yet. An array can be written
// through it before other programs see its documents.
type overlay struct {
	store.Store
	documents map[store.Key][]byte
	blind     bool // nothing else is found
}

func (o *overlay) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if document, ok := o.documents[key]; ok {
		return append(dst, document...), store.Info{Size: int64(len(document))}, nil
	}
	if o.blind {
		return dst, store.Info{}, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	return o.Store.Get(ctx, key, q, dst)
}

// Can implements [store.Writer].
func (o *overlay) Can(op store.Op) bool {
	return (op == store.OpPut || op == store.OpDelete) && store.Can(o.Store, op)
}

// Write implements [store.Writer].
func (o *overlay) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if !o.Can(c.Op) {
		return store.Written{}, store.ErrUnsupported
	}
	return store.Write(ctx, o.Store, c, d)
}

// Batch implements [store.Batcher].
func (o *overlay) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	return store.NewBatch(ctx, o.Store, d)
}

// open opens a member for writing, before any document is stored. The documents are only
// in an overlay, so that other programs do not see the array yet. If blind is set, chunks
// are not read: each is written as if there were none.
func (c *conversion) open(ctx context.Context, m *member, blind bool) (*zarr.Array, error) {
	place, err := c.pair.Target.Path.Join(m.Path)
	if err != nil {
		return nil, err
	}
	list, err := m.documents()
	if err != nil {
		return nil, err
	}
	v := &overlay{Store: c.pair.Target.Store, blind: blind, documents: map[store.Key][]byte{}}
	for _, t := range list {
		v.documents[place.MustKey(t.name)] = t.bytes
	}
	// No other program knows of this array yet, and the overlay supports neither
	// locks nor conditional writes.
	o := *c.pair.Reading()
	o.Write, o.SingleWriter = true, true
	return zarr.At(v, place.String()).OpenArray(ctx, &o)
}
