// SPDX-License-Identifier: Apache-2.0

package zipstore_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/zipstore"
)

// TestOpenWithin opens an archive in a folder of a store, and one that is missing.
func TestOpenWithin(t *testing.T) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "a/zarr.json"})
	if err == nil {
		_, err = f.Write([]byte("{}"))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	below := memstore.New()
	if _, err := store.Write(t.Context(), below, store.Put(store.MustKey("x.zip"), archive.Bytes()), store.Sync); err != nil {
		t.Fatal(err)
	}
	wrapped := 0
	ctx := store.WithWrapping(t.Context(), func(s store.Store) store.Store { wrapped++; return s })
	open := func(ctx context.Context, archive string) (store.Store, store.Path, error) {
		return zipstore.OpenWithin(ctx, archive, "a", func(folder string) (store.Store, error) {
			if folder != "some/folder" && folder != "" {
				t.Errorf("folder %q", folder)
			}
			return below, nil
		})
	}
	for _, archive := range []string{"some/folder/x.zip", "x.zip"} {
		s, at, err := open(ctx, archive)
		if err != nil || at.String() != "a" {
			t.Fatalf("%s: path %q, error %v", archive, at, err)
		}
		if got, _, err := s.Get(ctx, store.MustKey("a/zarr.json"), store.Request{}, nil); err != nil || string(got) != "{}" {
			t.Errorf("%s: %q (%v)", archive, got, err)
		}
	}
	if wrapped != 2 {
		t.Errorf("the store below was wrapped %d times", wrapped)
	}
	if _, _, err := open(ctx, "y.zip"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing archive: %v", err)
	}
}
