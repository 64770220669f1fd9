// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"io/fs"
	"slices"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// twoHandles opens an array of ten elements in chunks of a hundred twice, as two
// programs that share a directory.
func twoHandles(t *testing.T) (a, b *zarr.Array) {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	var handles []*zarr.Array
	for range 2 {
		s, err := filestore.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close(s) })
		h := zarr.At(s, "")
		if handles == nil {
			_, err = h.At("a").CreateArray(ctx, zarr.Spec{Shape: []int64{10}, Type: dtype.Int8, Chunks: grid.Chunks(100)}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		handle, err := h.At("a").OpenArray(ctx, &zarr.Options{Write: true, Durability: store.Flush})
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, handle)
	}
	return handles[0], handles[1]
}

// TestWriteDuringAppend writes to the chunk that another handle appends to. The appended
// elements are kept.
func TestWriteDuringAppend(t *testing.T) {
	ctx := context.Background()
	a, b := twoHandles(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 30 {
			if err := zarr.Append(ctx, a, 0, []int8{1}, nil); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for i := range 30 {
			if err := zarr.Write(ctx, b, selection.Box{{0, 10}}, slices.Repeat([]int8{int8(i)}, 10)); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	got, err := zarr.Read[int8](ctx, b, selection.Basic{selection.Span(10, selection.Open)})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err = zarr.Read[int8](ctx, b, selection.Basic{selection.Span(10, selection.Open)}); err != nil || !slices.Equal(got.Data, slices.Repeat([]int8{1}, 30)) {
		t.Errorf("appended elements are %v (%v)", got.Data, err)
	}
}

// TestStaleHandles works with a handle whose document is stale.
func TestStaleHandles(t *testing.T) {
	ctx := context.Background()
	a, b := twoHandles(t)
	if err := zarr.Fill[int8](ctx, a, nil, 7); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Append(ctx, a, 0, []int8{8, 8}, nil); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Fill[int8](ctx, b, selection.Box{{0, 10}}, 9); err != nil {
		t.Fatal(err)
	}
	want := append(slices.Repeat([]int8{9}, 10), 8, 8)
	if got, err := zarr.Read[int8](ctx, a, nil); err != nil || !slices.Equal(got.Data, want) {
		t.Errorf("read %v (%v), want %v", got.Data, err, want)
	}
	if err := a.Resize(ctx, []int64{4}, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.Read[int8](ctx, b, nil); err != nil || !slices.Equal(got.Data, []int8{9, 9, 9, 9}) {
		t.Errorf("after shrinking, the stale handle reads %v (%v)", got.Data, err)
	}
	if err := zarr.Append(ctx, a, 0, []int8{5}, nil); err != nil {
		t.Fatal(err)
	}
	err := b.WriteChunk(ctx, []int64{0}, make([]byte, 100))
	fixture.Expect(t, err, zarr.ErrConflict, "conflict", "chunk [0]")
}

// blocking is a store in memory whose Stat blocks for one array.
type blocking struct {
	memtest.Store
	wait chan struct{}
}

func (b *blocking) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	<-b.wait
	return b.Store.Stat(ctx, key)
}

// TestStoresAreIndependent writes to an array while another store, with an array at the
// same path, does not answer.
func TestStoresAreIndependent(t *testing.T) {
	ctx := context.Background()
	slow := &blocking{memtest.New(), make(chan struct{})}
	close(slow.wait)
	a := small(t, slow)
	slow.wait = make(chan struct{})
	done := make(chan error)
	go func() { done <- a.Resize(ctx, []int64{50, 4}, nil) }()
	b := small(t, memtest.New())
	if err := b.Resize(ctx, []int64{5, 4}, nil); err != nil {
		t.Error(err)
	}
	close(slow.wait)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestOverwriteRefused refuses to overwrite a place that has something other than an
// array.
func TestOverwriteRefused(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(memtest.New(), "")
	fixture.Put(t, h.Store(), "docs/letter.txt", "dear reader")
	fixture.Put(t, h.Store(), "old/c/0", "chunk")
	over := &zarr.CreateOptions{Overwrite: true}
	_, err := h.At("docs").CreateArray(ctx, tiny, over)
	fixture.Expect(t, err, fs.ErrExist, "exists", "letter.txt")
	_, err = h.At("docs").CreateGroup(ctx, nil, over)
	fixture.Expect(t, err, fs.ErrExist, "exists", "letter.txt")
	if _, err := h.At("old").CreateArray(ctx, tiny, over); err != nil {
		t.Errorf("overwriting the remains of an array: %v", err)
	}
}
