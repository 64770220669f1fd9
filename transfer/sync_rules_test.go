// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/transfer"
)

// elements reads an array of one axis.
func elements(t testing.TB, at *zarr.Location) []int32 {
	t.Helper()
	a, err := at.OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v.Data
}

// tally counts the operations of a store.
type tally struct {
	mu  sync.Mutex
	ops map[string]int
}

func (c *tally) before(_ context.Context, op stepping.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ops == nil {
		c.ops = map[string]int{}
	}
	c.ops[op.Name]++
	return nil
}

// TestSyncRequests counts the requests of a second Sync without changes, and with one new
// chunk: they do not depend on the number of chunks.
func TestSyncRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var from, to tally
		src := zarr.At(stepping.Conditional(memtest.New(), stepping.Hooks{Before: from.before}), "a")
		dst := zarr.At(stepping.Conditional(memtest.New(), stepping.Hooks{Before: to.before}), "b")
		a := trees.Numbered(t, src, 600)
		time.Sleep(2 * copying.Slack)
		if r, err := transfer.Sync(t.Context(), src, dst, nil); err != nil || r.New != 300 || r.Documents != 1 || r.Bytes != 2400 {
			t.Fatalf("%+v, %v", r, err)
		}
		from.ops, to.ops = nil, nil
		if r, err := transfer.Sync(t.Context(), src, dst, nil); err != nil || r.Kept != 300 {
			t.Fatalf("%+v, %v", r, err)
		}
		// The documents of the source at the beginning and at the end, that of the
		// destination, and the look at its place.
		if want := map[string]int{"Get": 2, "List": 1}; !maps.Equal(from.ops, want) {
			t.Errorf("the source: %v, want %v", from.ops, want)
		}
		if want := map[string]int{"Get": 1, "Stat": 1, "List": 1}; !maps.Equal(to.ops, want) {
			t.Errorf("the destination: %v, want %v", to.ops, want)
		}
		if err := zarr.Write(t.Context(), a, selection.Box{{8, 10}}, []int32{7, 7}); err != nil {
			t.Fatal(err)
		}
		from.ops, to.ops = nil, nil
		if r, err := transfer.Sync(t.Context(), src, dst, nil); err != nil || r.Replaced != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		if want := map[string]int{"Get": 3, "List": 1}; !maps.Equal(from.ops, want) {
			t.Errorf("the source: %v, want %v", from.ops, want)
		}
	})
}

// TestSyncTimes checks which values are taken for copies by their times.
func TestSyncTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := memtest.New(), memtest.New()
		trees.Numbered(t, zarr.At(from, ""), 8)
		sync := func(want, kept int64, opt *transfer.SyncOptions) {
			t.Helper()
			r, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, ""), opt)
			if err != nil || r.New+r.Replaced != want || r.Kept != kept {
				t.Fatalf("%+v, want %d copies (%v)", r, want, err)
			}
		}
		put := func(s store.Store, key, value string) {
			t.Helper()
			if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte(value)), store.Flush); err != nil {
				t.Fatal(err)
			}
		}
		sync(4, 0, nil)
		// They were written within the slack before they were copied.
		time.Sleep(copying.Slack / 2)
		sync(4, 0, nil)
		time.Sleep(copying.Slack)
		sync(4, 0, nil)
		sync(0, 4, nil)
		// Another one of the same size is noticed by its time, here and there.
		put(from, "c/1", "12345678")
		sync(1, 3, nil)
		time.Sleep(2 * copying.Slack)
		sync(1, 3, nil)
		sync(0, 4, nil)
		// A younger one of the same size at the destination is taken for a copy, unless
		// bytes are compared. One of another size is not.
		put(to, "c/2", "damaged.")
		put(to, "c/3", "short")
		if _, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, ""), &transfer.SyncOptions{Verify: true}); !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), "c/2") {
			t.Fatalf("verified: %v", err)
		}
		sync(1, 3, &transfer.SyncOptions{Checksum: true})
		sync(0, 4, &transfer.SyncOptions{Checksum: true, Verify: true})
		// Values before a time are not looked at, but missing ones are copied.
		border := time.Now()
		time.Sleep(time.Second)
		put(from, "c/0", "87654321")
		if _, err := store.Write(t.Context(), to, store.Delete(store.MustKey("c/3")), store.Sync); err != nil {
			t.Fatal(err)
		}
		sync(2, 2, &transfer.SyncOptions{NewerThan: border})
		if d := trees.Differ(trees.Values(t, from, ""), trees.Values(t, to, "")); d != "" {
			t.Error(d)
		}
	})
}

