// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// faults returns the faults of the shards of an array, in order.
func faults(t *testing.T, a *zarr.Array) []string {
	t.Helper()
	var all []string
	for f, err := range a.CheckShards(context.Background(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(f, zarr.ErrCorrupt) && !f.Shared || !strings.Contains(f.Error(), f.Key) {
			t.Errorf("fault %v", f)
		}
		all = append(all, fmt.Sprintf("%s %v %d %d", f.Key, f.Inner, f.Off, f.Len))
	}
	slices.Sort(all)
	return all
}

// damage changes a stored value.
func damage(t *testing.T, s store.Store, key string, change func([]byte) []byte) {
	t.Helper()
	k := store.MustKey(key)
	value, _, err := s.Get(context.Background(), k, store.Request{}, nil)
	if err == nil {
		_, err = store.Write(context.Background(), s, store.Put(k, change(slices.Clone(value))), store.Sync)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCheckShards checks an array whose shards have unused bytes, which are no faults,
// and then one with damaged shards.
func TestCheckShards(t *testing.T) {
	ctx := context.Background()
	for name, s := range map[string]store.Store{
		"memory": memtest.New(), "conditional": fixture.Conditional(memtest.New()), "plain": newPlainStore(), "local": fixture.FileStore(vfs.NewDisk()),
	} {
		t.Run(name, func(t *testing.T) {
			fragmented(t, s, sharded())
			a, err := zarr.At(s, "g/a").OpenArray(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := faults(t, a); len(got) > 0 {
				t.Errorf("an array without faults: %s", got)
			}
			trial, err := a.CompactShards(ctx, &zarr.CompactOptions{DryRun: true})
			if err != nil {
				t.Fatal(err)
			}
			dead, inner := int64(0), int64(0)
			for index, err := range a.StoredChunks(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				got, err := a.CheckShard(ctx, index, &zarr.CheckOptions{IndexOnly: true})
				if err != nil || len(got.Faults) > 0 {
					t.Fatalf("shard %v: %+v (%v)", index, got, err)
				}
				dead, inner = dead+got.Dead, inner+got.Inner
			}
			if dead != trial.Before-trial.After || inner != 4+2+6 {
				t.Errorf("%d unused bytes of %d inner chunks; compacting saves %d", dead, inner, trial.Before-trial.After)
			}
			damage(t, s, "g/a/c/0/0", func(b []byte) []byte { return b[:10] })
			damage(t, s, "g/a/c/0/2", func(b []byte) []byte { return append(make([]byte, 0, len(b)), b[90:]...) })
			want := "[g/a/c/0/0 [] 0 68 g/a/c/0/2 [[0 0]] 112 16 g/a/c/0/2 [[0 1]] 144 16 g/a/c/0/2 [[0 2]] 160 16 g/a/c/0/2 [[1 2]] 80 16]"
			if got := faults(t, a); fmt.Sprint(got) != want {
				t.Errorf("%s, want %s", got, want)
			}
			var shards, bytes int64
			count := func(_ []int64, found *codec.Check) { shards, bytes = shards+1, bytes+found.Bytes }
			var found []string
			for f, err := range a.CheckShards(ctx, &zarr.CheckOptions{IndexOnly: true, Progress: count}) {
				found = append(found, fmt.Sprint(f.Key, " ", err))
			}
			slices.Sort(found)
			if found = slices.Compact(found); len(found) != 2 || shards != 3 || bytes == 0 {
				t.Errorf("%d shards of %d bytes, faults %q, by their indexes alone", shards, bytes, found)
			}
			for f, err := range a.CheckShards(ctx, nil) {
				if err != nil || f.Key == "" {
					t.Errorf("%v (%v)", f, err)
				}
				break // ends the iteration
			}
		})
	}
}

// TestCheckRefused checks shards that do not exist.
func TestCheckRefused(t *testing.T) {
	ctx := context.Background()
	s := memtest.New()
	fragmented(t, s, sharded())
	a, err := zarr.At(s, "g/a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.CheckShard(ctx, []int64{1, 0}, nil); !errors.Is(err, grid.ErrOutOfRange) {
		t.Errorf("a shard outside the grid: %v", err)
	}
	if _, err := store.Writer(s).Write(ctx, store.Put(store.MustKey("g/a/c/0/9"), nil), store.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Write(ctx, s, store.Delete(store.MustKey("g/a/c/0/1")), store.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err := a.CheckShard(ctx, []int64{0, 1}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a shard that is not stored: %v", err)
	}
	if got := faults(t, a); len(got) > 0 {
		t.Errorf("shards that are not stored have faults: %s", got)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for f, err := range a.CheckShards(ended, nil) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was cancelled: %v, %v", f, err)
		}
	}
}

// TestCheckChunks checks chunks that are not shards: each is decoded.
func TestCheckChunks(t *testing.T) {
	ctx := context.Background()
	s := memtest.New()
	a, err := zarr.At(s, "").CreateArray(ctx, fixture.Edges(3, 1, 2), nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 6))
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := faults(t, a); len(got) > 0 {
		t.Errorf("an array without faults: %s", got)
	}
	damage(t, s, "c/1", func(b []byte) []byte { return b[:len(b)-1] })
	damage(t, s, "c/2", func(b []byte) []byte { return append(b, make([]byte, 1<<20)...) })
	if got := faults(t, a); len(got) != 2 || !strings.HasPrefix(got[0], "c/1") || !strings.HasPrefix(got[1], "c/2") {
		t.Errorf("%s", got)
	}
	if got, err := a.CheckShard(ctx, []int64{1}, &zarr.CheckOptions{IndexOnly: true}); err != nil || len(got.Faults) > 0 || got.Bytes == 0 {
		t.Errorf("a chunk without an index: %+v (%v)", got, err)
	}
}

// TestCheckAfterGridChange checks an array to which another program has given another
// grid since it was opened. Chunks of the new grid are no faults.
func TestCheckAfterGridChange(t *testing.T) {
	ctx := context.Background()
	s := memtest.New()
	want := fragmented(t, s, sharded())
	stale, err := zarr.At(s, "g/a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := zarr.At(s, "g/a").OpenArray(ctx, appendingShards())
	if err == nil {
		err = other.Resize(ctx, []int64{4, 4}, &zarr.ResizeOptions{Shrink: grid.TrimEdges})
	}
	if err == nil {
		err = zarr.Append(ctx, other, 1, want[:16], &zarr.AppendOptions{Grow: grid.AppendOne()})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := stale.CheckShard(ctx, []int64{0, 1}, nil); err != nil || len(got.Faults) > 0 {
		t.Errorf("%+v (%v)", got, err)
	}
	if got := faults(t, stale); len(got) > 0 {
		t.Errorf("%s", got)
	}
}

// TestCheckUnreadable checks chunks that the store fails to read. The check fails, or
// with KeepGoing reports faults unless there are too many in a row.
func TestCheckUnreadable(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	spec := zarr.Spec{Shape: []int64{300}, Type: dtype.Int8, Chunks: grid.Chunks(1)}
	a, err := zarr.CreateArray(ctx, dir, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(ctx, a, selection.Box{{0, 300}}, slices.Repeat([]int8{1}, 300)); err != nil {
		t.Fatal(err)
	}
	breakChunk := func(i int) { // a link to itself cannot be read
		name := filepath.Join(dir, "c", fmt.Sprint(i))
		if err := errors.Join(os.Remove(name), os.Symlink(fmt.Sprint(i), name)); err != nil {
			t.Skip(err)
		}
	}
	check := func(opt *zarr.CheckOptions) (keys []string, err error) {
		for f, err := range a.CheckShards(ctx, opt) {
			if err != nil {
				return keys, err
			}
			if errors.Is(f, zarr.ErrCorrupt) || !strings.Contains(f.Error(), f.Key) {
				t.Errorf("fault %v", f)
			}
			keys = append(keys, f.Key)
		}
		slices.Sort(keys)
		return keys, nil
	}
	breakChunk(3)
	breakChunk(7)
	if keys, err := check(nil); err == nil || len(keys) > 0 || !strings.Contains(err.Error(), "c/") {
		t.Errorf("faults %v, error %v", keys, err)
	}
	if keys, err := check(&zarr.CheckOptions{KeepGoing: true}); err != nil || fmt.Sprint(keys) != "[c/3 c/7]" {
		t.Errorf("faults %v, error %v", keys, err)
	}
	for i := range 300 {
		if i != 3 && i != 7 {
			breakChunk(i)
		}
	}
	if keys, err := check(&zarr.CheckOptions{KeepGoing: true}); err == nil || len(keys) > 100 {
		t.Errorf("%d faults, error %v", len(keys), err)
	}
}
