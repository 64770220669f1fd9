// SPDX-License-Identifier: Apache-2.0

package rewrite_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/rewrite"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
)

// aged is a store whose values seem to have been written an hour before they were.
type aged struct{ *memstore.Store }

const age = time.Hour

func older(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-age)
}

func (s aged) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	i, err := s.Store.Stat(ctx, key)
	i.Modified = older(i.Modified)
	return i, err
}

func (s aged) ListVersions(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range s.Store.ListVersions(ctx, dir, deep) {
			e.Modified = older(e.Modified)
			if !yield(e, err) {
				return
			}
		}
	}
}

// shared is an operation that several processes may share.
type shared func(ctx context.Context, from, to store.Store, share *rewrite.Share) error

// alone asks for the operation without parts, and without going on.
var alone = new(rewrite.Share)

func syncing(ctx context.Context, from, to store.Store, share *rewrite.Share) error {
	if share == alone {
		share = nil
	}
	_, err := rewrite.Sync(ctx, at(from, "x"), at(to, "deep/y"), &rewrite.SyncOptions{Share: share, Delete: true})
	return err
}

func syncingNodes(ctx context.Context, from, to store.Store, share *rewrite.Share) error {
	if share == alone {
		share = nil
	}
	_, err := rewrite.Sync(ctx, at(from, "x"), at(to, "deep/y"), &rewrite.SyncOptions{Share: share, Nodes: "[de]*"})
	return err
}

func converting(format int) shared {
	return func(ctx context.Context, from, to store.Store, share *rewrite.Share) error {
		o := &rewrite.Options{Share: share, Resume: share == nil, FillAll: true}
		if share == alone {
			o.Share = nil
		}
		_, err := rewrite.ConvertTo(ctx, at(from, "x"), at(to, "deep/y"), format, o)
		return err
	}
}

// sharedCases are operations on hierarchies, with what they make without parts.
var sharedCases = map[string]struct {
	build func(testing.TB, store.Store, string)
	do    shared
}{
	"sync of format 3":    {tree, syncing},
	"sync of format 2":    {formatTwo, syncing},
	"sync of old codecs":  {archive, syncing},
	"sync of nodes":       {tree, syncingNodes},
	"to format 2":         {arrays, converting(2)},
	"sparse to format 2":  {func(t testing.TB, s store.Store, path string) { sparse(t, s, path, 0) }, converting(2)},
	"to format 3":         {formatTwo, converting(3)},
	"archive to format 3": {archive, converting(3)},
	"archive to format 2": {archive, converting(2)},
}

// whole returns what an operation makes without parts, and without going on.
func whole(t *testing.T, from store.Store, do shared) map[string]string {
	t.Helper()
	to := memstore.New()
	if err := do(t.Context(), from, to, alone); err != nil {
		t.Fatal(err)
	}
	return values(t, to, "")
}

// checkNoDocuments checks that parts have published nothing.
func checkNoDocuments(t *testing.T, to store.Store) {
	t.Helper()
	for name := range values(t, to, "") {
		if strings.HasSuffix(name, "zarr.json") || strings.Contains(name, "/.z") {
			t.Fatalf("a part has written %s", name)
		}
	}
}

// TestShares shares operations among processes, whose parts come in random order, more
// than once, and are stopped at any point. The result is that of one process.
func TestShares(t *testing.T) {
	rounds := fixture.Soaked(t, 6, 200)
	if racing.Detector {
		rounds = 2
	}
	for name, c := range sharedCases {
		t.Run(name, func(t *testing.T) {
			left := memstore.New()
			c.build(t, left, "x")
			want := whole(t, left, c.do)
			for seed := range uint64(rounds) {
				r := rand.New(rand.NewPCG(seed, 5))
				var from store.Store = left
				if r.IntN(2) == 0 {
					from = aged{left}
				}
				to := memstore.New()
				shareAtRandom(t, r, from, to, c.do)
				checkNoDocuments(t, to)
				if r.IntN(3) == 0 { // the call that publishes is stopped, too
					stopped(t, r, to, func(to store.Store) error { return c.do(t.Context(), from, to, nil) })
				}
				if err := c.do(t.Context(), from, to, nil); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				got := values(t, to, "")
				if d := differ(want, got); d != "" {
					t.Fatalf("seed %d: %s", seed, d)
				}
				// Late parts, and another publication, change nothing.
				late := []*rewrite.Share{nil, {Task: 0, Of: 2}, {Task: 1, Of: 2}, {}}
				for _, share := range late[r.IntN(2):] {
					if share == nil && from == store.Store(left) {
						continue // Sync copies what is as young as its source
					}
					if err := c.do(t.Context(), from, to, share); err != nil {
						t.Fatalf("seed %d, late part: %v", seed, err)
					}
				}
				if d := differ(got, values(t, to, "")); d != "" {
					t.Fatalf("seed %d, late: %s", seed, d)
				}
			}
		})
	}
}

