// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"testing"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestAsideShapes lists the chunks that are set aside. Only chunks with the shape of
// their cell have an index.
func TestAsideShapes(t *testing.T) {
	s := memstore.New()
	a, _ := row(s, plain(), 4, 4)
	want := map[string]bool{"a/__varve/aside/4/c/1": true, "a/__varve/aside/3/c/1": false, "a/__varve/aside/4/c/2": false, "a/__varve/aside/x": false}
	for key := range want {
		must(store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte("aside")), store.Flush))
	}
	n := 0
	for c, err := range a.Aside(t.Context()) {
		n++
		if err != nil || (c.Index != nil) != want[c.Key.String()] {
			t.Errorf("%s is chunk %v (%v)", c.Key, c.Index, err)
		}
	}
	if n != len(want) {
		t.Errorf("%d are put aside, want %d", n, len(want))
	}
}

// TestFetchOverDamage moves a chunk that is set aside to its key. It replaces a chunk
// that does not decode. It does nothing if the chunk there decodes or is missing.
func TestFetchOverDamage(t *testing.T) {
	key, aside := store.MustKey("a/c/1"), int32s(1, 2, 3, 4)
	for name, c := range map[string]struct{ stored, want []byte }{
		"damaged": {[]byte("x"), aside},
		"decodes": {int32s(5, 6, 7, 8), int32s(5, 6, 7, 8)},
		"none":    {nil, nil},
	} {
		s := memstore.New()
		a, _ := row(s, plain(), 4, 4)
		must(store.Write(t.Context(), s, store.Put(store.MustKey("a/__varve/aside/4/c/1"), aside), store.Flush))
		if c.stored != nil {
			must(store.Write(t.Context(), s, store.Put(key, c.stored), store.Flush))
		}
		err := publish.Batch(t.Context(), s, store.Flush, func(ctx context.Context, b store.Batch) error {
			left, err := a.FetchAside(ctx, b)
			if left != 0 {
				t.Errorf("%s: %d are left", name, left)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, _, _ := s.Get(t.Context(), key, store.Request{}, nil); !bytes.Equal(got, c.want) {
			t.Errorf("%s: the chunk is %v, want %v", name, got, c.want)
		}
	}
}
