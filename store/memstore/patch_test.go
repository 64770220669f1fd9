// SPDX-License-Identifier: Apache-2.0

package memstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestPatchCopiesNothing patches a value of 32 MiB without copying it.
func TestPatchCopiesNothing(t *testing.T) {
	const size, patches = 32 << 20, 100
	s, ctx, key := memtest.New(), t.Context(), store.MustKey("k")
	v, err := store.Write(ctx, s, store.Put(key, make([]byte, size)), store.Flush)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range patches {
		if v, err = store.Write(ctx, s, store.PatchValue(key, v.Version, []store.Patch{{Off: int64(i), Data: []byte("x")}, {Off: size - 1, Data: []byte("y")}}), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > size/2 {
		t.Errorf("%d patches allocate %d bytes", patches, n)
	}
	got, _, err := s.Get(ctx, key, store.Request{Range: store.Span(0, patches+1)}, nil)
	if want := append(bytes.Repeat([]byte("x"), patches), 0); !bytes.Equal(got, want) || err != nil {
		t.Errorf("%q and error %v, want %q", got, err, want)
	}
}

// TestOpenAndPatched checks that an object fails after the first patch, but stays
// readable after any other change of its value.
func TestOpenAndPatched(t *testing.T) {
	ctx, key := t.Context(), store.MustKey("k")
	for name, c := range map[string]struct {
		change func(s memtest.Store, v store.Version) error
		want   error
	}{
		"patched": {func(s memtest.Store, v store.Version) error {
			_, err := s.Write(ctx, store.PatchValue(key, v, []store.Patch{{Off: 1, Data: []byte("X")}}), store.Flush)
			return err
		}, store.ErrConflict},
		"replaced": {func(s memtest.Store, _ store.Version) error {
			_, err := s.Write(ctx, store.Put(key, []byte("new")), store.Flush)
			return err
		}, nil},
		"replaced, and the new one patched": {func(s memtest.Store, v store.Version) error {
			made, err := s.Write(ctx, store.PutIf(key, []byte("new"), store.IfVersion(v)), store.Flush)
			if err == nil {
				_, err = s.Write(ctx, store.PatchValue(key, made.Version, []store.Patch{{Data: []byte("N")}}), store.Flush)
			}
			return err
		}, nil},
		"spliced": {func(s memtest.Store, v store.Version) error {
			_, err := s.Write(ctx, store.Splice(key, v, []store.Part{{Off: 1, N: 2}}), store.Flush)
			return err
		}, nil},
		"deleted": {func(s memtest.Store, v store.Version) error {
			_, err := s.Write(ctx, store.DeleteIf(key, v), store.Sync)
			return err
		}, nil},
	} {
		s := memtest.New()
		v, err := s.Write(ctx, store.Put(key, []byte("old")), store.Flush)
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.Open(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.change(s, v.Version); err != nil {
			t.Fatal(name, err)
		}
		got, err := o.Read(ctx, store.Request{}, nil)
		if !errors.Is(err, c.want) || err == nil && string(got) != "old" || err != nil && got != nil {
			t.Errorf("%s: %q and error %v, want %v", name, got, err, c.want)
		}
		if o.Info().Version != v.Version || o.Info().Size != 3 {
			t.Errorf("%s: the object says %v", name, o.Info())
		}
	}
}

// TestPatchTogether patches, reads, opens, splices, lists and replaces values from many
// goroutines, for the race detector. Every value that is read consists of one letter.
func TestPatchTogether(t *testing.T) {
	const size, rounds = 1000, 300
	s, ctx, key := memtest.New(), t.Context(), store.MustKey("d/k")
	letter := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i%26)}, size) }
	if _, err := s.Write(ctx, store.Put(key, letter(0)), store.Flush); err != nil {
		t.Fatal(err)
	}
	one := func(b []byte) error {
		if len(b) != size || bytes.Count(b, b[:1]) != size {
			return fmt.Errorf("torn: %d bytes, %q", len(b), b)
		}
		return nil
	}
	acts := []func(i int, v store.Version) error{
		func(i int, v store.Version) error {
			_, err := s.Write(ctx, store.PatchValue(key, v, []store.Patch{{Data: letter(i)[:size/2]}, {Off: size / 2, Data: letter(i)[size/2:]}}), store.Flush)
			return err
		},
		func(i int, v store.Version) error {
			_, err := s.Write(ctx, store.PutIf(key, letter(i), store.IfVersion(v)), store.Flush)
			return err
		},
		func(_ int, v store.Version) error {
			_, err := s.Write(ctx, store.Splice(key, v, []store.Part{{Off: size / 2, N: size / 2}, {Off: 0, N: size / 2}}), store.Flush)
			return err
		},
		func(int, store.Version) error {
			b, _, err := s.Get(ctx, key, store.Request{}, nil)
			return errors.Join(err, one(b))
		},
		func(int, store.Version) error {
			o, err := s.Open(ctx, key)
			if err != nil {
				return err
			}
			first, err := o.Read(ctx, store.Request{Range: store.Span(0, size/2)}, nil)
			if err != nil {
				return err
			}
			b, err := o.Read(ctx, store.Request{Range: store.From(size / 2)}, first)
			if err != nil {
				return err
			}
			return one(b)
		},
		func(int, store.Version) error {
			for _, err := range s.List(ctx, store.Path{}, store.Deep) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	var wg sync.WaitGroup
	for _, act := range acts {
		wg.Go(func() {
			for i := range rounds {
				info, err := s.Stat(ctx, key)
				if err == nil {
					err = act(i, info.Version)
				}
				if err != nil && !errors.Is(err, store.ErrConflict) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkPatch patches a kilobyte of a value of 64 MiB.
func BenchmarkPatch(b *testing.B) {
	const size = 64 << 20
	s, ctx, key := memtest.New(), context.Background(), store.MustKey("k")
	v, err := s.Write(ctx, store.Put(key, make([]byte, size)), store.Flush)
	if err != nil {
		b.Fatal(err)
	}
	patches := []store.Patch{{Off: size / 2, Data: make([]byte, 1<<10)}}
	b.ReportAllocs()
	for b.Loop() {
		if v, err = s.Write(ctx, store.PatchValue(key, v.Version, patches), store.Flush); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleStore_Write() {
	ctx, s, key := context.Background(), memstore.New(), store.MustKey("c/0")
	v, err := store.Write(ctx, s, store.Put(key, []byte("one two three")), store.Sync)
	if err != nil {
		fmt.Println(err)
	}
	_, err = store.Write(ctx, s, store.PatchValue(key, v.Version, []store.Patch{{Off: 4, Data: []byte("2  ")}}), store.Sync)
	value, _, _ := s.Get(ctx, key, store.Request{}, nil)
	fmt.Printf("%s %v\n", value, err)
	// Output: one 2   three <nil>
}
