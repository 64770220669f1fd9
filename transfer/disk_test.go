// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
	"varve.dev/zarr/transfer"
)

// TestFullDisk checks that copies and conversions report the full disk, and not the
// cancellation of the other goroutines.
func TestFullDisk(t *testing.T) {
	src := memstore.New()
	trees.Tree(t, src, "x")
	for i := range 300 { // a listing that is still under way then
		if _, err := store.Put(t.Context(), src, store.MustKey(fmt.Sprintf("x/a/tables/c/%d", i+100)), []byte("chunk"), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 60 {
		var puts atomic.Int64
		full := storetest.Conditional(memstore.New(), storetest.Hooks{Before: func(_ context.Context, op storetest.Op) error {
			if strings.Contains(op.Key.String(), "/c/") && puts.Add(1) > int64(round) && strings.HasPrefix(op.Name, "Put") {
				return syscall.ENOSPC
			}
			return nil
		}})
		_, copyErr := transfer.Copy(t.Context(), zarr.At(src, "x"), zarr.At(full, "y"), &transfer.Options{})
		puts.Store(0)
		_, convertErr := convert.ConvertTo(t.Context(), zarr.At(src, "x"), zarr.At(full, "z"), 3, nil)
		for _, err := range []error{copyErr, convertErr} {
			if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, context.Canceled) || zarr.KindOf(err) != "no-space" {
				t.Fatalf("round %d: %v (%s)", round, err, zarr.KindOf(err))
			}
		}
		if begun, err := transfer.Unfinished(t.Context(), zarr.At(full, "y")); !begun || err != nil {
			t.Fatalf("round %d: the copy is begun: %v (%v)", round, begun, err)
		}
	}
}
