// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// manyArrays makes a group with the given number of arrays, and one in a group below.
func manyArrays(t *testing.T, n int) (*memstore.Store, publish.Node) {
	t.Helper()
	s := memstore.New()
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

// count returns the number of values.
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

// TestRemoveBelowLocks checks that a group stays whole while a node below it is locked,
// and is removed after that.
func TestRemoveBelowLocks(t *testing.T) {
	for _, held := range []string{"g", "g/deep", "g/deep/a", "g/z", "g/a0000", "g/a1099"} {
		s, n := manyArrays(t, 1100)
		before := count(t, s)
		unlock, err := s.Lock(t.Context(), at(t, held))
		if err != nil {
			t.Fatal(err)
		}
		for name, remove := range map[string]func() error{
			"Remove":    func() error { return publish.Remove(t.Context(), n, nil) },
			"Removable": func() error { return publish.CheckRemovable(t.Context(), n) },
		} {
			if err := remove(); !errors.Is(err, store.ErrLocked) || count(t, s) != before {
				t.Errorf("%s while %s is held: %v, %d of %d values", name, held, err, count(t, s), before)
			}
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
		if err := publish.Remove(t.Context(), n, nil); err != nil || count(t, s) != 0 {
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

// mounted is a store in which directories have second names that are not links.
type mounted struct {
	*memstore.Store
	names map[string]string
}

type directory string

func (d directory) Same(o store.Identity) bool { return d == o }

func (m mounted) Resolve(dir store.Path) (store.Path, error) { return dir, nil }

func (m mounted) Links(context.Context, store.Path) iter.Seq2[store.Link, error] {
	return func(func(store.Link, error) bool) {}
}

func (m mounted) Identify(dir store.Path) (store.Identity, error) {
	return directory(cmp.Or(m.names[dir.String()], dir.String())), nil
}

// TestRemoveMounted refuses to remove a group that is mounted below itself, or that has
// its parent mounted below it.
func TestRemoveMounted(t *testing.T) {
	for _, c := range []struct{ name, is, refused string }{
		{"g/deep", "g", `"/g/deep"`}, {"g/deep", "top", `"/g/deep"`}, {"g/deep/a", "g/a0000", ""}, {"g/deep", "other", ""},
	} {
		s, n := manyArrays(t, 2)
		before := count(t, s)
		n.Store = mounted{s, map[string]string{c.name: c.is, "": "top"}}
		err := publish.Remove(t.Context(), n, nil)
		if c.refused == "" && (err != nil || count(t, s) > 0) || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) || count(t, s) != before) {
			t.Errorf("%s is %q: %v, %d of %d values", c.name, c.is, err, count(t, s), before)
		}
	}
}
