// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
)

// TestStoppedCopy stops a copy before each of its file system operations, as a kill does.
// The same copy then succeeds, whatever the first one left.
func TestStoppedCopy(t *testing.T) {
	src := memstore.New()
	spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(2)}}
	a, err := zarr.At(src, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, []int32{1, 2, 3, 4})
	}
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(0); ; n++ {
		disk := vfs.NewDisk()
		if _, err := zarr.At(fixture.FileStore(disk), "").CreateGroup(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		stop, stopped := vfs.StopAt(n)
		_, copyErr := transfer.Copy(t.Context(), zarr.At(src, "a"), zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), "b"), nil)
		if !stopped() {
			if copyErr != nil || n < 10 {
				t.Fatalf("%d operations: %v", n, copyErr)
			}
			return
		}
		to := zarr.At(fixture.FileStore(disk), "b")
		// The node is there if the first copy was stopped behind its last document.
		opt := &transfer.Options{Overwrite: false}
		if there, err := to.Root().At("b").OpenArray(t.Context(), nil); err == nil {
			opt.Overwrite = true
			there.Close()
		}
		if _, err := transfer.Copy(t.Context(), zarr.At(src, "a"), to, opt); err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
		b, err := to.Root().At("b").OpenArray(t.Context(), nil)
		if err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
		if got, err := zarr.Read[int32](t.Context(), b, nil); err != nil || !slices.Equal(got.Data, []int32{1, 2, 3, 4}) {
			t.Fatalf("operation %d: %v, %v", n, got, err)
		}
	}
}
