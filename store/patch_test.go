// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
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
		if n, err := store.PatchValue(store.MustKey("k"), store.Version{}, c.patches).Size(c.size); n != c.size || !errors.Is(err, c.want) {
			t.Errorf("case %d: error is %v, want %v", i, err, c.want)
		}
	}
}

// TestPatchBatch patches in batches of every kind.
func TestPatchBatch(t *testing.T) {
	ctx, m, key := t.Context(), memtest.New(), store.MustKey("k")
	own, err := m.Batch(ctx, store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	unable := bareBatch(m, store.OpPutIf, store.OpDeleteIf, store.OpSplice)
	for name, c := range map[string]struct {
		s    store.Store
		want error
	}{
		"own":                      {m, nil},
		"beside a bare batch":      {plainBatch{m}, nil},
		"beside one that splices":  {patching{m, unable}, nil},
		"only the batch can":       {withBatch{puts(m, store.OpPutIf), own}, nil},
		"neither can, single":      {newFar(m), store.ErrUnsupported},
		"neither can, bare":        {withBatch{puts(m, store.OpPutIf), bareBatch(m)}, store.ErrUnsupported},
		"neither can, but splices": {withBatch{puts(m, store.OpPutIf), unable}, store.ErrUnsupported},
	} {
		v, err := m.Write(ctx, store.Put(key, []byte("old")), store.Flush)
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
		if _, err := b.Write(ctx, store.PatchValue(key, v.Version, []store.Patch{{Data: []byte("b")}})); !errors.Is(err, c.want) {
			t.Errorf("%s: error is %v, want %v", name, err, c.want)
		}
		if got, _, err := m.Get(ctx, key, store.Request{}, nil); string(got) != want || err != nil {
			t.Errorf("%s: %q and error %v, want %q", name, got, err, want)
		}
	}
}

// patching is a store that can patch, with batches of another kind.
type patching struct {
	memtest.Store
	batch store.Batch
}

func (p patching) Batch(context.Context, store.Durability) (store.Batch, error) { return p.batch, nil }
