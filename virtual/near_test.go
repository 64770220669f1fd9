// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// TestNear opens all values of a manifest. It is near if its references lead to local
// files only, and then its values can be read in parts.
func TestNear(t *testing.T) {
	from, to := copied(t, "nc3_classic.nc"), t.TempDir()
	root, file := stored(t, to, alone(t, filepath.Join(to, "made.vz"), filepath.Join(from, "nc3_classic.nc"))), filepath.Join(from, "nc3_classic.nc")
	s, _, err := store.OpenLocation(virtual.WithAllowed(t.Context(), from, "https://host/files"), root, store.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	if _, near := store.As[store.Opener](s); near {
		t.Error("references may lead afar, and the store is near")
	}
	s, _, err = store.OpenLocation(virtual.WithAllowed(t.Context(), from), root, store.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	opener, near := store.As[store.Opener](s)
	if !near {
		t.Fatal("all references are local, and the store is not near")
	}
	var keys []store.Key
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, store.MustKey(e.Name))
	}
	for _, key := range keys {
		whole, info, err := s.Get(t.Context(), key, store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := opener.Open(t.Context(), key)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		part, err := o.Read(t.Context(), store.Request{Range: store.Span(1, int64(len(whole))-1)}, []byte("before"))
		if err != nil || !bytes.Equal(part, append([]byte("before"), whole[1:]...)) || !o.Info().Same(info) {
			t.Errorf("%s: %d bytes of %v, want those of %v (%v)", key, len(part), o.Info(), info, err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, key := range keys {
		o, err := opener.Open(t.Context(), key)
		if err == nil {
			err = o.Close()
		} else if errors.Is(err, zarr.ErrSourceChanged) {
			changed, err = changed+1, nil
		}
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if changed == 0 {
		t.Error("no chunk is of the file")
	}
}