// shareAtRandom runs all parts of a random number at least once.
func shareAtRandom(t *testing.T, r *rand.Rand, from store.Store, to *memstore.Store, do shared) {
	t.Helper()
	of := int64(1 + r.IntN(5))
	var parts []int64
	for i := range of {
		parts = append(parts, slices.Repeat([]int64{i}, 1+r.IntN(2))...)
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	for _, task := range parts {
		share := &rewrite.Share{Task: task, Of: of}
		if r.IntN(3) == 0 {
			stopped(t, r, to, func(to store.Store) error { return do(t.Context(), from, to, share) })
		}
		if r.IntN(5) == 0 {
			continue // it never ends
		}
		if err := do(t.Context(), from, to, share); err != nil {
			t.Fatalf("part %v: %v", *share, err)
		}
	}
}

var errStopped = errors.New("stopped")

// stopped calls do with a store that fails from a random operation on.
func stopped(t *testing.T, r *rand.Rand, to *memstore.Store, do func(store.Store) error) {
	t.Helper()
	var n atomic.Int64
	last := r.Int64N(60)
	h := storetest.Hooks{Before: func(context.Context, storetest.Op) error {
		if n.Add(1) > last {
			return errStopped
		}
		return nil
	}}
	if err := do(storetest.Conditional(to, h)); err != nil && !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
}

// TestSharesAtOnce runs all parts twice at the same time, and the publication beside the
// late ones.
func TestSharesAtOnce(t *testing.T) {
	for name, c := range sharedCases {
		t.Run(name, func(t *testing.T) {
			left, to := memstore.New(), memstore.New()
			c.build(t, left, "x")
			from, want := aged{left}, whole(t, left, c.do)
			at := func(parts ...*rewrite.Share) {
				var g sync.WaitGroup
				for _, share := range parts {
					g.Go(func() {
						if err := c.do(t.Context(), from, to, share); err != nil {
							t.Errorf("%v: %v", share, err)
						}
					})
				}
				g.Wait()
			}
			a, b, d := &rewrite.Share{Task: 0, Of: 3}, &rewrite.Share{Task: 1, Of: 3}, &rewrite.Share{Task: 2, Of: 3}
			at(a, a, b, b, d)
			at(nil, a, b, d)
			if d := differ(want, values(t, to, "")); d != "" {
				t.Fatal(d)
			}
		})
	}
}

// TestSharesStopped stops parts and the publication before every operation. Parts and a
// publication without a stop then make the same as ever.
func TestSharesStopped(t *testing.T) {
	racing.Skip(t) // one goroutine, many times
	for name, do := range map[string]func(ctx context.Context, from, to store.Store, share *rewrite.Share) error{
		"sync": func(ctx context.Context, from, to store.Store, share *rewrite.Share) error {
			_, err := rewrite.Sync(ctx, at(from, "x"), at(to, "y"), &rewrite.SyncOptions{Share: share, Options: zarr.Options{Concurrency: 1}})
			return err
		},
		"convert": func(ctx context.Context, from, to store.Store, share *rewrite.Share) error {
			o := &rewrite.Options{Share: share, Resume: share == nil, Options: zarr.Options{Concurrency: 1}}
			_, err := rewrite.ConvertTo(ctx, at(from, "x"), at(to, "y"), 2, o)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			left := memstore.New()
			if _, err := at(left, "x").CreateGroup(t.Context(), nil, nil); err != nil {
				t.Fatal(err)
			}
			numbered(t, at(left, "x/a"), 6)
			spec := plain(6, 0)
			spec.Chunks = []grid.Cut{grid.Edges(1, 2, 3)}
			b, err := at(left, "x/b").CreateArray(t.Context(), spec, nil)
			if err == nil {
				err = zarr.Write(t.Context(), b, nil, counting(0, 6))
			}
			if err != nil {
				t.Fatal(err)
			}
			from, want := aged{left}, map[string]string(nil)
			all := func(to store.Store) error {
				for _, share := range []*rewrite.Share{{Task: 0, Of: 2}, {Task: 1, Of: 2}, nil} {
					if err := do(t.Context(), from, to, share); err != nil {
						return err
					}
				}
				return nil
			}
			for n := int64(0); ; n++ {
				disk := vfs.NewDisk()
				stop, stopped := vfs.StopAt(n)
				err := all(fixture.FileStore(vfs.Hook(disk, stop)))
				if want == nil {
					to := memstore.New()
					if err := do(t.Context(), from, to, nil); err != nil {
						t.Fatal(err)
					}
					want = values(t, to, "")
				}
				to := fixture.FileStore(disk)
				if !stopped() {
					t.Logf("%d operations", n)
					if d := differ(want, values(t, to, "")); d != "" || err != nil || n < 50 {
						t.Fatalf("%d operations: %v: %s", n, err, d)
					}
					break
				}
				if begun, err := rewrite.Unfinished(t.Context(), at(to, "y")); err != nil || !begun && differ(values(t, to, "y"), nil) != "" {
					if d := differ(want, values(t, to, "")); d != "" {
						t.Fatalf("operation %d: nothing says that it is unfinished (%v): %s", n, err, d)
					}
				}
				if err := all(to); err != nil {
					t.Fatalf("operation %d: again: %v", n, err)
				}
				if d := differ(want, values(t, to, "")); d != "" {
					t.Fatalf("operation %d: %s", n, d)
				}
			}
		})
	}
}

