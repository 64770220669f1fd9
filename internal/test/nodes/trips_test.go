// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// distant is a store whose requests each take a second. In a bubble of package synctest,
// seconds count round trips, one after the other.
type distant struct {
	below    memtest.Store
	requests atomic.Int64
}

func (d *distant) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	d.requests.Add(1)
	time.Sleep(time.Second)
	return d.below.Get(ctx, key, q, dst)
}

func (d *distant) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	d.requests.Add(1)
	time.Sleep(time.Second)
	return d.below.List(ctx, dir, how)
}

// TestOpenManyArrays counts the requests and the round trips that it takes to open a
// group with all of its 1,000 arrays.
func TestOpenManyArrays(t *testing.T) {
	for format, most := range map[int]map[bool][2]int64{ // requests and round trips, by consolidation
		3: {true: {1, 1}, false: {1002, 34}},
		2: {true: {5, 3}, false: {3006, 68}},
	} {
		for _, consolidated := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				d := &distant{below: memtest.New()}
				fill(t, d.below, format, 1000)
				if consolidated {
					g, err := zarr.At(d.below, "").OpenGroup(t.Context(), &zarr.Options{Write: true})
					if err != nil {
						t.Fatal(err)
					}
					if err := g.Consolidate(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				began, n := time.Now(), 0
				g, err := zarr.At(d, "").OpenGroup(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				for m, err := range g.Members(t.Context(), true) {
					if err != nil || m.Err != nil || m.Kind != "array" {
						t.Fatalf("%+v, error %v", m, err)
					}
					n++
				}
				trips := int64(time.Since(began) / time.Second)
				if want := most[consolidated]; n != 1000 || d.requests.Load() > want[0] || trips > want[1] {
					t.Errorf("format %d, consolidated %v: %d arrays by %d requests in %d round trips, want %v",
						format, consolidated, n, d.requests.Load(), trips, want)
				}
			})
		}
	}
}

// fill makes a group of n equal arrays.
func fill(t *testing.T, m memtest.Store, format, n int) {
	t.Helper()
	g, err := zarr.At(m, "").CreateGroup(t.Context(), nil, &zarr.CreateOptions{Format: format})
	if err == nil {
		_, err = g.At("a0").CreateArray(t.Context(), zarr.Spec{Shape: []int64{10}, Type: dtype.Int32}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir, err := store.ParsePath("a0")
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range m.List(t.Context(), dir, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		text, _, err := m.Get(t.Context(), store.MustKey("a0/"+e.Name), store.Request{}, nil)
		for i := 1; i < n && err == nil; i++ {
			_, err = m.Write(t.Context(), store.Put(store.MustKey(fmt.Sprintf("a%d/%s", i, e.Name)), text), store.Flush)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
