// SPDX-License-Identifier: Apache-2.0

package memstore_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memtest.New() })
}

func TestWithoutTesting(t *testing.T) {
	if err := storetest.Test(func() (store.Store, error) { return memtest.New(), nil }); err != nil {
		t.Error(err)
	}
}

// TestValueAndDirectory stores a value at a key that has other keys below it, which no
// file system can.
func TestValueAndDirectory(t *testing.T) {
	s, ctx := memtest.New(), t.Context()
	for _, name := range []string{"c", "c/0", "c/0/1"} {
		if _, err := store.Write(ctx, s, store.Put(store.MustKey(name), []byte(name)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Write(ctx, s, store.Delete(store.MustKey("c/0")), store.Sync); err != nil {
		t.Fatal(err)
	}
	var got []string
	for e, err := range store.List(ctx, s, store.Path{}, store.Flat) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(e.Name, e.Dir, e.Size))
	}
	if len(got) != 2 {
		t.Errorf("flat listing is %q, want the value c and the directory c", got)
	}
	if _, err := store.Stat(ctx, s, store.MustKey("c/0/1")); err != nil {
		t.Error(err)
	}
}

func TestGetDoesNotAllocate(t *testing.T) {
	s, key := filled(t, 1000)
	buf := make([]byte, 0, 400)
	if n := testing.AllocsPerRun(100, func() { buf, _, _ = s.Get(t.Context(), key, store.Request{}, buf[:0]) }); n > 0 {
		t.Errorf("Get with a large enough buffer makes %v allocations, want 0", n)
	}
}

func filled(tb testing.TB, n int) (memtest.Store, store.Key) {
	s := memtest.New()
	for i := range n {
		if _, err := store.Write(tb.Context(), s, store.Put(chunk(i), make([]byte, 400)), store.Flush); err != nil {
			tb.Fatal(err)
		}
	}
	return s, chunk(n / 2)
}

func chunk(i int) store.Key { return store.MustKey(fmt.Sprintf("t2m/c/%d/%d", i/100, i%100)) }

func BenchmarkGet(b *testing.B) {
	s, key := filled(b, 10_000)
	ctx, buf := context.Background(), make([]byte, 0, 400)
	b.ReportAllocs()
	for b.Loop() {
		buf, _, _ = s.Get(ctx, key, store.Request{}, buf[:0])
	}
}

// BenchmarkListEvery lists every directory of 10,000 keys flatly.
func BenchmarkListEvery(b *testing.B) {
	s, _ := filled(b, 10_000)
	dir, err := store.ParsePath("t2m/c")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for e := range s.List(b.Context(), dir, store.Flat) {
			below, _ := dir.Join(e.Name)
			for range s.List(b.Context(), below, store.Flat) {
			}
		}
	}
}

func Example() {
	ctx, s := context.Background(), memstore.New()
	if _, err := store.Write(ctx, s, store.Put(store.MustKey("zarr.json"), []byte("{}")), store.Sync); err != nil {
		fmt.Println(err)
	}
	value, info, err := s.Get(ctx, store.MustKey("zarr.json"), store.Request{}, nil)
	fmt.Printf("%s %d %v\n", value, info.Size, err)
	// Output: {} 2 <nil>
}
