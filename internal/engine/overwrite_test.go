// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"errors"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestOverwriteOfAnotherLength writes parts of chunks whose size is not that of their
// elements, and which exceed the limit. They do not change.
func TestOverwriteOfAnotherLength(t *testing.T) {
	key := store.MustKey("a/c/0")
	for _, stored := range [][]byte{int32s(1, 2, 3), int32s(1, 2, 3, 4, 5), {}} {
		s := memstore.New()
		must(s.Put(t.Context(), key, stored, store.Flush))
		a, _ := row(s, plain(), 4)
		a.MaxChunk = 1
		for _, values := range [][]byte{int32s(5, 6), int32s(9, 9)} {
			r := must(selection.Resolve(selection.Box{{0, 2}}, []int64{4}))
			if err := write(t.Context(), a, r, view(a, r, values)); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%d bytes: %v", len(stored), err)
			}
			if got, _, err := s.Get(t.Context(), key, store.Request{}, nil); err != nil || !bytes.Equal(got, stored) {
				t.Errorf("%d bytes became %v (%v)", len(stored), got, err)
			}
		}
	}
}
