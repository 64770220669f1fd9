// SPDX-License-Identifier: Apache-2.0

package memstore_test

import (
	"encoding/binary"
	"sync"
	"testing"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// TestCloneWhilePatched clones a value that another writer patches all the time. The
// version that a clone tells of its source is that of its bytes: a rechunk finds out
// by it that a chunk has changed since it was copied.
func TestCloneWhilePatched(t *testing.T) {
	const patches = 20_000
	s, source, key := memtest.New(), store.MustKey("a"), store.MustKey("b")
	first, err := store.Write(t.Context(), s, store.Put(source, make([]byte, 8)), store.Flush)
	if err != nil {
		t.Fatal(err)
	}
	v := first.Version
	number := map[store.Version]uint64{v: 0}
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		defer close(done)
		for n := range uint64(patches) {
			data := binary.LittleEndian.AppendUint64(nil, n+1)
			next, err := store.Write(t.Context(), s, store.PatchValue(source, v, []store.Patch{{Data: data}}), store.Flush)
			if err != nil {
				t.Error(err)
				return
			}
			v = next.Version
			number[v] = n + 1
		}
	})
	type clone struct {
		of     store.Version
		number uint64
	}
	var clones []clone
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		made, err := store.Write(t.Context(), s, store.Clone(key, source, store.Version{}), store.Flush)
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := s.Get(t.Context(), key, store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		clones = append(clones, clone{made.Source, binary.LittleEndian.Uint64(data)})
	}
	group.Wait()
	for _, c := range clones {
		if want, known := number[c.of]; c.number != want || !known {
			t.Fatalf("a clone of version %v is %d, want %d (known: %t)", c.of, c.number, want, known)
		}
	}
}
