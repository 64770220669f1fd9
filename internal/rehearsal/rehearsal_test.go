// SPDX-License-Identifier: Apache-2.0

package rehearsal_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestStore is the suite of drivers, with stores of other powers below.
func TestStore(t *testing.T) {
	for name, below := range map[string]func(t *testing.T) store.Store{
		"nothing": func(*testing.T) store.Store { return nil },
		"memory":  func(*testing.T) store.Store { return memtest.New() },
		"files": func(t *testing.T) store.Store {
			s, err := filestore.Open(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close(s) })
			return s
		},
		"object store": func(*testing.T) store.Store { return stepping.Conditional(memtest.New(), stepping.Hooks{}) },
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store { return rehearsal.New(below(t), new(rehearsal.Ledger)) })
		})
	}
}

// TestLedger checks the recorded changes, and that the store below does not change.
func TestLedger(t *testing.T) {
	ctx, below := t.Context(), memtest.New()
	put := func(s store.Store, name, value string) {
		t.Helper()
		if _, err := store.Write(ctx, s, store.Put(store.MustKey(name), []byte(value)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	put(below, "a/zarr.json", "{}")
	put(below, "a/c/0", "chunk")
	put(below, "a/c/1", "chunk")
	was := names(ctx, below)
	l := new(rehearsal.Ledger)
	s := rehearsal.New(below, l)
	put(s, "a/zarr.json", "{ }")
	put(s, "a/c/2", "new chunk")
	put(s, "a/__varve/aside/0", "for a moment")
	for _, name := range []string{"a/c/0", "a/__varve/aside/0", "a/c/7"} {
		if _, err := store.Write(ctx, s, store.Delete(store.MustKey(name)), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	want := "[{a/c/0 5 -1} {a/c/2 -1 9} {a/zarr.json 2 3}]"
	if got := fmt.Sprint(l.Changes()); got != want {
		t.Errorf("the changes are %s, want %s", got, want)
	}
	if got := names(ctx, s); got != "[a/c/1 a/c/2 a/zarr.json]" {
		t.Errorf("the rehearsal has %s", got)
	}
	if is := names(ctx, below); is != was {
		t.Errorf("the store has %s, it had %s", is, was)
	}
	if again := fmt.Sprint(names(ctx, rehearsal.New(below, l))); again != "[a/c/1 a/c/2 a/zarr.json]" {
		t.Errorf("another rehearsal of the ledger has %s", again)
	}
}

// names returns the keys of a store.
func names(ctx context.Context, s store.Store) string {
	var list []string
	for e, err := range store.List(ctx, s, store.Path{}, store.Deep) {
		if err != nil {
			return err.Error()
		}
		list = append(list, e.Name)
	}
	slices.Sort(list)
	return fmt.Sprint(list)
}