// TestSharePublishedMeanwhile lets another process publish before each operation of a
// part: at a free place, beside another part, and over an older state. Nothing is left to
// do then, so no note stays.
func TestSharePublishedMeanwhile(t *testing.T) {
	// A publication that encodes chunks again would wait for the turns of this process.
	for name, do := range map[string]shared{"sync": syncing, "convert": converting(3), "convert twice": converting(3)} {
		for _, state := range []string{"free", "begun", "older"} {
			t.Run(name+" "+state, func(t *testing.T) {
				if name != "sync" && state == "older" {
					return // it is not replaced
				}
				left := memstore.New()
				formatTwo(t, left, "x")
				from, share := aged{left}, &rewrite.Share{Task: 1, Of: 2}
				if name == "convert twice" {
					share = nil
				}
				image := memstore.New()
				switch state {
				case "begun":
					if err := do(t.Context(), from, image, &rewrite.Share{Task: 0, Of: 2}); err != nil {
						t.Fatal(err)
					}
				case "older":
					if err := do(t.Context(), from, image, nil); err != nil {
						t.Fatal(err)
					}
					from.Store = memstore.New()
					longer(t, left, from.Store)
				}
				want := whole(t, from, do)
				for n := int64(0); ; n++ {
					to := memstore.New()
					for key, text := range values(t, image, "") {
						if _, err := to.Put(t.Context(), store.MustKey(key), []byte(text), store.Flush); err != nil {
							t.Fatal(err)
						}
					}
					var seen atomic.Int64
					h := storetest.Hooks{Before: func(ctx context.Context, _ storetest.Op) error {
						if seen.Add(1)-1 != n {
							return nil
						}
						return do(context.WithoutCancel(ctx), from, to, nil)
					}}
					if err := do(t.Context(), from, storetest.Conditional(to, h), share); err != nil {
						t.Fatalf("before operation %d: %v", n, err)
					}
					if seen.Load() <= n {
						if n < 10 {
							t.Fatalf("%d operations", n)
						}
						return
					}
					if d := differ(want, values(t, to, "")); d != "" {
						t.Fatalf("before operation %d: %s", n, d)
					}
				}
			})
		}
	}
}

// longer copies a hierarchy and changes some elements of the copy.
func longer(t *testing.T, from, to store.Store) {
	t.Helper()
	if _, err := rewrite.Copy(t.Context(), at(from, "x"), at(to, "x"), nil); err != nil {
		t.Fatal(err)
	}
	a, err := at(to, "x/a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Write(t.Context(), a, selection.Box{{0, 10}, {0, 7}}, counting(5, 70))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSyncShares changes a hierarchy at random while parts copy it, and then syncs it.
func TestSyncShares(t *testing.T) {
	seeds := fixture.Soaked(t, 20, 1000)
	if racing.Detector {
		seeds = 6
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { shareSyncAtRandom(t, seed) }) })
	}
}

