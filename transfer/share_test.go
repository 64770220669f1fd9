// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	"varve.dev/zarr/convert"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
)

// shared is an operation that several processes may share.
type shared func(ctx context.Context, from, to store.Store, share *transfer.Share) error

// alone asks for the operation without parts, and without going on.
var alone = new(transfer.Share)

func syncing(ctx context.Context, from, to store.Store, share *transfer.Share) error {
	if share == alone {
		share = nil
	}
	_, err := transfer.Sync(ctx, zarr.At(from, "x"), zarr.At(to, "deep/y"), &transfer.SyncOptions{Share: share, Delete: true})
	return err
}

func syncingNodes(ctx context.Context, from, to store.Store, share *transfer.Share) error {
	if share == alone {
		share = nil
	}
	_, err := transfer.Sync(ctx, zarr.At(from, "x"), zarr.At(to, "deep/y"), &transfer.SyncOptions{Share: share, Nodes: "[de]*"})
	return err
}

func converting(format int) shared {
	return func(ctx context.Context, from, to store.Store, share *transfer.Share) error {
		o := &convert.Options{Share: share, Resume: share == nil, FillAll: true}
		if share == alone {
			o.Share = nil
		}
		_, err := convert.ConvertTo(ctx, zarr.At(from, "x"), zarr.At(to, "deep/y"), format, o)
		return err
	}
}

// sharedCases are operations on hierarchies, with what they make without parts.
var sharedCases = map[string]struct {
	build func(testing.TB, store.Store, string)
	do    shared
}{
	"sync of format 3":    {trees.Tree, syncing},
	"sync of format 2":    {trees.TreeV2, syncing},
	"sync of old codecs":  {trees.Archive, syncing},
	"sync of nodes":       {trees.Tree, syncingNodes},
	"to format 2":         {trees.Arrays, converting(2)},
	"sparse to format 2":  {func(t testing.TB, s store.Store, path string) { trees.Sparse(t, s, path, 0) }, converting(2)},
	"to format 3":         {trees.TreeV2, converting(3)},
	"archive to format 3": {trees.Archive, converting(3)},
	"archive to format 2": {trees.Archive, converting(2)},
}

// whole returns what an operation makes without parts, and without going on.
func whole(t *testing.T, from store.Store, do shared) map[string]string {
	t.Helper()
	to := memtest.New()
	if err := do(t.Context(), from, to, alone); err != nil {
		t.Fatal(err)
	}
	return trees.Values(t, to, "")
}

// checkNoDocuments checks that parts have published nothing.
func checkNoDocuments(t *testing.T, to store.Store) {
	t.Helper()
	for name := range trees.Values(t, to, "") {
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
			left := memtest.New()
			c.build(t, left, "x")
			want := whole(t, left, c.do)
			for seed := range uint64(rounds) {
				r := rand.New(rand.NewPCG(seed, 5))
				var from store.Store = left
				if r.IntN(2) == 0 {
					from = trees.Aged{Store: left}
				}
				to := memtest.New()
				shareAtRandom(t, r, from, to, c.do)
				checkNoDocuments(t, to)
				if r.IntN(3) == 0 { // the call that publishes is stopped, too
					stopped(t, r, to, func(to store.Store) error { return c.do(t.Context(), from, to, nil) })
				}
				if err := c.do(t.Context(), from, to, nil); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				got := trees.Values(t, to, "")
				if d := trees.Differ(want, got); d != "" {
					t.Fatalf("seed %d: %s", seed, d)
				}
				// Late parts, and another publication, change nothing.
				late := []*transfer.Share{nil, {Task: 0, Of: 2}, {Task: 1, Of: 2}, {}}
				for _, share := range late[r.IntN(2):] {
					if share == nil && from == store.Store(left) {
						continue // Sync copies what is as young as its source
					}
					if err := c.do(t.Context(), from, to, share); err != nil {
						t.Fatalf("seed %d, late part: %v", seed, err)
					}
				}
				if d := trees.Differ(got, trees.Values(t, to, "")); d != "" {
					t.Fatalf("seed %d, late: %s", seed, d)
				}
			}
		})
	}
}

