// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"iter"
	"strings"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/storetest"
)

// named is the store of one client, in which all keys are below a name of its own. So
// clients of one process share no lock of it, as clients of several processes do not.
type named struct {
	storetest.ObjectStore
	name string
}

func (n *named) path(p store.Path) store.Path {
	return n.key(p.MustKey("-")).Dir()
}

func (n *named) key(k store.Key) store.Key {
	return store.MustKey(strings.TrimPrefix(k.String(), n.name+"/"))
}

func (n *named) Get(ctx context.Context, k store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return n.ObjectStore.Get(ctx, n.key(k), q, dst)
}

func (n *named) Stat(ctx context.Context, k store.Key) (store.Info, error) {
	return n.ObjectStore.Stat(ctx, n.key(k))
}

func (n *named) Put(ctx context.Context, k store.Key, value []byte, d store.Durability) (store.Version, error) {
	return n.ObjectStore.Put(ctx, n.key(k), value, d)
}

func (n *named) PutIf(ctx context.Context, k store.Key, value []byte, c store.Condition, d store.Durability) (store.Version, error) {
	return n.ObjectStore.PutIf(ctx, n.key(k), value, c, d)
}

func (n *named) Delete(ctx context.Context, k store.Key) error {
	return n.ObjectStore.Delete(ctx, n.key(k))
}

func (n *named) DeleteIf(ctx context.Context, k store.Key, v store.Version) error {
	return n.ObjectStore.DeleteIf(ctx, n.key(k), v)
}

func (n *named) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return n.ObjectStore.List(ctx, n.path(dir), deep)
}