func shareSyncAtRandom(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 20))
	from, to := memstore.New(), memstore.New()
	src, dst := at(from, "in/x"), at(to, "y")
	c := &changer{t, r, src, zarr.Options{Write: true}, 3 - int(seed%4/3)}
	if _, err := src.CreateGroup(t.Context(), nil, &zarr.CreateOptions{Options: c.opt, Format: c.format}); err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		for range r.IntN(8) {
			if r.IntN(2) == 0 {
				c.step()
			}
			time.Sleep(time.Duration(r.Int64N(int64(time.Minute))))
			of := int64(1 + r.IntN(3))
			o := &rewrite.SyncOptions{Delete: true, Checksum: r.IntN(3) == 0, Share: &rewrite.Share{Task: r.Int64N(of), Of: of}}
			if _, err := rewrite.Sync(t.Context(), src, dst, o); err != nil && !errors.Is(err, zarr.ErrConflict) {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if _, err := rewrite.Sync(t.Context(), src, dst, &rewrite.SyncOptions{Delete: true, Verify: true}); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		want, got := described(t, src), values(t, to, "y")
		trimDocuments(want)
		trimDocuments(got)
		// Keys of another number of axes are no chunks of the array that has come.
		maps.DeleteFunc(got, func(name, _ string) bool { _, found := want[name]; return !found })
		if d := differ(want, got); d != "" {
			t.Fatalf("round %d: %s", round, d)
		}
		if begun, err := rewrite.Unfinished(t.Context(), dst); begun || err != nil {
			t.Fatalf("round %d: the note stays (%v)", round, err)
		}
		if d := unequal(t.Context(), src, dst); d != "" {
			t.Fatalf("round %d: %s", round, d)
		}
	}
}

func ExampleShare() {
	ctx, s := context.Background(), memstore.New()
	a, err := zarr.At(s, "days").CreateArray(ctx, plain(100, 2), nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, counting(0, 100))
	}
	if err != nil {
		panic(err)
	}
	// Each part may run in a process of its own, in any order.
	all := int64(0)
	for task := range int64(4) {
		o := &rewrite.SyncOptions{Share: &rewrite.Share{Task: task, Of: 4}, Checksum: true}
		r, err := rewrite.Sync(ctx, a.Location(), zarr.At(s, "mirror"), o)
		if err != nil {
			panic(err)
		}
		all += r.New
	}
	r, err := rewrite.Sync(ctx, a.Location(), zarr.At(s, "mirror"), &rewrite.SyncOptions{Checksum: true})
	fmt.Println(all, r.New, r.Kept, r.Documents, err)
	// Output: 50 0 50 1 <nil>
}

// TestShareSpread checks that parts are even.
func TestShareSpread(t *testing.T) {
	left := memstore.New()
	numbered(t, at(left, "x/even"), 4000)
	for _, of := range []int64{2, 3, 16} {
		all := int64(0)
		for task := range of {
			o := &rewrite.SyncOptions{DryRun: true, Share: &rewrite.Share{Task: task, Of: of}}
			r, err := rewrite.Sync(t.Context(), at(left, "x"), at(memstore.New(), ""), o)
			if err != nil {
				t.Fatal(err)
			}
			if n := r.New * of; n < 2000*2/3 || n > 2000*4/3 {
				t.Errorf("part %d of %d has %d of 2000", task, of, r.New)
			}
			all += r.New
		}
		if all != 2000 {
			t.Errorf("%d parts have %d values", of, all)
		}
	}
	for _, share := range []rewrite.Share{{Task: 1}, {Task: -1, Of: 2}, {Task: 2, Of: 2}, {Of: -1}} {
		if _, err := rewrite.Sync(t.Context(), at(left, "x"), at(memstore.New(), ""), &rewrite.SyncOptions{Share: &share}); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%v: %v", share, err)
		}
	}
}

