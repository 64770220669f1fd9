// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/gcs/gcstest"
)

// TestAppends appends to one array from several writers, through a service that loses
// answers and throttles. Each append is there once, or failed with an unknown outcome.
func TestAppends(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	t.Setenv("STORAGE_EMULATOR_HOST", endpoint)
	ctx, location := t.Context(), "gs://bucket/data/a.zarr"
	spec := zarr.Spec{Shape: []int64{0}, Chunks: grid.Chunks(3), Type: dtype.Int32}
	if _, err := zarr.CreateArray(ctx, location, spec, nil); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		mu.Lock()
		defer mu.Unlock()
		switch n := random.IntN(100); {
		case n < 4:
			return lossy{httptest.NewRecorder(), w}, false
		case n < 6:
			gcstest.Fail(w, http.StatusServiceUnavailable, "try again")
			return w, true
		}
		return w, false
	})
	const writers, appends = 4, 10
	sure := map[int32]bool{} // by value
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range appends {
				value := int32(1 + i*appends + j)
				a, err := zarr.OpenArray(ctx, location, &zarr.Options{Write: true})
				if err == nil {
					err = zarr.Append(ctx, a, 0, []int32{value}, nil)
				}
				mu.Lock()
				sure[value] = err == nil
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	f.On(nil)
	a, err := zarr.OpenArray(ctx, location, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](ctx, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[int32]int{}
	for _, v := range got.Data {
		found[v]++
	}
	for v := range int32(writers * appends) {
		if n := found[v+1]; n > 1 || n == 0 && sure[v+1] {
			t.Errorf("value %d is there %d times, acknowledged: %t", v+1, n, sure[v+1])
		}
	}
	if len(got.Data) < len(sure)/2 {
		t.Errorf("most appends failed")
	}
	t.Logf("%d values of %d", len(got.Data), len(sure))
}