// shareAtRandom runs all parts of a random number at least once.
func shareAtRandom(t *testing.T, r *rand.Rand, from store.Store, to memtest.Store, do shared) {
	t.Helper()
	of := int64(1 + r.IntN(5))
	var parts []int64
	for i := range of {
		parts = append(parts, slices.Repeat([]int64{i}, 1+r.IntN(2))...)
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	for _, task := range parts {
		share := &transfer.Share{Task: task, Of: of}
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
func stopped(t *testing.T, r *rand.Rand, to memtest.Store, do func(store.Store) error) {
	t.Helper()
	var n atomic.Int64
	last := r.Int64N(60)
	h := stepping.Hooks{Before: func(context.Context, stepping.Op) error {
		if n.Add(1) > last {
			return errStopped
		}
		return nil
	}}
	if err := do(stepping.Conditional(to, h)); err != nil && !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
}

// TestSharesAtOnce runs all parts twice at the same time, and the publication beside the
// late ones.
func TestSharesAtOnce(t *testing.T) {
	for name, c := range sharedCases {
		t.Run(name, func(t *testing.T) {
			left, to := memtest.New(), memtest.New()
			c.build(t, left, "x")
			from, want := trees.Aged{Store: left}, whole(t, left, c.do)
			at := func(parts ...*transfer.Share) {
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
			a, b, d := &transfer.Share{Task: 0, Of: 3}, &transfer.Share{Task: 1, Of: 3}, &transfer.Share{Task: 2, Of: 3}
			at(a, a, b, b, d)
			at(nil, a, b, d)
			if d := trees.Differ(want, trees.Values(t, to, "")); d != "" {
				t.Fatal(d)
			}
		})
	}
}

// TestSharesStopped stops parts and the publication before every operation. Parts and a
// publication without a stop then make the same as ever.
func TestSharesStopped(t *testing.T) {
	racing.Skip(t) // one goroutine, many times
	for name, do := range map[string]func(ctx context.Context, from, to store.Store, share *transfer.Share) error{
		"sync": func(ctx context.Context, from, to store.Store, share *transfer.Share) error {
			_, err := transfer.Sync(ctx, zarr.At(from, "x"), zarr.At(to, "y"), &transfer.SyncOptions{Share: share, Options: zarr.Options{Concurrency: 1}})
			return err
		},
		"convert": func(ctx context.Context, from, to store.Store, share *transfer.Share) error {
			o := &convert.Options{Share: share, Resume: share == nil, Options: zarr.Options{Concurrency: 1}}
			_, err := convert.ConvertTo(ctx, zarr.At(from, "x"), zarr.At(to, "y"), 2, o)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			left := memtest.New()
			if _, err := zarr.At(left, "x").CreateGroup(t.Context(), nil, nil); err != nil {
				t.Fatal(err)
			}
			trees.Numbered(t, zarr.At(left, "x/a"), 6)
			spec := trees.Plain(6, 0)
			spec.Chunks = []grid.Cut{grid.Edges(1, 2, 3)}
			b, err := zarr.At(left, "x/b").CreateArray(t.Context(), spec, nil)
			if err == nil {
				err = zarr.Write(t.Context(), b, nil, trees.Counting(0, 6))
			}
			if err != nil {
				t.Fatal(err)
			}
			from, want := trees.Aged{Store: left}, map[string]string(nil)
			all := func(to store.Store) error {
				for _, share := range []*transfer.Share{{Task: 0, Of: 2}, {Task: 1, Of: 2}, nil} {
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
					to := memtest.New()
					if err := do(t.Context(), from, to, nil); err != nil {
						t.Fatal(err)
					}
					want = trees.Values(t, to, "")
				}
				to := fixture.FileStore(disk)
				if !stopped() {
					t.Logf("%d operations", n)
					if d := trees.Differ(want, trees.Values(t, to, "")); d != "" || err != nil || n < 50 {
						t.Fatalf("%d operations: %v: %s", n, err, d)
					}
					break
				}
				if begun, err := transfer.Unfinished(t.Context(), zarr.At(to, "y")); err != nil || !begun && trees.Differ(trees.Values(t, to, "y"), nil) != "" {
					if d := trees.Differ(want, trees.Values(t, to, "")); d != "" {
						t.Fatalf("operation %d: nothing says that it is unfinished (%v): %s", n, err, d)
					}
				}
				if err := all(to); err != nil {
					t.Fatalf("operation %d: again: %v", n, err)
				}
				if d := trees.Differ(want, trees.Values(t, to, "")); d != "" {
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
				left := memtest.New()
				trees.TreeV2(t, left, "x")
				from, share := trees.Aged{Store: left}, &transfer.Share{Task: 1, Of: 2}
				if name == "convert twice" {
					share = nil
				}
				image := memtest.New()
				switch state {
				case "begun":
					if err := do(t.Context(), from, image, &transfer.Share{Task: 0, Of: 2}); err != nil {
						t.Fatal(err)
					}
				case "older":
					if err := do(t.Context(), from, image, nil); err != nil {
						t.Fatal(err)
					}
					from.Store = memtest.New()
					longer(t, left, from.Store)
				}
				want := whole(t, from, do)
				for n := int64(0); ; n++ {
					to := memtest.New()
					for key, text := range trees.Values(t, image, "") {
						if _, err := to.Write(t.Context(), store.Put(store.MustKey(key), []byte(text)), store.Flush); err != nil {
							t.Fatal(err)
						}
					}
					var seen atomic.Int64
					h := stepping.Hooks{Before: func(ctx context.Context, _ stepping.Op) error {
						if seen.Add(1)-1 != n {
							return nil
						}
						return do(context.WithoutCancel(ctx), from, to, nil)
					}}
					if err := do(t.Context(), from, stepping.Conditional(to, h), share); err != nil {
						t.Fatalf("before operation %d: %v", n, err)
					}
					if seen.Load() <= n {
						if n < 10 {
							t.Fatalf("%d operations", n)
						}
						return
					}
					if d := trees.Differ(want, trees.Values(t, to, "")); d != "" {
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
	if _, err := transfer.Copy(t.Context(), zarr.At(from, "x"), zarr.At(to, "x"), nil); err != nil {
		t.Fatal(err)
	}
	a, err := zarr.At(to, "x/a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Write(t.Context(), a, selection.Box{{0, 10}, {0, 7}}, trees.Counting(5, 70))
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
	from, to := memtest.New(), memtest.New()
	src, dst := zarr.At(from, "in/x"), zarr.At(to, "y")
	c := trees.NewChanger(t, r, src, 3-int(seed%4/3))
	if _, err := src.CreateGroup(t.Context(), nil, &zarr.CreateOptions{Options: c.Options, Format: c.Format}); err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		for range r.IntN(8) {
			if r.IntN(2) == 0 {
				c.Step()
			}
			time.Sleep(time.Duration(r.Int64N(int64(time.Minute))))
			of := int64(1 + r.IntN(3))
			o := &transfer.SyncOptions{Delete: true, Checksum: r.IntN(3) == 0, Share: &transfer.Share{Task: r.Int64N(of), Of: of}}
			if _, err := transfer.Sync(t.Context(), src, dst, o); err != nil && !errors.Is(err, zarr.ErrConflict) {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if _, err := transfer.Sync(t.Context(), src, dst, &transfer.SyncOptions{Delete: true, Verify: true}); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		want, got := described(t, src), trees.Values(t, to, "y")
		trees.TrimDocuments(want)
		trees.TrimDocuments(got)
		// Keys of another number of axes are no chunks of the array that has come.
		maps.DeleteFunc(got, func(name, _ string) bool { _, found := want[name]; return !found })
		if d := trees.Differ(want, got); d != "" {
			t.Fatalf("round %d: %s", round, d)
		}
		if begun, err := transfer.Unfinished(t.Context(), dst); begun || err != nil {
			t.Fatalf("round %d: the note stays (%v)", round, err)
		}
		if d := unequal(t.Context(), src, dst); d != "" {
			t.Fatalf("round %d: %s", round, d)
		}
	}
}

func ExampleShare() {
	ctx, s := context.Background(), memstore.New()
	a, err := zarr.At(s, "days").CreateArray(ctx, trees.Plain(100, 2), nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, trees.Counting(0, 100))
	}
	if err != nil {
		panic(err)
	}
	// Each part may run in a process of its own, in any order.
	all := int64(0)
	for task := range int64(4) {
		o := &transfer.SyncOptions{Share: &transfer.Share{Task: task, Of: 4}, Checksum: true}
		r, err := transfer.Sync(ctx, a.Location(), zarr.At(s, "mirror"), o)
		if err != nil {
			panic(err)
		}
		all += r.New
	}
	r, err := transfer.Sync(ctx, a.Location(), zarr.At(s, "mirror"), &transfer.SyncOptions{Checksum: true})
	fmt.Println(all, r.New, r.Kept, r.Documents, err)
	// Output: 50 0 50 1 <nil>
}

// TestShareSpread checks that parts are even.
func TestShareSpread(t *testing.T) {
	left := memtest.New()
	trees.Numbered(t, zarr.At(left, "x/even"), 4000)
	for _, of := range []int64{2, 3, 16} {
		all := int64(0)
		for task := range of {
			o := &transfer.SyncOptions{DryRun: true, Share: &transfer.Share{Task: task, Of: of}}
			r, err := transfer.Sync(t.Context(), zarr.At(left, "x"), zarr.At(memtest.New(), ""), o)
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
	for _, share := range []transfer.Share{{Task: 1}, {Task: -1, Of: 2}, {Task: 2, Of: 2}, {Of: -1}} {
		if _, err := transfer.Sync(t.Context(), zarr.At(left, "x"), zarr.At(memtest.New(), ""), &transfer.SyncOptions{Share: &share}); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%v: %v", share, err)
		}
	}
}

// TestSyncShareGrowing shares the copy of an array that grows, is rechunked, and is
// replaced by another one with the same keys and sizes.
func TestSyncShareGrowing(t *testing.T) {
	from, to := memtest.New(), memtest.New()
	part := func(task int64) error {
		_, err := transfer.Sync(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), &transfer.SyncOptions{Share: &transfer.Share{Task: task, Of: 2}})
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
		if _, err := transfer.Sync(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), &transfer.SyncOptions{Delete: true, Verify: true}); err != nil {
			t.Fatal(err)
		}
		if d := trees.Differ(described(t, zarr.At(from, "x")), trees.Values(t, to, "y")); d != "" {
			t.Fatal(d)
		}
	}
	a := trees.Numbered(t, zarr.At(from, "x/a"), 16)
	if _, err := zarr.At(from, "x").CreateGroup(t.Context(), nil, nil); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	check(nil, 0)
	if err := zarr.Append(t.Context(), a, 0, trees.Counting(16, 8), nil); err != nil {
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
	if err := zarr.At(from, "x/a").Delete(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	b, err := zarr.At(from, "x/a").CreateArray(t.Context(), trees.Plain(24, 4), nil)
	if err == nil {
		err = zarr.Write(t.Context(), b, nil, trees.Counting(100, 24))
	}
	if err != nil {
		t.Fatal(err)
	}
	publish()
	// Values of a part for an array that is replaced before the publication.
	to = memtest.New()
	check(nil, 0, 1)
	if err := zarr.At(from, "x/a").Delete(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	spec := trees.Plain(8, 4)
	c, err := zarr.At(from, "x/a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), c, selection.Box{{4, 8}}, trees.Counting(7, 4))
	}
	if err != nil {
		t.Fatal(err)
	}
	publish()
	// Something has changed since the publication: the part leaves the note.
	if err := zarr.Write(t.Context(), c, selection.Box{{4, 8}}, trees.Counting(9, 4)); err != nil {
		t.Fatal(err)
	}
	check(nil, 0, 1)
	if begun, err := transfer.Unfinished(t.Context(), zarr.At(to, "y")); !begun || err != nil {
		t.Error("a late part has changed something without a note", err)
	}
	publish()
	if begun, err := transfer.Unfinished(t.Context(), zarr.At(to, "y")); begun || err != nil {
		t.Error("the note stays", err)
	}
}

// TestShareClash checks that a part does not remove an array whose keys have other chunks
// in the source.
func TestShareClash(t *testing.T) {
	from, to := memtest.New(), memtest.New()
	for i, chunk := range []int64{2, 4} {
		a, err := zarr.At(from, "x").CreateArray(t.Context(), trees.Plain(8, chunk), nil)
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, trees.Counting(int64(i), 8))
		}
		if err == nil && i == 0 {
			_, err = transfer.Sync(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), nil)
			err = errors.Join(err, zarr.At(from, "x").Delete(t.Context(), &zarr.Options{Write: true}))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	before := trees.Values(t, to, "")
	for _, dry := range []bool{false, true} {
		o := &transfer.SyncOptions{Share: &transfer.Share{Of: 2}, DryRun: dry, Delete: true}
		if _, err := transfer.Sync(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), o); !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), `"/y"`) {
			t.Error(err)
		}
	}
	if d := trees.Differ(before, trees.Values(t, to, "")); d != "" {
		t.Error(d)
	}
	if _, err := transfer.Sync(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), nil); err != nil {
		t.Fatal(err)
	}
	if got := elements(t, zarr.At(to, "y")); !slices.Equal(got, trees.Counting(1, 8)) {
		t.Errorf("it has %v", got)
	}
}

// TestShareForeign checks that a part deletes nothing that another copy has left.
func TestShareForeign(t *testing.T) {
	from, to := memtest.New(), memtest.New()
	trees.Numbered(t, zarr.At(from, "x"), 4)
	for key, text := range map[string]string{"y/__varve/unfinished.json": "{}", "y/c/0": "old"} {
		if _, err := store.Write(t.Context(), to, store.Put(store.MustKey(key), []byte(text)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	before := trees.Values(t, to, "")
	share := &transfer.Share{Of: 1}
	if _, err := transfer.Sync(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), &transfer.SyncOptions{Share: share}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if _, err := convert.ConvertTo(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), 2, &convert.Options{Share: share}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if d := trees.Differ(before, trees.Values(t, to, "")); d != "" {
		t.Error(d)
	}
	for _, o := range []*convert.Options{{Share: share}, {Resume: true}} {
		if _, err := convert.Convert(t.Context(), zarr.At(from, "x"), 2, o); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Error(err)
		}
		o.Overwrite = true
		if _, err := convert.ConvertTo(t.Context(), zarr.At(from, "x"), zarr.At(to, "z"), 2, o); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Error(err)
		}
	}
}
