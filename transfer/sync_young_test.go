// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
)

// young syncs an array of four chunks again and again.
type young struct {
	*testing.T
	from, to store.Store
}

// sync syncs and checks what was counted, and that both nodes have the same values then.
func (y *young) sync(opt *transfer.SyncOptions, added, replaced, again, kept int64) {
	y.Helper()
	time.Sleep(time.Millisecond)
	r, err := transfer.Sync(y.Context(), zarr.At(y.from, "a"), zarr.At(y.to, "b"), opt)
	if err != nil || r.New != added || r.Replaced != replaced || r.Again != again || r.Kept != kept {
		y.Fatalf("%+v, want %d new, %d replaced, %d again, %d kept (%v)", r, added, replaced, again, kept, err)
	}
	if opt != nil && opt.DryRun {
		return
	}
	if d := trees.Differ(trees.Values(y, y.from, "a"), trees.Values(y, y.to, "b")); d != "" {
		y.Fatal(d)
	}
}

// TestSyncYoung syncs values that were written less than the slack before they were
// copied. Between folders their bytes are compared, once. Elsewhere they are copied once
// more, and counted so.
func TestSyncYoung(t *testing.T) {
	stores := map[string]func(vfs.FS) store.Store{
		"folder": func(f vfs.FS) store.Store { return fixture.FileStore(f) },
		"memory": func(vfs.FS) store.Store { return memstore.New() },
	}
	for name, kinds := range map[string][2]string{
		"folders": {"folder", "folder"}, "from a folder": {"folder", "memory"}, "to a folder": {"memory", "folder"}, "memory": {"memory", "memory"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var read atomic.Int64 // chunks of the destination
				disk := vfs.NewDisk()
				hook := vfs.Hook(disk, func(op vfs.Op) error {
					if op.Kind == "open" && strings.HasPrefix(op.Name, "b/c/") {
						read.Add(1)
					}
					return nil
				})
				y := &young{t, stores[kinds[0]](disk), stores[kinds[1]](hook)}
				again := int64(4)
				if name == "folders" {
					again = 0
				}
				a := trees.Numbered(t, zarr.At(y.from, "a"), 8)
				y.sync(nil, 4, 0, 0, 0)
				y.sync(&transfer.SyncOptions{DryRun: true}, 0, again, again, 4-again)
				y.sync(nil, 0, again, again, 4-again)
				// A change of the same size is none of them.
				time.Sleep(time.Second)
				if err := zarr.Write(t.Context(), a, selection.Box{{2, 4}}, []int32{-7, -8}); err != nil {
					t.Fatal(err)
				}
				y.sync(nil, 0, 1+max(0, again-1), max(0, again-1), 3-max(0, again-1))
				// Once the source is old enough, this happens once more.
				time.Sleep(2 * transfer.SyncSlack)
				y.sync(nil, 0, again, again, 4-again)
				read.Store(0)
				y.sync(nil, 0, 0, 0, 4)
				if n := read.Load(); n > 4 { // those of values, which compares both sides
					t.Errorf("%d chunks of the destination were opened", n)
				}
			})
		})
	}
}

// TestSyncStale syncs a folder with a value that looks like a copy made soon after the
// write of its source, and is not: the source was written while it was copied.
func TestSyncStale(t *testing.T) {
	for _, later := range []time.Duration{0, transfer.SyncSlack / 2, 2 * transfer.SyncSlack} {
		synctest.Test(t, func(t *testing.T) {
			disk := fixture.FileStore(vfs.NewDisk())
			y := &young{t, disk, disk}
			a := trees.Numbered(t, zarr.At(y.from, "a"), 8)
			y.sync(nil, 4, 0, 0, 0)
			if err := zarr.Write(t.Context(), a, selection.Box{{2, 4}}, []int32{-7, -8}); err != nil {
				t.Fatal(err)
			}
			touch := store.Driver(y.to).(interface {
				Touch(ctx context.Context, key store.Key) error
			})
			time.Sleep(time.Nanosecond)
			if err := touch.Touch(t.Context(), store.MustKey("b/c/1")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(later)
			y.sync(nil, 0, 1, 0, 3)
		})
	}
}