// TestSyncShareGrowing shares the copy of an array that grows, is rechunked, and is
// replaced by another one with the same keys and sizes.
func TestSyncShareGrowing(t *testing.T) {
	from, to := memstore.New(), memstore.New()
	part := func(task int64) error {
		_, err := rewrite.Sync(t.Context(), at(from, "x"), at(to, "y"), &rewrite.SyncOptions{Share: &rewrite.Share{Task: task, Of: 2}})
		return err
	}
	check := func(want error, tasks ...int64) {
		t.Helper()
		for _, task := range tasks {
			if err := part(task); !errors.Is(err, want) {
				t.Fatal(err)
			}
		}
	}
	publish := func() {
		t.Helper()
		if _, err := rewrite.Sync(t.Context(), at(from, "x"), at(to, "y"), &rewrite.SyncOptions{Delete: true, Verify: true}); err != nil {
			t.Fatal(err)
		}
		if d := differ(described(t, at(from, "x")), values(t, to, "y")); d != "" {
			t.Fatal(d)
		}
	}
	a := numbered(t, at(from, "x/a"), 16)
	if _, err := at(from, "x").CreateGroup(t.Context(), nil, nil); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	check(nil, 0)
	if err := zarr.Append(t.Context(), a, 0, counting(16, 8), nil); err != nil {
		t.Fatal(err)
	}
	check(nil, 1)
	publish()
	// Another grid under other keys. The array is at the destination already.
	if _, err := rechunk.Do(t.Context(), a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(3)}}, nil); err != nil {
		t.Fatal(err)
	}
	check(nil, 0, 1)
	publish()
	// Another array, whose keys are those of the destination.
	if err := at(from, "x/a").Delete(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	b, err := at(from, "x/a").CreateArray(t.Context(), plain(24, 4), nil)
	if err == nil {
		err = zarr.Write(t.Context(), b, nil, counting(100, 24))
	}
	if err != nil {
		t.Fatal(err)
	}
	publish()
	// Values of a part for an array that is replaced before the publication.
	to = memstore.New()
	check(nil, 0, 1)
	if err := at(from, "x/a").Delete(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	spec := plain(8, 4)
	c, err := at(from, "x/a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), c, selection.Box{{4, 8}}, counting(7, 4))
	}
	if err != nil {
		t.Fatal(err)
	}
	publish()
	// Something has changed since the publication: the part leaves the note.
	if err := zarr.Write(t.Context(), c, selection.Box{{4, 8}}, counting(9, 4)); err != nil {
		t.Fatal(err)
	}
	check(nil, 0, 1)
	if begun, err := rewrite.Unfinished(t.Context(), at(to, "y")); !begun || err != nil {
		t.Error("a late part has changed something without a note", err)
	}
	publish()
	if begun, err := rewrite.Unfinished(t.Context(), at(to, "y")); begun || err != nil {
		t.Error("the note stays", err)
	}
}

// TestShareClash checks that a part does not remove an array whose keys have other chunks
// in the source.
func TestShareClash(t *testing.T) {
	from, to := memstore.New(), memstore.New()
	for i, chunk := range []int64{2, 4} {
		a, err := at(from, "x").CreateArray(t.Context(), plain(8, chunk), nil)
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, counting(int64(i), 8))
		}
		if err == nil && i == 0 {
			_, err = rewrite.Sync(t.Context(), at(from, "x"), at(to, "y"), nil)
			err = errors.Join(err, at(from, "x").Delete(t.Context(), &zarr.Options{Write: true}))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	before := values(t, to, "")
	for _, dry := range []bool{false, true} {
		o := &rewrite.SyncOptions{Share: &rewrite.Share{Of: 2}, DryRun: dry, Delete: true}
		if _, err := rewrite.Sync(t.Context(), at(from, "x"), at(to, "y"), o); !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), `"/y"`) {
			t.Error(err)
		}
	}
	if d := differ(before, values(t, to, "")); d != "" {
		t.Error(d)
	}
	if _, err := rewrite.Sync(t.Context(), at(from, "x"), at(to, "y"), nil); err != nil {
		t.Fatal(err)
	}
	if got := elements(t, at(to, "y")); !slices.Equal(got, counting(1, 8)) {
		t.Errorf("it has %v", got)
	}
}

// TestShareForeign checks that a part deletes nothing that another copy has left.
func TestShareForeign(t *testing.T) {
	from, to := memstore.New(), memstore.New()
	numbered(t, at(from, "x"), 4)
	for key, text := range map[string]string{"y/__varve/unfinished.json": "{}", "y/c/0": "old"} {
		if _, err := store.Put(t.Context(), to, store.MustKey(key), []byte(text), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	before := values(t, to, "")
	share := &rewrite.Share{Of: 1}
	if _, err := rewrite.Sync(t.Context(), at(from, "x"), at(to, "y"), &rewrite.SyncOptions{Share: share}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if _, err := rewrite.ConvertTo(t.Context(), at(from, "x"), at(to, "y"), 2, &rewrite.Options{Share: share}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if d := differ(before, values(t, to, "")); d != "" {
		t.Error(d)
	}
	for _, o := range []*rewrite.Options{{Share: share}, {Resume: true}} {
		if _, err := rewrite.Copy(t.Context(), at(from, "x"), at(to, "z"), o); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Error(err)
		}
		if _, err := rewrite.Move(t.Context(), at(from, "x"), at(to, "z"), o); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Error(err)
		}
		if _, err := rewrite.Convert(t.Context(), at(from, "x"), 2, o); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Error(err)
		}
		o.Overwrite = true
		if _, err := rewrite.ConvertTo(t.Context(), at(from, "x"), at(to, "z"), 2, o); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Error(err)
		}
	}
}