// TestSyncLongCopy checks that a value that changes while a long copy of it runs is
// copied again: by the times it would look like a copy.
func TestSyncLongCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, to := memtest.New(), memtest.New()
		trees.Numbered(t, zarr.At(left, ""), 4)
		slow := true
		from := stepping.Conditional(left, stepping.Hooks{After: func(op stepping.Op, err error) error {
			if op.Name == "Get" && op.Key.String() == "c/1" && slow {
				slow = false
				_, err = store.Write(t.Context(), left, store.Put(op.Key, []byte("changed!")), store.Flush)
				time.Sleep(5 * copying.Slack)
			}
			return err
		}})
		if _, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, ""), nil); err != nil {
			t.Fatal(err)
		}
		if d := trees.Differ(trees.Values(t, left, ""), trees.Values(t, to, "")); d != "" {
			t.Error(d)
		}
	})
}

// TestSyncGrowing syncs an array that grows whenever it is listed or its document is
// read: the destination shows one of its states.
func TestSyncGrowing(t *testing.T) {
	for name, on := range map[string]func(op stepping.Op) bool{
		"listed": func(op stepping.Op) bool { return op.Name == "List" },
		"read":   func(op stepping.Op) bool { return strings.HasSuffix(op.Key.String(), "c/0") },
	} {
		t.Run(name, func(t *testing.T) {
			left, to := memtest.New(), memtest.New()
			a := trees.Numbered(t, zarr.At(left, ""), 4)
			var mu sync.Mutex
			from := stepping.Conditional(left, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
				if !on(op) {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				n := a.Shape()[0]
				return zarr.Append(context.WithoutCancel(ctx), a, 0, trees.Counting(n, 2), nil)
			}})
			for range 3 {
				if _, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, ""), nil); err != nil {
					t.Fatal(err)
				}
				got := elements(t, zarr.At(to, ""))
				if !slices.Equal(got, trees.Counting(0, int64(len(got)))) || len(got) < 4 {
					t.Fatalf("the destination has %v", got)
				}
			}
		})
	}
}

// TestSyncChanging syncs an array that gets another grid whenever it is listed.
func TestSyncChanging(t *testing.T) {
	left, to := memtest.New(), memtest.New()
	a := trees.Numbered(t, zarr.At(left, ""), 12)
	rounds := 0
	from := stepping.Conditional(left, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
		if op.Name != "List" {
			return nil
		}
		rounds++
		_, err := rechunk.Do(ctx, a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(int64(2 + rounds%3))}}, nil)
		if err == nil {
			_, err = rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1})
		}
		return err
	}})
	if _, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, ""), nil); !errors.Is(err, zarr.ErrConflict) || rounds > 10 {
		t.Fatalf("%d rounds: %v", rounds, err)
	}
	if _, err := zarr.At(to, "").OpenArray(t.Context(), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is published: %v", err)
	}
	if r, err := transfer.Sync(t.Context(), zarr.At(left, ""), zarr.At(to, ""), &transfer.SyncOptions{Delete: true, Verify: true}); err != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := elements(t, zarr.At(to, "")); !slices.Equal(got, trees.Counting(0, 12)) {
		t.Errorf("the destination has %v", got)
	}
}

