package rewrite

import (
	"context"
	"fmt"
	"io/fs"

	"varve.dev/zarr/codec/bytescodec"
	"varve.dev/zarr/codec/sharding"
	"varve.dev/zarr/codec/vlen"
	"varve.dev/zarr/codec/zstd"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// veil shows documents in a store that are not there yet, so that chunks can be written
// which nobody sees before the documents are.
type veil struct {
	store.Store
	documents map[store.Key][]byte
}

func (v *veil) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if document, ok := v.documents[key]; ok {
		return append(dst, document...), store.Info{Size: int64(len(document))}, nil
	}
	return v.Store.Get(ctx, key, q, dst)
}

// Put implements [store.Writer].
func (v *veil) Put(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Version, error) {
	return store.Put(ctx, v.Store, key, value, d)
}

// Delete implements [store.Deleter].
func (v *veil) Delete(ctx context.Context, key store.Key) error {
	return store.Delete(ctx, v.Store, key)
}

// Batch implements [store.Batcher].
func (v *veil) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	return store.NewBatch(ctx, v.Store, d)
}

// nowhere is a store of nothing, in which it shows what would be written.
type nowhere struct{}

func (*nowhere) Get(_ context.Context, key store.Key, _ store.Request, _ []byte) ([]byte, store.Info, error) {
	return nil, store.Info{}, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
}

// Put implements [store.Writer].
func (*nowhere) Put(context.Context, store.Key, []byte, store.Durability) (store.Version, error) {
	return store.Version{}, nil
}

// PutIf implements [store.ConditionalWriter].
func (*nowhere) PutIf(context.Context, store.Key, []byte, store.Condition, store.Durability) (store.Version, error) {
	return store.Version{}, nil
}

// usualChain returns the codecs of arrays for which nobody chose any.
func usualChain(t dtype.Type) []metadata.Extension {
	switch {
	case t.Variable():
		return []metadata.Extension{vlen.Extension(t), zstd.Extension(0, false)}
	case t.Ordered():
		return []metadata.Extension{bytescodec.Extension("little"), zstd.Extension(0, false)}
	}
	return []metadata.Extension{bytescodec.Extension(""), zstd.Extension(0, false)}
}

// withinShards returns how the shards of an array are cut, and the codecs of their inner
// chunks. There are none where chunks are no shards, or where they are not cut evenly.
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
