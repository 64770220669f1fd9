// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// damagedIndex creates an array of two shards with checksums in a store, and flips a bit
// of the index of the first one. It returns the shard as it was.
func damagedIndex(t *testing.T, s store.Store) (before []byte) {
	t.Helper()
	ctx := context.Background()
	spec := zarr.Spec{
		Shape: []int64{16}, Type: dtype.Int32, Codecs: append(fixture.Plain(), codec.CRC32C()),
		Chunks: grid.Chunks(8), InnerChunks: grid.Chunks(2),
	}
	a := fixture.Must(zarr.At(s, "").CreateArray(ctx, spec, &zarr.CreateOptions{Options: zarr.Options{SingleWriter: true}}))
	if err := zarr.Write(ctx, a, nil, fixture.Numbers(1, 16)); err != nil {
		t.Fatal(err)
	}
	before = stored(t, s, "c/0")
	damaged := slices.Clone(before)
	damaged[len(damaged)-30] ^= 4
	fixture.Put(t, s, "c/0", string(damaged))
	return before
}

// stored returns the bytes of a value.
func stored(t *testing.T, s store.Store, key string) []byte {
	t.Helper()
	data, _, err := s.Get(context.Background(), store.MustKey(key), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRepairShard restores an index once. A sound shard is not written.
func TestRepairShard(t *testing.T) {
	ctx, s := context.Background(), memtest.New()
	before := damagedIndex(t, s)
	a := fixture.Must(zarr.At(s, "").OpenArray(ctx, &zarr.Options{Write: true}))
	if _, err := zarr.Read[int32](ctx, a, nil); !errors.Is(err, zarr.ErrChecksum) {
		t.Errorf("the damaged shard is read: %v", err)
	}
	for i, want := range []bool{true, false} {
		if done, err := a.RepairShard(ctx, []int64{0}); err != nil || done != want {
			t.Errorf("repair %d: %t, %v", i, done, err)
		}
	}
	if !bytes.Equal(stored(t, s, "c/0"), before) {
		t.Error("the shard is not what it was")
	}
	if got, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(got.Data, fixture.Numbers(1, 16)) {
		t.Errorf("%v, %v", got.Data, err)
	}
}

// TestRepairShardUnderWriter replaces the shard after the repair has read it. The repair
// keeps what the other writer has stored.
func TestRepairShardUnderWriter(t *testing.T) {
	ctx, m := context.Background(), memtest.New()
	before := damagedIndex(t, m)
	other := slices.Clone(before)
	copy(other, other[12:24]) // the first inner chunk becomes equal to the second one
	writes := 0
	s := stepping.Conditional(m, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Name == "PutIf" && op.Key.String() == "c/0" {
			if writes++; writes == 1 {
				fixture.Put(t, m, "c/0", string(other))
			}
		}
		return nil
	}})
	a := fixture.Must(zarr.At(s, "").OpenArray(ctx, &zarr.Options{Write: true}))
	if done, err := a.RepairShard(ctx, []int64{0}); err != nil || done || writes != 1 {
		t.Errorf("%t, %v after %d writes", done, err, writes)
	}
	if !bytes.Equal(stored(t, m, "c/0"), other) {
		t.Error("the shard of the other writer is lost")
	}
}

// TestRepairShardRefuses leaves shards alone that it may not or cannot repair.
func TestRepairShardRefuses(t *testing.T) {
	ctx, m := context.Background(), memtest.New()
	damagedIndex(t, m)
	damaged := stored(t, m, "c/0")
	writable := &zarr.Options{Write: true, SingleWriter: true}
	for _, c := range []struct {
		name  string
		store store.Store
		opt   *zarr.Options
		index []int64
		want  error
	}{
		{"an array that is open for reading", m, nil, []int64{0}, zarr.ErrReadOnly},
		{"a store without conditional writes", plainStore{m, fixture.Only(m, store.OpPut, store.OpDelete), m}, writable, []int64{0}, zarr.ErrUnsupported},
		{"no shard of the array", m, writable, []int64{2}, grid.ErrOutOfRange},
	} {
		a := fixture.Must(zarr.At(c.store, "").OpenArray(ctx, c.opt))
		if done, err := a.RepairShard(ctx, c.index); done || !errors.Is(err, c.want) {
			t.Errorf("%s: %t, %v", c.name, done, err)
		}
	}
	if !bytes.Equal(stored(t, m, "c/0"), damaged) {
		t.Error("the shard was changed")
	}
	a := fixture.Must(zarr.At(m, "").OpenArray(ctx, writable))
	if _, err := store.Write(ctx, m, store.Delete(store.MustKey("c/1")), store.Sync); err != nil {
		t.Fatal(err)
	}
	if done, err := a.RepairShard(ctx, []int64{1}); done || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a shard that is not stored: %t, %v", done, err)
	}
	plain := fixture.Must(zarr.At(memtest.New(), "").CreateArray(ctx, fixture.Every(4, 2), nil))
	if done, err := plain.RepairShard(ctx, []int64{0}); done || !errors.Is(err, zarr.ErrUnsupported) {
		t.Errorf("an array without shards: %t, %v", done, err)
	}
}
