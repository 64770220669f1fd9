// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

func TestCheckPatches(t *testing.T) {
	for i, c := range []struct {
		size    int64
		patches []store.Patch
		want    error
	}{
		{0, nil, nil},
		{0, []store.Patch{{}}, nil},
		{5, []store.Patch{{Data: []byte("abcde")}, {Off: 5}, {Off: 3, Data: []byte("de")}}, nil},
		{5, []store.Patch{{Data: []byte("abcdef")}}, io.ErrUnexpectedEOF},
		{5, []store.Patch{{Data: []byte("a")}, {Off: 6}}, io.ErrUnexpectedEOF},
		{5, []store.Patch{{Off: -1, Data: []byte("a")}}, io.ErrUnexpectedEOF},
		{math.MaxInt64, []store.Patch{{Off: math.MaxInt64, Data: []byte("a")}}, io.ErrUnexpectedEOF},
	} {
		if err := store.CheckPatches(c.size, c.patches); !errors.Is(err, c.want) {
			t.Errorf("case %d: error is %v, want %v", i, err, c.want)
		}
	}
}

// TestPatchBatch patches in batches of every kind.
func TestPatchBatch(t *testing.T) {
	ctx, m, key := t.Context(), memstore.New(), store.MustKey("k")
	own, err := m.Batch(ctx, store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	unable := splicing{own.(store.SplicingBatch), own.(store.ConditionalBatch)}
	for name, c := range map[string]struct {
		s    store.Store
		want error
	}{
		"own":                      {m, nil},
		"beside a bare batch":      {plainBatch{m}, nil},
		"beside one that splices":  {patching{m, unable}, nil},
		"only the batch can":       {withBatch{onlyGet{m}, m, m, own}, nil},
		"neither can, single":      {newFar(m), store.ErrUnsupported},
		"neither can, bare":        {withBatch{onlyGet{m}, m, m, bare{m}}, store.ErrUnsupported},
		"neither can, but splices": {withBatch{onlyGet{m}, m, m, unable}, store.ErrUnsupported},
	} {
		v, err := m.Put(ctx, key, []byte("old"), store.Flush)
		if err != nil {
			t.Fatal(err)
		}
		b, err := store.NewBatch(ctx, c.s, store.Sync)
		if err != nil {
			t.Fatal(name, err)
		}
		want := "bld"
		if c.want != nil {
			want = "old"
		}
		if err := store.BatchPatch(ctx, b, key, v, []store.Patch{{Data: []byte("b")}}); !errors.Is(err, c.want) {
			t.Errorf("%s: error is %v, want %v", name, err, c.want)
		}
		if got, _, err := m.Get(ctx, key, store.Request{}, nil); string(got) != want || err != nil {
			t.Errorf("%s: %q and error %v, want %q", name, got, err, want)
		}
	}
	if err := store.BatchPatch(ctx, bare{m}, key, store.Version{}, nil); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("a bare batch says %v, want %v", err, store.ErrUnsupported)
	}
}

// splicing is a batch that cannot patch.
type splicing struct {
	store.SplicingBatch
	conditional store.ConditionalBatch
}

func (s splicing) PutIf(ctx context.Context, key store.Key, value []byte, cond store.Condition) error {
	return s.conditional.PutIf(ctx, key, value, cond)
}

func (s splicing) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	return s.conditional.DeleteIf(ctx, key, v)
}

// patching is a store that can patch, with batches of another kind.
type patching struct {
	*memstore.Store
	batch store.Batch
}

func (p patching) Batch(context.Context, store.Durability) (store.Batch, error) { return p.batch, nil }
