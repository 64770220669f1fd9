// SPDX-License-Identifier: Apache-2.0

package statistics_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// TestInStep makes entries first, and then compares them with the elements after each of
// many changes, whose writers keep them in step.
func TestInStep(t *testing.T) {
	ctx := t.Context()
	known, stored, partly := map[string]int{}, map[string]int{}, map[string]int{}
	for seed := range uint64(120) {
		var s store.Store = memstore.New()
		if seed%4 == 0 {
			var err error
			if s, err = filestore.Open(t.TempDir(), nil); err != nil {
				t.Fatal(err)
			}
		}
		h := &history{rand.New(rand.NewPCG(seed, 7)), zarr.At(s, "a")}
		if err := h.create(ctx); err != nil {
			t.Fatal(err)
		}
		var steps []string
		for range 14 {
			if _, err := remake(ctx, h.at, nil); err != nil {
				t.Fatal(err)
			}
			what, err := h.step(ctx)
			if errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, zarr.ErrUnsupported) {
				continue // such as shards that inner chunks do not divide
			}
			steps = append(steps, what)
			if err != nil {
				t.Fatalf("seed %d: %v: %v", seed, steps, err)
			}
			k, n, err := compare(ctx, h.at)
			if err != nil {
				t.Fatalf("seed %d: %v: %v", seed, steps, err)
			}
			known[what], stored[what] = known[what]+k, stored[what]+n
			if k < n {
				partly[what]++
				if what == "write" || what == "append" {
					t.Logf("seed %d: %v: %d of %d", seed, steps, k, n)
				}
			}
		}
	}
	for what := range known {
		t.Logf("%s: %d of %d known, partly %d times", what, known[what], stored[what], partly[what])
	}
}
