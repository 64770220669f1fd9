package store_test

import (
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/observed"
)

// plainStore has no power but to read.
type plainStore struct{ store.Store }

// TestUnsupportedNames names a store that lacks a power by its kind, below all wrappers,
// and no Go type.
func TestUnsupportedNames(t *testing.T) {
	for _, s := range []store.Store{&plainStore{}, observed.New(&plainStore{}, nil)} {
		_, err := store.Put(t.Context(), s, store.MustKey("k"), nil, store.Flush)
		if !errors.Is(err, store.ErrUnsupported) || strings.ContainsAny(err.Error(), "*") || !strings.Contains(err.Error(), "the store_test store cannot write") {
			t.Error(err)
		}
	}
	if err := store.BatchPutIf(t.Context(), nil, store.MustKey("k"), nil, store.IfAbsent()); !errors.Is(err, store.ErrUnsupported) {
		t.Error(err)
	}
}
