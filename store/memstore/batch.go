// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"context"

	"varve.dev/zarr/store"
)

// Batch implements [store.Batcher]. Writes take effect immediately, and Commit does
// nothing.
func (s *Store) Batch(ctx context.Context, _ store.Durability) (store.Batch, error) {
	return batch{s}, ctx.Err()
}

type batch struct{ s *Store }

var (
	_ store.ConditionalBatch = batch{}
	_ store.SplicingBatch    = batch{}
	_ store.PatchingBatch    = batch{}
	_ store.CloningBatch     = batch{}
	_ store.AssemblingBatch  = batch{}
)

func (b batch) Put(ctx context.Context, key store.Key, data []byte) error {
	_, err := b.s.Put(ctx, key, data, store.Flush)
	return err
}

func (b batch) Delete(ctx context.Context, key store.Key) error { return b.s.Delete(ctx, key) }

func (b batch) PutIf(ctx context.Context, key store.Key, data []byte, cond store.Condition) error {
	_, err := b.s.PutIf(ctx, key, data, cond, store.Flush)
	return err
}

func (b batch) Splice(ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment) error {
	_, err := b.s.Splice(ctx, key, from, fragments, store.Flush)
	return err
}

func (b batch) Patch(ctx context.Context, key store.Key, from store.Version, patches []store.Patch) error {
	_, err := b.s.Patch(ctx, key, from, patches, store.Flush)
	return err
}

func (b batch) Clone(ctx context.Context, key, source store.Key, from store.Version) (store.Cloned, error) {
	return b.s.Clone(ctx, key, source, from, store.Flush)
}

func (b batch) Assemble(ctx context.Context, key store.Key, parts []store.Part) error {
	_, err := b.s.Assemble(ctx, key, parts, store.Flush)
	return err
}

func (b batch) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	return b.s.DeleteIf(ctx, key, v)
}

func (b batch) Commit(ctx context.Context) error { return ctx.Err() }
func (b batch) Discard()                         {}
