// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
	"varve.dev/zarr/test/fixture"
)

// TestRepairUnlisted fails each listing of a repair, one after the other. The error is
// that of the listing: nobody takes what was not looked at for sound.
func TestRepairUnlisted(t *testing.T) {
	ctx, failed := context.Background(), errors.New("no listing")
	for _, consolidated := range []bool{true, false} {
		for n, whole := 1, false; !whole; n++ {
			s, _ := pair(t)
			if !consolidated {
				s = memstore.New()
				fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, nil))
			}
			fixture.Must(zarr.At(s, "below").CreateGroup(ctx, nil, nil))
			listings := 0
			h := storetest.Conditional(s, storetest.Hooks{Before: func(_ context.Context, op storetest.Op) error {
				if op.Name != "List" {
					return nil
				}
				if listings++; listings == n {
					return failed
				}
				return nil
			}})
			_, err := check.Repair(ctx, zarr.At(h, ""), &check.RepairOptions{Shards: true})
			if whole = listings < n; whole != (err == nil) || !whole && !errors.Is(err, failed) {
				t.Errorf("consolidated %t, listing %d of %d: %v", consolidated, n, listings, err)
			}
			if whole && n < 3 {
				t.Errorf("consolidated %t: %d listings", consolidated, listings)
			}
		}
	}
}

// TestRepairUnlistable restores the index of a shard in a store that cannot list, and has
// consolidated metadata.
func TestRepairUnlistable(t *testing.T) {
	ctx, s := context.Background(), sharded(t)
	g := fixture.Must(zarr.At(s, "").OpenGroup(ctx, &zarr.Options{Write: true}))
	if err := g.Consolidate(ctx); err != nil {
		t.Fatal(err)
	}
	before := value(t, s, "fixed/c/1")
	spoil(t, s, "fixed/c/1", func(b []byte) []byte {
		b[len(b)-20] ^= 1
		return b
	})
	h := storetest.Conditional(s, storetest.Hooks{Before: func(_ context.Context, op storetest.Op) error {
		if op.Name == "List" {
			return store.ErrUnsupported
		}
		return nil
	}})
	done, err := check.Repair(ctx, zarr.At(h, ""), &check.RepairOptions{Shards: true})
	if err != nil || len(done) != 1 || done[0].Err != nil || !bytes.Equal(value(t, s, "fixed/c/1"), before) {
		t.Errorf("%+v, %v", done, err)
	}
}
