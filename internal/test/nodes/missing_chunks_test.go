// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestRequireChunks reads arrays with a missing chunk. This is an error if chunks are
// required, and gives the fill value otherwise.
func TestRequireChunks(t *testing.T) {
	ctx := t.Context()
	for name, spec := range map[string]zarr.Spec{
		"plain":  {Codecs: fixture.Plain()},
		"packed": {Codecs: fixture.Packed()},
		"shards": {Codecs: fixture.Packed(), InnerChunks: grid.Chunks(2)},
		"v2":     {Codecs: []metadata.Extension{{Name: "bytes", Configuration: []byte(`{"endian": "little"}`)}}, Format: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New()
			spec.Shape, spec.Type, spec.Chunks = []int64{10}, dtype.Int32, grid.Chunks(4)
			a, err := zarr.At(s, "").CreateArray(ctx, spec, &zarr.CreateOptions{Options: zarr.Options{StoreFill: true}})
			if err == nil {
				err = zarr.Write(ctx, a, nil, make([]int32, 10))
			}
			if err != nil {
				t.Fatal(err)
			}
			strict, err := zarr.At(s, "").OpenArray(ctx, &zarr.Options{RequireChunks: true, Write: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := zarr.Read[int32](ctx, strict, nil); err != nil {
				t.Fatal(err)
			}
			key := strings.TrimPrefix(map[bool]string{true: "1", false: "c/1"}[spec.Format == 2], "/")
			if _, err := store.Write(ctx, s, store.Delete(store.MustKey(key)), store.Sync); err != nil {
				t.Fatal(err)
			}
			for what, read := range map[string]func(*zarr.Array) error{
				"all": func(a *zarr.Array) error { _, err := zarr.Read[int32](ctx, a, nil); return err },
				"point": func(a *zarr.Array) error {
					_, err := zarr.Read[int32](ctx, a, selection.Basic{selection.At(5)})
					return err
				},
				"chunk": func(a *zarr.Array) error { _, err := a.ReadChunk(ctx, []int64{1}); return err },
			} {
				var at *zarr.Error
				err := read(strict)
				if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &at) || !strings.Contains(err.Error(), key) || zarr.KindOf(err) != "not-found" {
					t.Errorf("%s: %v", what, err)
				}
				if err := read(a); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			if got, err := zarr.Read[int32](ctx, strict, selection.Basic{selection.Span(0, 4)}); err != nil || len(got.Data) != 4 {
				t.Errorf("a chunk that is stored: %v", err)
			}
			checkComplete(t, strict, []int64{1})
			if err := zarr.Write(ctx, strict, selection.Basic{selection.At(6)}, []int32{3}); err != nil {
				t.Errorf("write to a chunk that is not stored: %v", err)
			}
			checkComplete(t, strict)
		})
	}
}

// checkComplete checks which chunks are missing.
func checkComplete(t *testing.T, a *zarr.Array, want ...[]int64) {
	t.Helper()
	for _, complete := range []bool{false, true} {
		var missing [][]int64
		for f, err := range a.CheckShards(t.Context(), &zarr.CheckOptions{Complete: complete}) {
			if err != nil || !errors.Is(f.Err, fs.ErrNotExist) {
				t.Fatal(f, err)
			}
			missing = append(missing, f.Shard)
		}
		if complete && !slices.EqualFunc(missing, want, slices.Equal) || !complete && missing != nil {
			t.Errorf("complete %t: %v is missing, want %v", complete, missing, want)
		}
	}
}

// TestCompleteOfMany finds the missing chunks of arrays with too many chunks to ask for
// each, of one without any chunk, and of one with a single chunk. A grid with too many
// chunks is refused.
func TestCompleteOfMany(t *testing.T) {
	ctx := t.Context()
	create := func(s store.Store, shape ...int64) *zarr.Array {
		cut := make([]grid.Cut, len(shape))
		for i := range cut {
			cut[i] = grid.Every(1)
		}
		a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{Shape: shape, Type: dtype.Uint8, Chunks: cut, Codecs: fixture.Plain()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	s := memstore.New()
	a := create(s, 30, 40)
	if err := zarr.Fill(ctx, a, nil, uint8(1)); err != nil {
		t.Fatal(err)
	}
	want := [][]int64{{0, 0}, {0, 39}, {17, 3}, {29, 39}}
	for _, index := range want {
		if _, err := store.Write(ctx, s, store.Delete(store.MustKey(fmt.Sprintf("c/%d/%d", index[0], index[1]))), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	checkComplete(t, a, want...)
	checkComplete(t, create(memstore.New(), 0, 3))
	checkComplete(t, create(memstore.New()), []int64{})
	for _, err := range create(memstore.New(), 1<<40).CheckShards(ctx, &zarr.CheckOptions{Complete: true}) {
		if !errors.Is(err, zarr.ErrLimit) {
			t.Error(err)
		}
	}
}
