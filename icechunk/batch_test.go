// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"context"
	"errors"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store"
)

// batching counts changes outside of batches, and batches that are committed.
type batching struct {
	lossy
	single, committed int
	fails             bool
}

func (b *batching) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	b.single++
	return b.lossy.Write(ctx, c, d)
}

func (b *batching) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	below, err := store.NewBatch(ctx, b.Store, d)
	return &counted{below, b}, err
}

type counted struct {
	store.Batch
	of *batching
}

func (c *counted) Commit(ctx context.Context) error {
	if c.of.fails {
		return store.ErrDurability
	}
	c.of.committed++
	return c.Batch.Commit(ctx)
}

// TestBatch writes chunks in batches. A commit does not name what is not durable.
func TestBatch(t *testing.T) {
	_, s := created(t)
	b := &batching{lossy: lossy{Store: s}}
	r, err := icechunk.Open(t.Context(), b, store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, s *icechunk.Session) error {
		spec := zarr.Spec{Shape: []int64{4000}, Type: dtype.Int32, Chunks: grid.Chunks(1000)}
		a, err := zarr.At(s, name).CreateArray(t.Context(), spec, nil)
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, numbers(1, 4000))
		}
		return err
	}
	one := session(t, r)
	if err := write("a", one); err != nil || b.single != 0 || b.committed != 1 {
		t.Errorf("%v, %d single changes, %d batches", err, b.single, b.committed)
	}
	commit(t, one, "a")
	if b.single != 2 || b.committed != 2 { // the former object repo, and the new one
		t.Errorf("%d single changes, %d batches", b.single, b.committed)
	}
	two, three := session(t, r), session(t, r)
	icechunk.Remember(two, three)
	b.fails = true
	if err := write("b", two); !errors.Is(err, store.ErrDurability) {
		t.Error(err)
	}
	b.fails = false
	if _, err := two.Commit(t.Context(), "b"); !errors.Is(err, store.ErrDurability) {
		t.Error(err)
	}
	before := len(objectsBelow(t, s, "chunks"))
	if err := write("c", three); err != nil || len(objectsBelow(t, s, "chunks")) != before+4 {
		t.Errorf("%v, chunks that may not be durable are used", err)
	}
}
