// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestDamagedClaim damages the claim of a rechunk that has stored some of its chunks.
// Every call names the claim and Abandon, which deletes it. After that the array can be
// rechunked, and nothing that was staged is taken for a chunk.
func TestDamagedClaim(t *testing.T) {
	for _, damaged := range []string{"", "{", `{"id": "aaaaaaaa`, "[]", `{"id": "../../../x"}`, "\x00\x00\x00"} {
		s := memstore.New()
		a, err := zarr.At(s, "a").CreateArray(t.Context(), zarr.Spec{Shape: []int64{6}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(2)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []int32{1, 2, 3, 4, 5, 6}
		if err := zarr.Write(t.Context(), a, nil, want); err != nil {
			t.Fatal(err)
		}
		fixture.Put(t, s, "a/__varve/regrid.json", damaged)
		fixture.Put(t, s, "a/0", "staged")
		ask := rechunk.Rechunking{Chunks: []grid.Cut{grid.Every(3)}}
		for name, call := range map[string]func() error{
			"plan": func() error { _, err := rechunk.NewPlan(t.Context(), a, ask, nil); return err },
			"do":   func() error { _, err := rechunk.Do(t.Context(), a, ask, nil); return err },
			"vacuum": func() error {
				_, err := rechunk.Vacuum(t.Context(), a, nil)
				return err
			},
			"revert":  func() error { return rechunk.Revert(t.Context(), a) },
			"inspect": func() error { _, err := rechunk.Inspect(t.Context(), a); return err },
		} {
			if err := call(); !errors.Is(err, zarr.ErrInvalidMetadata) || !strings.Contains(err.Error(), "a/__varve/regrid.json is damaged") || !strings.Contains(err.Error(), "rechunk.Abandon gives up that rechunk") {
				t.Errorf("%q: %s: %v", damaged, name, err)
			}
		}
		for range 2 {
			if err := rechunk.Abandon(t.Context(), a, nil); err != nil {
				t.Fatalf("%q: %v", damaged, err)
			}
		}
		if _, err := rechunk.Do(t.Context(), a, ask, nil); err != nil {
			t.Fatalf("%q: %v", damaged, err)
		}
		got, err := zarr.Read[int32](t.Context(), a, nil)
		if err != nil || !slices.Equal(got.Data, want) {
			t.Errorf("%q: %v, %v", damaged, got.Data, err)
		}
		if _, _, err := s.Get(t.Context(), store.MustKey("a/0"), store.Request{}, nil); err != nil {
			t.Errorf("%q: what nobody knows is gone: %v", damaged, err)
		}
	}
}
