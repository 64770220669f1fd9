// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/filetest"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// directory returns a store in a new directory.
func directory(t *testing.T) filetest.Store {
	return filetest.Open(t, t.TempDir())
}

// TestInto makes new arrays from others, in the same store and in another one, while the
// others are written. The result has their elements, and nothing else is left.
func TestInto(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		x := drawTransposed(t)
		to := x.store
		if rapid.Bool().Draw(t, "another store") {
			to = memtest.New()
		} else if rapid.Bool().Draw(t, "a directory") {
			to = directory(tt)
		}
		opt := rechunk.Options{Memory: 1 << 16}
		if rapid.Bool().Draw(t, "in stages") {
			opt = *rechunk.Options{Memory: 4 * 4 * (83*x.thick + 20)}.PlanStages(1)
		}
		opt.Into = zarr.At(to, "new/b")
		changes := rapid.IntRange(0, 2).Draw(t, "changes")
		opt.Progress = func(rechunk.Progress) {
			if changes--; changes >= 0 {
				x.write(t)
			}
		}
		request := rechunk.Request(x.want)
		switch kind := rapid.IntRange(0, 2).Draw(t, "request"); {
		case kind == 0:
			request = rechunk.Rechunking{} // a copy
		case kind == 1 && opt.Memory == 1<<16:
			request = rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(80), grid.Every(80)}, Inner: []grid.Cut{grid.Every(1), grid.Every(80)}}
		}
		report, err := rechunk.Do(t.Context(), x.array, request, &opt)
		if err != nil || !report.Changed {
			t.Fatalf("%+v (%v)", report, err)
		}
		b, err := opt.Into.OpenArray(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		x.check(t, b)
		x.check(t, x.array)
		for f, err := range b.CheckShards(t.Context(), nil) {
			t.Fatalf("%v (%v)", f, err)
		}
		for _, s := range []store.Store{x.store, to} {
			if names := left(tt, s); len(names) > 0 {
				t.Fatalf("left over: %q", names)
			}
		}
		if _, err := rechunk.Do(t.Context(), x.array, request, &opt); !errors.Is(err, fs.ErrExist) {
			t.Fatalf("a second time: %v, want %v", err, fs.ErrExist)
		}
		into += report.Staged.Cloned + report.Staged.Arranged
	})
	if into == 0 && !tt.Failed() {
		tt.Error("nothing was copied as it is")
	}
}

// into counts the chunks that TestInto has copied without decoding.
var into int64

// unheld is a store that gathers chunks, and takes none that was held in memory.
type unheld struct {
	filetest.Store
	gathered *atomic.Int64
}

func (s unheld) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	switch c.Op {
	case store.OpPut:
		if strings.Contains(c.Key.String(), "/c/") {
			return store.Written{}, fmt.Errorf("%s was held in memory", c.Key)
		}
	case store.OpGather:
		s.gathered.Add(1)
	}
	return s.Store.Write(ctx, c, d)
}

func (s unheld) Batch(context.Context, store.Durability) (store.Batch, error) {
	return unheldBatch{s}, nil
}

type unheldBatch struct{ s unheld }

func (b unheldBatch) Can(op store.Op) bool { return op == store.OpPut || op == store.OpDelete }

func (b unheldBatch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	return b.s.Write(ctx, c, store.Flush)
}

func (b unheldBatch) Commit(context.Context) error { return nil }
func (b unheldBatch) Discard()                     {}

// TestIntoHoldsNoShard packs chunks of one store into shards of another, copies the
// shards to a third one, and unpacks them into a fourth one. No chunk that is
// copied as it is encoded passes through memory as a whole, also if processes share the
// work.
func TestIntoHoldsNoShard(t *testing.T) {
	opt := rechunk.Options{Memory: 1 << 20}
	a, err := zarr.At(memtest.New(), "a").CreateArray(t.Context(), fixture.Edges(2, 2, 2, 2, 2, 2, 2), nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 14))
	}
	if err != nil {
		t.Fatal(err)
	}
	packed := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(6)}, Inner: []grid.Cut{grid.Every(2)}}
	for i, r := range []rechunk.Rechunking{packed, {}, packed, {Unpack: true}, {}} {
		var gathered atomic.Int64
		to := unheld{directory(t), &gathered}
		opt.Into = zarr.At(to, "b")
		if i%2 == 0 {
			_, err = rechunk.Do(t.Context(), a, r, &opt)
		} else if _, err = rechunk.Stage(t.Context(), a, r, rechunk.StageShare{}, &opt); err == nil {
			_, err = rechunk.Publish(t.Context(), a, r, &opt)
		}
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if a, err = opt.Into.OpenArray(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		got, err := zarr.Read[int32](t.Context(), a, nil)
		if err != nil || !slices.Equal(got.Data, fixture.Numbers(1, 14)) || gathered.Load() == 0 && i == 0 {
			t.Errorf("%d: %v (%v), %d chunks gathered", i, got.Data, err, gathered.Load())
		}
	}
}

