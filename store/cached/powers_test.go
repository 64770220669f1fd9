// SPDX-License-Identifier: Apache-2.0

package cached_test

import (
	"fmt"
	"io"
	"testing"
	"testing/fstest"

	"varve.dev/zarr/internal/test/filetest"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/cached"
	"varve.dev/zarr/store/fsstore"
)

// hasPower reports whether a store has a power.
func hasPower[P any](s store.Store) bool {
	_, ok := store.As[P](s)
	return ok
}

// powers returns which powers a store has.
func powers(s store.Store) string {
	var can []bool
	for op := range store.OpClone + 1 {
		can = append(can, store.Can(s, op))
	}
	return fmt.Sprint(can, hasPower[store.Writer](s), hasPower[store.Batcher](s), hasPower[store.TreeDeleter](s), hasPower[store.Lister](s), hasPower[store.Stater](s), hasPower[store.Opener](s),
		hasPower[store.Locker](s), hasPower[store.Describer](s), hasPower[store.Drafter](s), hasPower[io.Closer](s))
}

// TestPowers checks that a cached store has the powers of the store below.
func TestPowers(t *testing.T) {
	disk := filetest.On(vfs.NewDisk())
	defer disk.Close()
	for _, s := range []store.Store{
		disk, memtest.New(), fsstore.New(fstest.MapFS{}), stepping.Conditional(memtest.New(), stepping.Hooks{}),
	} {
		c := cached.New(s, cached.InMemory(1<<20), nil)
		if got, want := powers(c), powers(s); got != want {
			t.Errorf("%T: the powers are %s, without a cache %s", s, got, want)
		}
		if fmt.Sprintf("%T", store.Driver(c)) != fmt.Sprintf("%T", s) {
			t.Errorf("%T: the wrapper or the driver is not found", s)
		}
	}
}
