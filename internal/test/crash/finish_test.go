// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// crashingAt returns a store over m whose program crashes before its write with the
// given number, counted from 0. crashed reports whether it has crashed.
func crashingAt(m memtest.Store, number int) (s store.Store, crashed func() bool) {
	var mu sync.Mutex // chunks are moved concurrently
	dead := false
	s = stepping.Conditional(m, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if !dead && (strings.HasPrefix(op.Name, "Put") || strings.HasPrefix(op.Name, "Delete")) {
			dead = number == 0
			number--
		}
		if dead {
			return errors.New("it has crashed")
		}
		return nil
	}})
	return s, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return dead
	}
}

// valuesOf returns all values of a store by key.
func valuesOf(t *testing.T, m memtest.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for e, err := range store.List(t.Context(), m, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := m.Get(t.Context(), store.MustKey(e.Name), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name] = string(data)
	}
	return all
}

// cutBy creates an array of two rows of chunks, and trims its last chunks by a program
// that crashes before its write with the given number. It returns the store, and whether
// the program crashed.
func cutBy(t *testing.T, inner []grid.Cut, number int) (memtest.Store, bool) {
	t.Helper()
	m := memtest.New()
	spec := zarr.Spec{
		Shape: []int64{16, 3}, Type: dtype.Int32, Codecs: fixture.Plain(), Chunks: []grid.Cut{grid.Edges(8, 8), grid.Edges(1, 1, 1)}, InnerChunks: inner,
	}
	a, err := zarr.At(m, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 48))
	}
	if err != nil {
		t.Fatal(err)
	}
	s, crashed := crashingAt(m, number)
	b, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Resize(t.Context(), []int64{14, 3}, &zarr.ResizeOptions{Shrink: grid.TrimExact}); (err != nil) != crashed() {
		t.Fatal(err)
	}
	return m, crashed()
}

// TestFinish trims chunks by a program that crashes before each of its writes in turn.
// Opening for reading gives the right elements and changes nothing. With Options.Finish
// it completes the change, and then every chunk has its published shape. If it cannot
// complete it, reading still works.
func TestFinish(t *testing.T) {
	for name, inner := range map[string][]grid.Cut{"chunks": nil, "shards": {grid.Every(2), grid.Every(1)}} {
		t.Run(name, func(t *testing.T) {
			damaged, n := 0, 0
			for ; ; n++ {
				m, crashed := cutBy(t, inner, n)
				if !crashed {
					break
				}
				left := valuesOf(t, m)
				want := finishedAs(t, m, nil)
				finishedAs(t, struct {
					store.Store
					store.Lister
				}{m, m}, &zarr.Options{Finish: true})
				unlock, err := store.Lock(t.Context(), m, mustPath("a"))
				if err != nil {
					t.Fatal(err)
				}
				finishedAs(t, m, &zarr.Options{Finish: true})
				if err := unlock(); err != nil {
					t.Fatal(err)
				}
				if now := valuesOf(t, m); !maps.Equal(now, left) {
					t.Fatalf("write %d: reading changed what is stored", n)
				}
				damaged += faultsOf(t, m)
				if got := finishedAs(t, m, &zarr.Options{Finish: true}); !slices.Equal(got, want) || faultsOf(t, m) > 0 {
					t.Errorf("write %d: %v, want %v; %d chunks do not decode", n, got, want, faultsOf(t, m))
				}
				for key := range valuesOf(t, m) {
					if strings.Contains(key, "__varve/aside") {
						t.Errorf("write %d: %s is left", n, key)
					}
				}
			}
			if damaged == 0 || n < 8 {
				t.Errorf("%d crashes left %d chunks that do not decode", n, damaged)
			}
		})
	}
}

// finishedAs opens the array "a" and returns its elements.
func finishedAs(t *testing.T, s store.Store, opt *zarr.Options) []int32 {
	t.Helper()
	a, err := zarr.At(s, "a").OpenArray(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil || !slices.Equal(got.Data, fixture.Numbers(1, int32(len(got.Data)))) || len(got.Data) < 42 {
		t.Fatalf("%v, %v", got, err)
	}
	return got.Data
}

// faultsOf returns the number of chunks of the array "a" that do not decode in other
// programs.
func faultsOf(t *testing.T, s store.Store) (n int) {
	t.Helper()
	a, err := zarr.At(s, "a").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range a.CheckShards(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// mustPath parses a path.
func mustPath(text string) store.Path { return fixture.Must(store.ParsePath(text)) }