// TestIntoRefused checks the places that cannot have a new array.
func TestIntoRefused(t *testing.T) {
	s := memtest.New()
	a, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.Edges(1, 2, 3), nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 6))
	}
	if err == nil {
		_, err = zarr.At(s, "g").CreateGroup(t.Context(), nil, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{"a": zarr.ErrInvalidArgument, "a/b": zarr.ErrInvalidArgument, "g": fs.ErrExist, "a/b/c": zarr.ErrInvalidArgument} {
		_, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 9}, &rechunk.Options{Into: zarr.At(s, path)})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if names := strings.Join(slices.Collect(keysOf(t, s)), " "); strings.Contains(names, "__varve") {
		t.Errorf("left over: %s", names)
	}
}

// TestIntoItself refuses places within the directory of the array, of other stores and
// through links.
func TestIntoItself(t *testing.T) {
	dir := t.TempDir()
	open := func(dir string) store.Store {
		s, err := filestore.Open(dir, &filestore.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close(s) })
		return s
	}
	s := open(dir)
	a, err := zarr.At(s, "g/a").CreateArray(t.Context(), fixture.Edges(1, 2, 3), nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 6))
	}
	if err == nil {
		err = os.Symlink("g", filepath.Join(dir, "link"))
	}
	if err != nil {
		t.Skip("no symbolic links here:", err)
	}
	for name, to := range map[string]*zarr.Location{
		"itself":                zarr.At(open(filepath.Join(dir, "g/a")), ""),
		"below":                 zarr.At(open(filepath.Join(dir, "g")), "a/b"),
		"below, in its store":   zarr.At(s, "link/a/c/b"),
		"a store below":         zarr.At(open(filepath.Join(dir, "g/a/c/new")), ""),
		"a store behind a link": zarr.At(open(filepath.Join(dir, "link/a/new")), "x/y"),
	} {
		_, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 9}, &rechunk.Options{Into: to})
		if !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%s: %v, want %v", name, err, zarr.ErrInvalidArgument)
		}
	}
	if _, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 9}, &rechunk.Options{Into: zarr.At(s, "g/a2")}); err != nil {
		t.Error(err)
	}
}

// keysOf yields the keys of a store.
func keysOf(t *testing.T, s store.Store) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
			if err != nil {
				t.Fatal(err)
			}
			if !yield(e.Name) {
				return
			}
		}
	}
}

// TestIntoTaken lets another program make an array at the place meanwhile. Its chunks,
// other than those with keys of the new array, stay.
func TestIntoTaken(t *testing.T) {
	s := memtest.New()
	a, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.Edges(1, 2, 3), nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 6))
	}
	if err != nil {
		t.Fatal(err)
	}
	document, _, err := s.Get(t.Context(), store.MustKey("a/zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	made := false
	opt := &rechunk.Options{Into: zarr.At(s, "b"), Progress: func(rechunk.Progress) {
		if made {
			return
		}
		made = true
		for key, value := range map[string][]byte{"b/zarr.json": document, "b/c/9": []byte("other")} {
			if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), value), store.Flush); err != nil {
				t.Error(err)
			}
		}
	}}
	for range 2 { // the second one finds it before it stages anything
		if _, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 3}, opt); !errors.Is(err, fs.ErrExist) || !made {
			t.Errorf("%v, want %v", err, fs.ErrExist)
		}
	}
	if found, err := store.Exists(t.Context(), s, store.MustKey("b/c/9")); err != nil || !found {
		t.Errorf("a chunk of another program is gone (%v)", err)
	}
}
