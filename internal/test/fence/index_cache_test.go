// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// TestKnownIndexLacksInner reads an inner chunk that the cached index lacks, after
// another writer has stored it. What an index lacks needs no range request, so the
// reader must check whether the shard still has the cached version.
func TestKnownIndexLacksInner(t *testing.T) {
	p := newPinned(t, pinSpec(true, true), zarr.Shards{Gap: -1})
	p.write(t, 0, 1, 1, zarr.Shards{})
	read := func() []int32 {
		t.Helper()
		return fixture.Must(zarr.Read[int32](t.Context(), p.reader, selection.Box{{56, 64}})).Data
	}
	for range 2 { // the second read uses the cached index
		if got := read(); !slices.Equal(got, make([]int32, 8)) {
			t.Fatalf("read %v before anything is stored", got)
		}
	}
	p.write(t, 7, 8, 50, zarr.Shards{})
	if got := read(); !slices.Equal(got, fixture.Numbers(50, 8)) {
		t.Errorf("read %v, want the elements of the other writer", got)
	}
}

// TestIndexAfterWrite counts requests after a write by the array that has cached the
// index. The write drops the stale index, so no request is wasted on it.
func TestIndexAfterWrite(t *testing.T) {
	reads := 0
	s := stepping.Conditional(memtest.New(), stepping.Hooks{After: func(op stepping.Op, err error) error {
		if op.Name == "Get" && op.Key == store.MustKey("a/c/0") {
			reads++
		}
		return err
	}})
	opt := zarr.Options{Write: true, Shards: zarr.Shards{Gap: -1, Strategy: codec.Append}}
	a := fixture.Must(zarr.At(s, "a").CreateArray(t.Context(), pinSpec(true, true), &zarr.CreateOptions{Options: opt}))
	if err := zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 64)); err != nil {
		t.Fatal(err)
	}
	read := func() int {
		t.Helper()
		reads = 0
		fixture.Must(zarr.Read[int32](t.Context(), a, selection.Box{{8, 9}}))
		return reads
	}
	first, known := read(), read()
	if err := zarr.Write(t.Context(), a, selection.Box{{0, 8}}, fixture.Numbers(100, 8)); err != nil {
		t.Fatal(err)
	}
	if after := read(); after != first || known > first {
		t.Errorf("%d requests at first, %d with a cached index, %d after a write; want the last to equal the first", first, known, after)
	}
}
