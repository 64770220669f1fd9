// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// hiding refuses access to missing values, as object stores do if the user may read them
// but not list them.
type hiding struct{ below memtest.Store }

func (h hiding) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	data, info, err := h.below.Get(ctx, key, q, dst)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: %w", key, fs.ErrPermission)
	}
	return data, info, err
}

// TestHiddenDocuments opens nodes of both formats where missing documents are refused. A
// missing chunk stays an error, and so does a missing node.
func TestHiddenDocuments(t *testing.T) {
	stores := map[string]memtest.Store{"three": memtest.New(), "two": memtest.New()}
	for name, spec := range map[string]zarr.Spec{"three": fixture.Every(6, 3), "two": fixture.AsV2(fixture.Every(6, 3))} {
		a, err := zarr.At(stores[name], name).CreateArray(t.Context(), spec, nil)
		if err == nil {
			err = zarr.Write(t.Context(), a, selection.BoxOf(grid.Box{{Stop: 3}}), []int32{1, 2, 3})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range stores {
		a, err := zarr.At(hiding{s}, name).OpenArray(t.Context(), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b, err := zarr.Read[int32](t.Context(), a, selection.BoxOf(grid.Box{{Stop: 3}})); err != nil || !slices.Equal(b.Data, []int32{1, 2, 3}) {
			t.Errorf("%s: %v (%v)", name, b, err)
		}
		if _, err := zarr.Read[int32](t.Context(), a, nil); !errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a missing chunk: %v", name, err)
		}
		if _, err := zarr.At(hiding{s}, "none").Open(t.Context(), nil); !errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a missing node: %v", name, err)
		}
	}
}
