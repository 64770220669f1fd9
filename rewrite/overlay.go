// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"fmt"
	"io/fs"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/codecs/sharding"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
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

// Put implements [store.Writer].
func (o *overlay) Put(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Version, error) {
	return store.Put(ctx, o.Store, key, value, d)
}

// Delete implements [store.Deleter].
func (o *overlay) Delete(ctx context.Context, key store.Key) error {
	return store.Delete(ctx, o.Store, key)
}

// Batch implements [store.Batcher].
func (o *overlay) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	return store.NewBatch(ctx, o.Store, d)
}

// discard is an empty store that accepts and drops writes.
type discard struct{}

func (*discard) Get(_ context.Context, key store.Key, _ store.Request, _ []byte) ([]byte, store.Info, error) {
	return nil, store.Info{}, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
}

// Put implements [store.Writer].
func (*discard) Put(context.Context, store.Key, []byte, store.Durability) (store.Version, error) {
	return store.Version{}, nil
}

// PutIf implements [store.ConditionalWriter].
func (*discard) PutIf(context.Context, store.Key, []byte, store.Condition, store.Durability) (store.Version, error) {
	return store.Version{}, nil
}

// withinShards returns the inner chunk shape and inner codecs of a sharded array. It
// returns none if the chunks are not shards or are cut unevenly.
func withinShards(doc *metadata.Array) (cuts []grid.Cut, codecs []metadata.Extension) {
	for _, e := range doc.Codecs {
		if e.Name != sharding.Name {
			continue
		}
		v, err := strictjson.Parse(e.Configuration, strictjson.Limits{})
		if err != nil {
			return nil, nil
		}
		shape, _ := v.Member("chunk_shape")
		for _, length := range shape.Elements() {
			n, err := length.Int64()
			if err != nil || n < 1 {
				return nil, nil
			}
			cuts = append(cuts, grid.Every(n))
		}
		list, _ := v.Member("codecs")
		for _, c := range list.Elements() {
			e, err := metadata.ParseExtension(c.Raw(), metadata.Limits{})
			if err != nil {
				return cuts, nil
			}
			codecs = append(codecs, metadata.Extension{Name: e.Name, Configuration: e.Configuration})
		}
		return cuts, codecs
	}
	return nil, nil
}
