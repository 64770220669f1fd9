package publish_test

import (
	"errors"
	"fmt"
	"testing"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memory"
)

// manyArrays makes a group with so many arrays, and one in a group below.
func manyArrays(t *testing.T, n int) (*memory.Store, publish.Node) {
	t.Helper()
	s := memory.New()
	put := func(key, text string) {
		k, err := store.ParseKey(key)
		if err == nil {
			_, err = store.Put(t.Context(), s, k, []byte(text), store.Flush)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("g/zarr.json", `{"node_type": "group"}`)
	put("g/deep/zarr.json", `{"node_type": "group"}`)
	put("g/deep/a/zarr.json", `{"node_type": "array"}`)
	put("g/z/.zarray", `{}`)
	for i := range n {
		put(fmt.Sprintf("g/a%04d/zarr.json", i), `{"node_type": "array"}`)
		put(fmt.Sprintf("g/a%04d/c/0", i), "chunk")
	}
	return s, publish.Node{Store: s, Path: at(t, "g"), Document: "zarr.json", Locking: store.Locking{Timeout: -1}}
}

// count returns how many values there are.
func count(t *testing.T, s store.Store) (n int) {
	t.Helper()
	for _, err := range store.List(t.Context(), s, store.Path{}, true) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// TestRemoveBelowLocks sees that a group stays whole while somebody holds a node below it, and goes after that.
func TestRemoveBelowLocks(t *testing.T) {
	for _, held := range []string{"g", "g/deep", "g/deep/a", "g/z", "g/a0000", "g/a1099"} {
		s, n := manyArrays(t, 1100)
		before := count(t, s)
		unlock, err := s.Lock(t.Context(), at(t, held))
		if err != nil {
			t.Fatal(err)
		}
		for name, remove := range map[string]func() error{
			"Remove":    func() error { _, err := publish.Remove(t.Context(), n, nil); return err },
			"Removable": func() error { return publish.Removable(t.Context(), n) },
		} {
			if err := remove(); !errors.Is(err, store.ErrLocked) || count(t, s) != before {
				t.Errorf("%s while %s is held: %v, %d of %d values", name, held, err, count(t, s), before)
			}
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
		if _, err := publish.Remove(t.Context(), n, nil); err != nil || count(t, s) != 0 {
			t.Errorf("afterwards: %v, %d values", err, count(t, s))
		}
		for _, p := range []string{"g", "g/deep/a", "g/a0000"} {
			unlock, err := store.Lock(store.WithLocking(t.Context(), n.Locking), s, at(t, p))
			if err != nil {
				t.Fatalf("%s is still locked: %v", p, err)
			}
			_ = unlock()
		}
	}
}
