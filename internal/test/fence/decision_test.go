// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// TestDecidedIsNotRepeated checks that a decided change of two arrays is not started
// again. A concurrent writer rewrites a document, as a fence does, whenever the change
// tries to publish it. The call fails with ErrDecided, and no element is appended twice.
func TestDecidedIsNotRepeated(t *testing.T) {
	ctx, decided, hindered := t.Context(), false, 0
	var mu sync.Mutex
	h := zarr.At(stepping.Conditional(memtest.New(), stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		mu.Lock()
		defer mu.Unlock()
		key := op.Key.String()
		decided = decided || op.Name == "PutIf" && strings.Contains(key, "together-")
		if hindered < 8 && decided && op.Name == "PutIf" && key == "b/zarr.json" {
			hindered++
			return store.ErrConflict
		}
		return nil
	}}), "")
	if _, err := h.At("").CreateGroup(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := h.At(name).CreateArray(ctx, fixture.Edges(1, 2, 3), nil); err != nil {
			t.Fatal(err)
		}
	}
	g, err := h.At("").OpenGroup(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	err = g.Append(ctx, zarr.Add("a", 0, fixture.Numbers(1, 2), nil), zarr.Add("b", 0, fixture.Numbers(1, 2), nil))
	if hindered != 8 || !errors.Is(err, zarr.ErrDecided) {
		t.Errorf("after %d rewrites of the document: error is %v, want %v", hindered, err, zarr.ErrDecided)
	}
	for _, name := range []string{"a", "b"} {
		a, err := h.At(name).OpenArray(ctx, &zarr.Options{Write: true}) // finishes the change
		if err != nil {
			t.Fatal(err)
		}
		if rows := a.Shape()[0]; rows != 8 {
			t.Errorf("%s has %d rows, want 8", name, rows)
		}
	}
}