// TestSyncRival changes a document of the destination before it is published.
func TestSyncRival(t *testing.T) {
	from, left := memtest.New(), memtest.New()
	a := trees.Numbered(t, zarr.At(from, ""), 4)
	if _, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(left, ""), nil); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Append(t.Context(), a, 0, trees.Counting(4, 4), nil); err != nil {
		t.Fatal(err)
	}
	b, err := zarr.At(left, "").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool // values are copied at once
	to := stepping.Conditional(left, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
		if !strings.HasPrefix(op.Key.String(), "c/3") || done.Swap(true) {
			return nil
		}
		return b.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"by":"a rival"}`), nil })
	}})
	if _, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, ""), nil); !errors.Is(err, zarr.ErrConflict) {
		t.Fatal(err)
	}
	if begun, err := transfer.Unfinished(t.Context(), zarr.At(left, "")); !begun || err != nil {
		t.Error("it does not say that it is unfinished", err)
	}
	if got := elements(t, zarr.At(left, "")); !slices.Equal(got, trees.Counting(0, 4)) {
		t.Errorf("the destination has %v", got)
	}
}

// hiding is a store whose listings lack one key, as those of a directory may in which a
// file is being replaced.
type hiding struct {
	store.Store
	key string
}

func (h hiding) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range store.List(ctx, h.Store, dir, how) {
			if e.Name != h.key && !yield(e, err) {
				return
			}
		}
	}
}

// TestSyncCareful checks that nothing is deleted because of a listing that lacks a value
// or has failed.
func TestSyncCareful(t *testing.T) {
	from, to := memtest.New(), memtest.New()
	trees.Numbered(t, zarr.At(from, "x/a"), 4)
	trees.Numbered(t, zarr.At(from, "x/b"), 4)
	if _, err := transfer.Sync(t.Context(), zarr.At(from, "x"), zarr.At(to, ""), nil); err != nil {
		t.Fatal(err)
	}
	want := trees.Values(t, to, "")
	for _, key := range []string{"a/c/1", "b"} { // of the deep listing, and of that of the group
		r, err := transfer.Sync(t.Context(), zarr.At(hiding{from, key}, "x"), zarr.At(to, ""), &transfer.SyncOptions{Delete: true})
		if d := trees.Differ(want, trees.Values(t, to, "")); err != nil || d != "" || r.Cleared > 0 {
			t.Errorf("%s is hidden: %+v, %v: %s", key, r, err, d)
		}
	}
	stop := errors.New("stopped")
	failing := stepping.Conditional(from, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Name == "Stat" || op.Name == "List" && op.Key.String() == "x" {
			return stop
		}
		return nil
	}})
	if _, err := transfer.Sync(t.Context(), zarr.At(failing, "x"), zarr.At(to, ""), &transfer.SyncOptions{Delete: true}); !errors.Is(err, stop) {
		t.Error(err)
	}
	if d := trees.Differ(want, trees.Values(t, to, "")); d != "" {
		t.Error(d)
	}
}

// TestSyncDelete checks what is deleted and what stays.
func TestSyncDelete(t *testing.T) {
	from, to := memtest.New(), memtest.New()
	for _, name := range []string{"a", "b", "g/c"} {
		trees.Numbered(t, zarr.At(from, name), 4)
	}
	if _, err := transfer.Sync(t.Context(), zarr.At(from, "a"), zarr.At(to, "y/a"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := zarr.At(from, "").CreateGroup(t.Context(), nil, nil); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	for key, s := range map[string]store.Store{
		"a/c/9": from, "a/readme": from, "stray/c/0": from, // not copied
		"y/a/c/8": to, "y/a/0.3": to, "y/a/note.txt": to, "y/other/readme": to, "outside": to,
	} {
		if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte("text")), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	trees.Numbered(t, zarr.At(to, "y/old"), 4)
	trees.Numbered(t, zarr.At(to, "y/g/old"), 4)
	trees.Numbered(t, zarr.At(to, "z"), 4)
	sync := func(opt transfer.SyncOptions) transfer.SyncReport {
		t.Helper()
		r, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, "y"), &opt)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	gone := []string{"g/old", "old"}
	if r := sync(transfer.SyncOptions{}); r.Left != 1 || r.Dropped != 0 || r.Other != 3 || !slices.Equal(r.DroppedNodes, gone) || r.Arrays != 3 || r.Groups != 2 {
		t.Errorf("%+v", r)
	}
	if r := sync(transfer.SyncOptions{Delete: true, DryRun: true}); r.Dropped != 1 || !slices.Equal(r.DroppedNodes, gone) {
		t.Errorf("%+v", r)
	}
	if r := sync(transfer.SyncOptions{Delete: true}); r.Left != 0 || r.Dropped != 1 || !slices.Equal(r.DroppedNodes, gone) {
		t.Errorf("%+v", r)
	}
	var left []string
	for name := range trees.Values(t, to, "") {
		if !strings.HasSuffix(name, "zarr.json") && !strings.Contains(name, "c/0") && !strings.Contains(name, "c/1") {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	if want := []string{"outside", "y/a/0.3", "y/a/note.txt", "y/other/readme"}; !slices.Equal(left, want) {
		t.Errorf("%q stay, want %q", left, want)
	}
	if got := elements(t, zarr.At(to, "z")); len(got) != 4 {
		t.Error("the node beside is gone")
	}
}

// TestSyncKinds replaces an array by a group, and the other way round, if deletions are
// asked for.
func TestSyncKinds(t *testing.T) {
	from, to := memtest.New(), memtest.New()
	trees.Numbered(t, zarr.At(from, "a"), 4)
	trees.Numbered(t, zarr.At(from, "g/b"), 4)
	trees.Numbered(t, zarr.At(to, "g"), 6)
	trees.Numbered(t, zarr.At(to, "a/deep"), 6)
	before := trees.Values(t, to, "")
	if _, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, ""), nil); !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	if d := trees.Differ(before, trees.Values(t, to, "")); d != "" {
		t.Error(d)
	}
	r, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, ""), &transfer.SyncOptions{Delete: true, Verify: true})
	if err != nil || len(r.ReplacedNodes) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if d := trees.Differ(trees.Values(t, from, ""), trees.Values(t, to, "")); d != "" {
		t.Error(d)
	}
}

// TestSyncUnknown syncs arrays with codecs, and with a grid, that Varve does not know.
func TestSyncUnknown(t *testing.T) {
	from, to := memtest.New(), memtest.New()
	trees.Numbered(t, zarr.At(from, "a"), 4)
	document := string(trees.Values(t, from, "a")["zarr.json"])
	for key, text := range map[string]string{
		"b/zarr.json": strings.ReplaceAll(document, `"bytes"`, `"magic"`), "b/c/0": "one", "b/c/9": "no chunk",
		"d/zarr.json": strings.ReplaceAll(document, `"regular"`, `"irregular"`), "d/x/0": "anything",
	} {
		if _, err := from.Write(t.Context(), store.Put(store.MustKey(key), []byte(text)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, ""), &transfer.SyncOptions{Verify: true}); err != nil {
		t.Fatal(err)
	}
	want := trees.Values(t, from, "")
	delete(want, "b/c/9")
	if d := trees.Differ(want, trees.Values(t, to, "")); d != "" {
		t.Error(d)
	}
	if _, err := to.Write(t.Context(), store.Put(store.MustKey("d/x/1"), []byte("more")), store.Flush); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, ""), nil); !errors.Is(err, zarr.ErrUnsupported) {
		t.Errorf("what may be a chunk: %v", err)
	}
	if _, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, ""), &transfer.SyncOptions{Delete: true}); err != nil {
		t.Error(err)
	}
	if d := trees.Differ(want, trees.Values(t, to, "")); d != "" {
		t.Error(d)
	}
}

// TestSyncNodes syncs some nodes of a hierarchy of each format.
func TestSyncNodes(t *testing.T) {
	for kind, build := range map[string]func(testing.TB, store.Store, string){"new": trees.Tree, "two": trees.TreeV2} {
		t.Run(kind, func(t *testing.T) {
			from, to := memtest.New(), memtest.New()
			build(t, from, "x")
			r, err := transfer.Sync(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), &transfer.SyncOptions{Nodes: "*/b"})
			if err != nil || r.Arrays != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			both, err := transfer.Sync(t.Context(), zarr.At(from, "x"), zarr.At(memtest.New(), ""), &transfer.SyncOptions{Nodes: "[ad]*"})
			if want := map[string]int{"new": 3, "two": 2}[kind]; err != nil || both.Arrays != want || both.New <= r.New {
				t.Fatalf("%+v, %v", both, err)
			}
			g, err := zarr.At(to, "y").OpenGroup(t.Context(), nil)
			if err != nil || !strings.Contains(string(g.Attributes()), "title") || g.Metadata().Consolidated != nil {
				t.Fatalf("the group: %v", err)
			}
			if d := trees.Differ(trees.Values(t, from, "x/deep/b"), trees.Values(t, to, "y/deep/b")); d != "" {
				t.Error(d)
			}
			if found, err := store.Exists(t.Context(), to, store.MustKey("y/a/zarr.json")); found || err != nil {
				t.Errorf("a is there, too (%v)", err)
			}
			for _, o := range []transfer.SyncOptions{{Nodes: "none"}, {Nodes: "["}, {Nodes: "a", Delete: true}} {
				if _, err := transfer.Sync(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), &o); err == nil {
					t.Errorf("%q is not refused", o.Nodes)
				}
			}
			if _, err := transfer.Sync(t.Context(), zarr.At(from, "x"), zarr.At(to, "y"), &transfer.SyncOptions{Delete: true}); err != nil {
				t.Fatal(err)
			}
			if d := trees.Differ(described(t, zarr.At(from, "x")), trees.Values(t, to, "y")); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestSyncFiles syncs directories, with values of many ranges, and refuses links below
// the destination.
func TestSyncFiles(t *testing.T) {
	src, dst := trees.Directory(t), trees.Directory(t)
	trees.Tree(t, src, "")
	large := bytes.Repeat([]byte("0123456789"), 2<<20)
	if _, err := store.Write(t.Context(), src, store.Put(store.MustKey("a/c/3/1"), large), store.Flush); err != nil {
		t.Fatal(err)
	}
	far := memtest.New()
	for _, step := range [][2]*zarr.Location{{zarr.At(src, ""), zarr.At(dst, "y")}, {zarr.At(src, ""), zarr.At(far, "y")}, {zarr.At(far, "y"), zarr.At(trees.Directory(t), "")}} {
		for range 2 {
			r, err := transfer.Sync(t.Context(), step[0], step[1], &transfer.SyncOptions{Checksum: true, Verify: true})
			if err != nil || r.Verified == 0 || r.VerifiedBytes < int64(len(large)) {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		if d := trees.Differ(trees.Values(t, src, ""), valuesOf(t, step[1])); d != "" {
			t.Error(d)
		}
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "0"), []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/l.zarr"
	linked, err := filestore.Open(dir, &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(linked)
	trees.Numbered(t, zarr.At(linked, "a"), 4)
	if err := os.Symlink(outside, filepath.Join(dir, "a", "more")); err != nil {
		t.Skip("this system makes no symbolic links")
	}
	trees.Numbered(t, zarr.At(src, "l/a"), 4)
	if _, err := transfer.Sync(t.Context(), zarr.At(src, "l"), zarr.At(linked, ""), &transfer.SyncOptions{Delete: true}); !errors.Is(err, zarr.ErrInvalidArgument) ||
		!strings.Contains(err.Error(), `"a/more" in the destination is a symbolic link`) {
		t.Errorf("a link: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "0")); err != nil {
		t.Error(err)
	}
}

// TestSyncRefused checks which places are refused.
func TestSyncRefused(t *testing.T) {
	s := memtest.New()
	trees.Tree(t, s, "x")
	trees.Opaque(t, s, "old")
	if _, err := s.Write(t.Context(), store.Put(store.MustKey("other/readme"), []byte("text")), store.Flush); err != nil {
		t.Fatal(err)
	}
	before := trees.Values(t, s, "")
	for name, c := range map[string]struct {
		src, dst *zarr.Location
		want     error
	}{
		"itself":         {zarr.At(s, "x"), zarr.At(s, "x"), zarr.ErrInvalidArgument},
		"into itself":    {zarr.At(s, "x"), zarr.At(s, "x/y"), zarr.ErrInvalidArgument},
		"over its group": {zarr.At(s, "x/deep"), zarr.At(s, "x"), zarr.ErrInvalidArgument},
		"no node":        {zarr.At(s, "other"), zarr.At(s, "y"), fs.ErrNotExist},
		"files":          {zarr.At(s, "x"), zarr.At(s, "other"), fs.ErrExist},
		"below an array": {zarr.At(s, "x/deep"), zarr.At(s, "x/a/y"), zarr.ErrInvalidArgument},
		"other format":   {zarr.At(s, "x"), zarr.At(s, "old/y"), zarr.ErrInvalidArgument},
	} {
		if _, err := transfer.Sync(t.Context(), c.src, c.dst, &transfer.SyncOptions{Delete: true}); !errors.Is(err, c.want) {
			t.Errorf("%s: error is %v, want %v", name, err, c.want)
		}
	}
	if d := trees.Differ(before, trees.Values(t, s, "")); d != "" {
		t.Errorf("changed: %s", d)
	}
}

// TestSyncMany syncs more values than fit into one batch, in listings of different
// orders.
func TestSyncMany(t *testing.T) {
	src, far := trees.Directory(t), memtest.New()
	o := &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}}
	a, err := zarr.At(src, "").CreateArray(t.Context(), trees.Plain(5000, 1), o)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, trees.Counting(0, 5000))
	}
	if err != nil {
		t.Fatal(err)
	}
	opt := &transfer.SyncOptions{Options: o.Options, Checksum: true}
	for i, want := range []int64{5000, 1, 1} {
		r, err := transfer.Sync(t.Context(), zarr.At(src, ""), zarr.At(far, ""), opt)
		if err != nil || r.New+r.Replaced != want || r.Kept != 5000-want {
			t.Fatalf("run %d: %+v, %v", i, r, err)
		}
		if err := zarr.Write(t.Context(), a, selection.Box{{4999, 5000}}, []int32{int32(-5 - i)}); err != nil {
			t.Fatal(err)
		}
	}
}

// young syncs an array of four chunks again and again.
type young struct {
	*testing.T
	from, to store.Store
}

// sync syncs and checks what was counted, and that both nodes have the same values then.
func (y *young) sync(opt *transfer.SyncOptions, added, replaced, again, kept int64) {
	y.Helper()
	time.Sleep(time.Millisecond)
	r, err := transfer.Sync(y.Context(), zarr.At(y.from, "a"), zarr.At(y.to, "b"), opt)
	if err != nil || r.New != added || r.Replaced != replaced || r.Again != again || r.Kept != kept {
		y.Fatalf("%+v, want %d new, %d replaced, %d again, %d kept (%v)", r, added, replaced, again, kept, err)
	}
	if opt != nil && opt.DryRun {
		return
	}
	if d := trees.Differ(trees.Values(y, y.from, "a"), trees.Values(y, y.to, "b")); d != "" {
		y.Fatal(d)
	}
}

// TestSyncYoung syncs values that were written less than the slack before they were
// copied. Between folders their bytes are compared, once. Elsewhere they are copied once
// more, and counted so.
func TestSyncYoung(t *testing.T) {
	stores := map[string]func(vfs.FS) store.Store{
		"folder": func(f vfs.FS) store.Store { return fixture.FileStore(f) },
		"memory": func(vfs.FS) store.Store { return memtest.New() },
	}
	for name, kinds := range map[string][2]string{
		"folders": {"folder", "folder"}, "from a folder": {"folder", "memory"}, "to a folder": {"memory", "folder"}, "memory": {"memory", "memory"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var read atomic.Int64 // chunks of the destination
				disk := vfs.NewDisk()
				hook := vfs.Hook(disk, func(op vfs.Op) error {
					if op.Kind == "open" && strings.HasPrefix(op.Name, "b/c/") {
						read.Add(1)
					}
					return nil
				})
				y := &young{t, stores[kinds[0]](disk), stores[kinds[1]](hook)}
				again := int64(4)
				if name == "folders" {
					again = 0
				}
				a := trees.Numbered(t, zarr.At(y.from, "a"), 8)
				y.sync(nil, 4, 0, 0, 0)
				y.sync(&transfer.SyncOptions{DryRun: true}, 0, again, again, 4-again)
				y.sync(nil, 0, again, again, 4-again)
				// A change of the same size is none of them.
				time.Sleep(time.Second)
				if err := zarr.Write(t.Context(), a, selection.Box{{2, 4}}, []int32{-7, -8}); err != nil {
					t.Fatal(err)
				}
				y.sync(nil, 0, 1+max(0, again-1), max(0, again-1), 3-max(0, again-1))
				// Once the source is old enough, this happens once more.
				time.Sleep(2 * copying.Slack)
				y.sync(nil, 0, again, again, 4-again)
				read.Store(0)
				y.sync(nil, 0, 0, 0, 4)
				if n := read.Load(); n > 4 { // those of values, which compares both sides
					t.Errorf("%d chunks of the destination were opened", n)
				}
			})
		})
	}
}

// TestSyncStale syncs a folder with a value that looks like a copy made soon after the
// write of its source, and is not: the source was written while it was copied.
func TestSyncStale(t *testing.T) {
	for _, later := range []time.Duration{0, copying.Slack / 2, 2 * copying.Slack} {
		synctest.Test(t, func(t *testing.T) {
			disk := fixture.FileStore(vfs.NewDisk())
			y := &young{t, disk, disk}
			a := trees.Numbered(t, zarr.At(y.from, "a"), 8)
			y.sync(nil, 4, 0, 0, 0)
			if err := zarr.Write(t.Context(), a, selection.Box{{2, 4}}, []int32{-7, -8}); err != nil {
				t.Fatal(err)
			}
			touch := store.Driver(y.to).(interface {
				Touch(ctx context.Context, key store.Key) error
			})
			time.Sleep(time.Nanosecond)
			if err := touch.Touch(t.Context(), store.MustKey("b/c/1")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(later)
			y.sync(nil, 0, 1, 0, 3)
		})
	}
}
