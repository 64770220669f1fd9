// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"net/http"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/s3/s3test"
	"varve.dev/zarr/transfer"
)

// TestSync makes nodes of buckets equal to others: from memory, within the service and
// back. It counts the requests: finding out what differs takes none for each value.
func TestSync(t *testing.T) {
	var mu sync.Mutex
	methods := map[string]int{}
	service := s3test.Fake(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			methods[r.Method]++
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	})
	memory, back := memstore.New(), memstore.New()
	spec := zarr.Spec{Shape: []int64{400}, Type: dtype.Int32, Chunks: grid.Chunks(2)}
	src := zarr.At(memory, "g")
	if _, err := src.CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	a, err := src.At("a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]int32, 400)
	for i := range v {
		v[i] = int32(i + 1)
	}
	if err := zarr.Write(t.Context(), a, nil, v); err != nil {
		t.Fatal(err)
	}
	// The service of the test ignores conditions, so say that there is no other writer.
	opt := &transfer.SyncOptions{Options: zarr.Options{SingleWriter: true}, Checksum: true, Delete: true}
	bucket := service.Bucket(t)
	far := zarr.At(service.Open(t, bucket, "one"), "x")
	other := zarr.At(service.Open(t, bucket, "two"), "")
	for round := range 2 {
		for _, c := range []struct{ from, to *zarr.Location }{{src, far}, {far, other}, {other, zarr.At(back, "y")}} {
			clear(methods)
			r, err := transfer.Sync(t.Context(), c.from, c.to, opt)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("round %d, %s: %+v, %v", round, c.to, r, methods)
			if want := []int64{200, 1}[round]; r.New != want || r.Replaced != 0 {
				t.Errorf("%d new and %d others, want %d", r.New, r.Replaced, want)
			}
			b, err := c.to.At("a").OpenArray(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if d, err := zarr.Compare(t.Context(), a, b); d != nil || err != nil {
				t.Fatal(d, err)
			}
		}
		if err := zarr.Append(t.Context(), a, 0, []int32{1, 2}, nil); err != nil {
			t.Fatal(err)
		}
	}
	// Without a change, and by times, of which these are too young.
	opt.Checksum = false
	if _, err := store.Write(t.Context(), memory, store.Delete(store.MustKey("g/a/c/0")), store.Sync); err != nil {
		t.Fatal(err)
	}
	clear(methods)
	r, err := transfer.Sync(t.Context(), src, far, opt)
	if err != nil || r.Cleared != 1 || r.Replaced != 200 || r.New != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if n := methods["GET"] + methods["HEAD"]; n > 20 {
		t.Errorf("%d requests to find out what there is: %v", n, methods)
	}
}
