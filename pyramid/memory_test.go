// SPDX-License-Identifier: Apache-2.0

package pyramid_test

import (
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/pyramid"
	"varve.dev/zarr/store/filestore"
)

// TestMemory makes levels of images of 16 MiB and 256 MiB, or 10 GiB with VARVE_LONG=1.
// The memory does not grow with them.
func TestMemory(t *testing.T) {
	racing.Skip(t)
	const memory, beyond = 16, 80 // MiB; beyond is what is encoded, and garbage
	sides := []int64{2048, 8192}
	if fixture.Long() {
		sides = append(sides, 51_200)
	}
	for _, side := range sides {
		s, err := filestore.Open(t.TempDir(), nil)
		check1(t, err)
		spec := zarr.Spec{Shape: []int64{side, side}, Type: dtype.Float32, Chunks: every(256, 256)}
		a, err := zarr.At(s, "g/image").CreateArray(t.Context(), spec, &zarr.CreateOptions{Options: zarr.Options{Budget: 16 << 20}})
		check1(t, err)
		check1(t, zarr.Fill(t.Context(), a, nil, float32(1.5)))
		held := fixture.HeapMiB(func() {
			plan, err := pyramid.Make(t.Context(), a, &pyramid.Options{Memory: memory << 20})
			check1(t, err)
			if plan.Memory > memory<<20 {
				t.Errorf("%d bytes are planned for a goroutine", plan.Memory)
			}
		})
		t.Logf("%d MiB: %.0f MiB were held", 4*side*side>>20, held)
		if held > memory+beyond {
			t.Errorf("%d MiB: %.0f MiB were held, want at most %d", 4*side*side>>20, held, memory+beyond)
		}
		last, err := zarr.At(s, "g/"+expected("image", 2)).OpenArray(t.Context(), nil)
		check1(t, err)
		b, err := zarr.Read[float32](t.Context(), last, nil)
		check1(t, err)
		for _, x := range b.Data {
			if x != 1.5 {
				t.Fatalf("an element is %v", x)
			}
		}
	}
}
