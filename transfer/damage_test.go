// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
)

// damages are what may be in the place of a document that cannot be read. In "a folder",
// there is no document but a value below its name.
var damages = map[string]string{
	"nothing": "", "a beginning": `{"zarr_format":`, "no JSON": "\x00\x00\x00\x00", "no object": "[]", "no node": "{}", "a folder": "",
}

// valuesBelow returns the values of a store below a path, without notes of Varve.
func valuesBelow(t testing.TB, s store.Store, dir string) map[string]string {
	t.Helper()
	p, err := store.ParsePath(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for e, err := range store.List(t.Context(), s, p, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		raw, _, err := s.Get(t.Context(), p.MustKey(e.Name), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name] = string(raw)
	}
	return all
}

// putDamage damages the document of a node.
func putDamage(t testing.TB, place *zarr.Location, name, what, document string) {
	t.Helper()
	key := strings.TrimPrefix(place.At(name).Path()+"/"+document, "/")
	if what != "a folder" {
		putValue(t, place.Store(), key, damages[what])
		return
	}
	if _, err := store.Write(t.Context(), place.Store(), store.Delete(store.MustKey(key)), store.Sync); err != nil {
		t.Fatal(err)
	}
	putValue(t, place.Store(), key+"/0", "x")
}

// TestSyncDamagedSource syncs hierarchies in which one document cannot be read. The node
// stays at the destination as it is, everything else is synced, and the error names it.
func TestSyncDamagedSource(t *testing.T) {
	for _, format := range []int{2, 3} {
		for _, name := range []string{"t", "g", "g/t"} {
			for what := range damages {
				t.Run(fmt.Sprint(format, name, what), func(t *testing.T) { syncDamaged(t, format, name, what) })
			}
		}
	}
}

func syncDamaged(t *testing.T, format int, name, what string) {
	document := map[int]string{3: nodename.V3Node, 2: nodename.V2Array}[format]
	if name == "g" && format == 2 {
		document = nodename.V2Group
	}
	src, dst, fresh := zarr.At(memstore.New(), "a"), zarr.At(memstore.New(), "b"), zarr.At(memstore.New(), "c")
	family(t, src, format)
	if _, err := transfer.Sync(t.Context(), src, dst, nil); err != nil {
		t.Fatal(err)
	}
	members := listed(t, dst)
	was := valuesBelow(t, dst.Store(), "b/"+name)
	sound := valuesBelow(t, src.Store(), "a/"+name)
	putDamage(t, src, name, what, document)
	change := func(place *zarr.Location) { // of the same size, and of another one
		a, err := place.OpenArray(t.Context(), &zarr.Options{Write: true})
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, trees.Counting(20, 8))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change(src.At("u"))
	for _, opt := range []*transfer.SyncOptions{{Delete: true, DryRun: true}, {}, {Delete: true, Verify: true}, {Delete: true, Checksum: true}} {
		_, err := transfer.Sync(t.Context(), src, dst, opt)
		var damage *transfer.DamageError
		if !errors.As(err, &damage) || !slices.Equal(damage.Nodes, []string{name}) || !errors.Is(err, zarr.ErrInvalidMetadata) {
			t.Fatalf("%+v: %v", opt, err)
		}
		if is := valuesBelow(t, dst.Store(), "b/"+name); !maps.Equal(is, was) {
			t.Errorf("%+v: %d values, want %d", opt, len(is), len(was))
		}
		if got := listed(t, dst); !slices.Equal(got, members) {
			t.Errorf("%+v: the destination lists %q, want %q", opt, got, members)
		}
	}
	if got := elements(t, dst.At("u")); got[0] != 20 {
		t.Errorf("everything else is %d", got)
	}
	// A first Sync leaves the node out, in listings too.
	if _, err := transfer.Sync(t.Context(), src, fresh, nil); !errors.As(err, new(*transfer.DamageError)) {
		t.Errorf("the first Sync: %v", err)
	}
	if left := valuesBelow(t, fresh.Store(), "c/"+name); len(left) > 0 || slices.Contains(listed(t, fresh), name) {
		t.Errorf("the first Sync stores %d values, and lists %q", len(left), listed(t, fresh))
	}
	for key, text := range sound {
		putValue(t, src.Store(), "a/"+name+"/"+key, text)
	}
	if what == "a folder" {
		if _, err := store.Write(t.Context(), src.Store(), store.Delete(store.MustKey("a/"+name+"/"+document+"/0")), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	for _, place := range []*zarr.Location{dst, fresh} {
		if _, err := transfer.Sync(t.Context(), src, place, &transfer.SyncOptions{Delete: true, Verify: true}); err != nil {
			t.Errorf("after the repair: %v", err)
		}
		if got := listed(t, place); !slices.Equal(got, members) {
			t.Errorf("after the repair, the destination lists %q, want %q", got, members)
		}
	}
}

// TestSyncDamagedRoot syncs a node whose own document cannot be read: nothing changes.
func TestSyncDamagedRoot(t *testing.T) {
	src, dst := zarr.At(memstore.New(), "a"), zarr.At(memstore.New(), "b")
	family(t, src, 3)
	if _, err := transfer.Sync(t.Context(), src, dst, nil); err != nil {
		t.Fatal(err)
	}
	was := valuesBelow(t, dst.Store(), "b")
	for _, what := range []string{"nothing", "a beginning", "no node"} {
		putDamage(t, src, "", what, nodename.V3Node)
		if _, err := transfer.Sync(t.Context(), src, dst, &transfer.SyncOptions{Delete: true}); !errors.Is(err, zarr.ErrInvalidMetadata) {
			t.Errorf("%s: %v", what, err)
		}
		if !maps.Equal(valuesBelow(t, dst.Store(), "b"), was) {
			t.Errorf("%s: the destination has changed", what)
		}
	}
}

// TestSyncUnknownArray syncs an array of an unknown data type: it is copied as it is.
func TestSyncUnknownArray(t *testing.T) {
	src, dst := zarr.At(memstore.New(), "a"), zarr.At(memstore.New(), "b")
	family(t, src, 3)
	raw, _, err := src.Store().Get(t.Context(), store.MustKey("a/t/zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	putValue(t, src.Store(), "a/t/zarr.json", strings.Replace(string(raw), `"int32"`, `"example.int33"`, 1))
	if _, err := transfer.Sync(t.Context(), src, dst, &transfer.SyncOptions{Delete: true, Verify: true}); err != nil {
		t.Error(err)
	}
	if !maps.Equal(valuesBelow(t, src.Store(), "a/t"), valuesBelow(t, dst.Store(), "b/t")) {
		t.Error("the array was not copied as it is")
	}
}

// TestSyncDamagedSelection syncs nodes that match a pattern. Damage counts if the node,
// or one below it, may match.
func TestSyncDamagedSelection(t *testing.T) {
	src := zarr.At(memstore.New(), "a")
	family(t, src, 3)
	putDamage(t, src, "t", "nothing", nodename.V3Node)
	putDamage(t, src, "g", "nothing", nodename.V3Node)
	for pattern, want := range map[string][]string{"u": nil, "t": {"t"}, "*": {"g", "t"}, "g/*": {"g"}, "*/t": {"g", "t"}} {
		_, err := transfer.Sync(t.Context(), src, zarr.At(memstore.New(), "b"), &transfer.SyncOptions{Nodes: pattern})
		var damage *transfer.DamageError
		if errors.As(err, &damage); (damage == nil) != (want == nil) || damage != nil && !slices.Equal(damage.Nodes, want) {
			t.Errorf("%s: %v, want %q", pattern, err, want)
		}
	}
}

// TestSyncDamagedMirror syncs into hierarchies with an array whose document is damaged.
// In both formats it stays as it is without Delete, everything else is synced, and with
// Delete it is made anew.
func TestSyncDamagedMirror(t *testing.T) {
	for _, format := range []int{2, 3} {
		document := map[int]string{3: nodename.V3Node, 2: nodename.V2Array}[format]
		for _, name := range []string{"t", "g/t"} {
			for what := range damages {
				if what == "a folder" {
					continue // no node is there
				}
				src, dst := zarr.At(memstore.New(), "a"), zarr.At(memstore.New(), "b")
				family(t, src, format)
				if _, err := transfer.Sync(t.Context(), src, dst, nil); err != nil {
					t.Fatal(err)
				}
				putDamage(t, dst, name, what, document)
				was := valuesBelow(t, dst.Store(), "b/"+name)
				a, err := src.At("u").OpenArray(t.Context(), &zarr.Options{Write: true})
				if err == nil {
					err = zarr.Write(t.Context(), a, nil, trees.Counting(20, 8))
				}
				if err != nil {
					t.Fatal(err)
				}
				_, err = transfer.Sync(t.Context(), src, dst, nil)
				if !errors.As(err, new(*transfer.DamageError)) || !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), `"/`+name+`"`) {
					t.Fatalf("format %d, %s, %s: %v", format, name, what, err)
				}
				if is := valuesBelow(t, dst.Store(), "b/"+name); !maps.Equal(is, was) {
					t.Errorf("format %d, %s, %s: %d values, want %d", format, name, what, len(is), len(was))
				}
				if got := elements(t, dst.At("u")); got[0] != 20 {
					t.Errorf("everything else is %d", got)
				}
				// The array alone is not replaced either.
				before := valuesBelow(t, dst.Store(), "b/"+name)
				if _, err := transfer.Sync(t.Context(), src.At(name), dst.At(name), nil); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "has a damaged document") {
					t.Errorf("format %d, %s alone, %s: %v", format, name, what, err)
				}
				if is := valuesBelow(t, dst.Store(), "b/"+name); !maps.Equal(is, before) {
					t.Errorf("format %d, %s alone, %s: has changed", format, name, what)
				}
				if _, err := transfer.Sync(t.Context(), src, dst, &transfer.SyncOptions{Delete: true, Verify: true}); err != nil {
					t.Errorf("format %d, %s, %s: %v", format, name, what, err)
				}
			}
		}
	}
}

// loseDocument deletes the document of a node, and leaves everything else there.
func loseDocument(t testing.TB, place *zarr.Location, name, document string) {
	t.Helper()
	key := strings.TrimPrefix(place.At(name).Path()+"/"+document, "/")
	if _, err := store.Write(t.Context(), place.Store(), store.Delete(store.MustKey(key)), store.Sync); err != nil {
		t.Fatal(err)
	}
}

// TestSyncLostDocument syncs hierarchies in which one document is gone, and what it
// described is still there. Delete leaves the node at the destination as it is, in
// listings too, and the error names it. When nothing of the node is left, it goes.
func TestSyncLostDocument(t *testing.T) {
	for _, format := range []int{2, 3} {
		for _, name := range []string{"t", "g", "g/t"} {
			t.Run(fmt.Sprint(format, name), func(t *testing.T) { syncLost(t, format, name) })
		}
	}
}

func syncLost(t *testing.T, format int, name string) {
	document := map[int]string{3: nodename.V3Node, 2: nodename.V2Array}[format]
	if name == "g" && format == 2 {
		document = nodename.V2Group
	}
	src, dst := zarr.At(memstore.New(), "a"), zarr.At(memstore.New(), "b")
	family(t, src, format)
	if _, err := transfer.Sync(t.Context(), src, dst, nil); err != nil {
		t.Fatal(err)
	}
	members, was := listed(t, dst), valuesBelow(t, dst.Store(), "b/"+name)
	sound := valuesBelow(t, src.Store(), "a/"+name)
	loseDocument(t, src, name, document)
	consolidate(t, src) // as the writer of a group without this member does
	a, err := src.At("u").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, trees.Counting(20, 8))
	}
	if err != nil {
		t.Fatal(err)
	}
	// The last one is the end of a plan whose parts were copied before.
	parts := &transfer.SyncOptions{Delete: true, Share: &transfer.Share{Of: 1}}
	for _, opt := range []*transfer.SyncOptions{{DryRun: true}, {}, {Delete: true, DryRun: true}, {Delete: true, Verify: true}, parts, {Delete: true, Checksum: true}} {
		r, err := transfer.Sync(t.Context(), src, dst, opt)
		var damage *transfer.DamageError
		switch {
		case opt.Share != nil && err != nil:
			t.Fatal(err)
		case opt.Share != nil:
			continue
		case !errors.As(err, &damage) || !slices.Equal(damage.Nodes, []string{name}) || !errors.Is(err, zarr.ErrInvalidMetadata) || errors.Is(err, fs.ErrExist):
			t.Fatalf("%+v: %v", opt, err)
		case !strings.Contains(err.Error(), `"/`+name+`" (no document, but values such as "`):
			t.Errorf("%+v: %v", opt, err)
		case len(r.DroppedNodes) > 0 || r.Dropped > 0 || r.Left > 0:
			t.Errorf("%+v: drops %q and %d values, and leaves %d", opt, r.DroppedNodes, r.Dropped, r.Left)
		}
		if is := valuesBelow(t, dst.Store(), "b/"+name); !maps.Equal(is, was) {
			t.Errorf("%+v: %d values, want %d", opt, len(is), len(was))
		}
		if got := listed(t, dst); !slices.Equal(got, members) {
			t.Errorf("%+v: the destination lists %q, want %q", opt, got, members)
		}
	}
	if got := elements(t, dst.At("u")); got[0] != 20 {
		t.Errorf("everything else is %d", got)
	}
	if name == "g" { // what is below has its documents
		_, err := transfer.Sync(t.Context(), src.At("g/t"), dst.At("g/t"), &transfer.SyncOptions{Delete: true, Verify: true})
		if err != nil {
			t.Error(err)
		}
	}
	for key, text := range sound {
		putValue(t, src.Store(), "a/"+name+"/"+key, text)
	}
	consolidate(t, src)
	if _, err := transfer.Sync(t.Context(), src, dst, &transfer.SyncOptions{Delete: true, Verify: true}); err != nil {
		t.Errorf("after the repair: %v", err)
	}
	if err := src.At(name).Delete(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	putValue(t, src.Store(), "a/"+name+"/"+copying.NoteName, "{}") // no value of the node
	if _, err := transfer.Sync(t.Context(), src, dst, &transfer.SyncOptions{Delete: true, Verify: true}); err != nil {
		t.Errorf("after a removal: %v", err)
	}
	if left := valuesBelow(t, dst.Store(), "b/"+name); len(left) > 0 {
		t.Errorf("after a removal, %d values are left", len(left))
	}
}

// TestSyncLostAbove syncs hierarchies whose own document is lost, and one with nodes in a
// group that never had a document in either place.
func TestSyncLostAbove(t *testing.T) {
	src, dst := zarr.At(memstore.New(), "a"), zarr.At(memstore.New(), "b")
	family(t, src, 3)
	if _, err := transfer.Sync(t.Context(), src, dst, nil); err != nil {
		t.Fatal(err)
	}
	was := valuesBelow(t, dst.Store(), "b")
	root := valuesBelow(t, src.Store(), "a")[nodename.V3Node]
	loseDocument(t, src, "", nodename.V3Node)
	if _, err := transfer.Sync(t.Context(), src, dst, &transfer.SyncOptions{Delete: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a document: %v", err)
	}
	if is := valuesBelow(t, dst.Store(), "b"); !maps.Equal(is, was) {
		t.Errorf("%d values, want %d", len(is), len(was))
	}
	putValue(t, src.Store(), "a/"+nodename.V3Node, root)
	loseDocument(t, src, "g", nodename.V3Node)
	loseDocument(t, dst, "g", nodename.V3Node)
	was = valuesBelow(t, dst.Store(), "b/g")
	_, err := transfer.Sync(t.Context(), src, dst, &transfer.SyncOptions{Delete: true})
	if !errors.As(err, new(*transfer.DamageError)) || !strings.Contains(err.Error(), `"/g/t" (it has a document, and a group above it has none)`) {
		t.Errorf("in a group without a document: %v", err)
	}
	if is := valuesBelow(t, dst.Store(), "b/g"); !maps.Equal(is, was) {
		t.Errorf("%d values, want %d", len(is), len(was))
	}
}

// TestLostRoot syncs with a mirror that has lost its own document. Nothing is changed,
// because a folder of stores looks the same, and the message says how to repair a mirror.
func TestLostRoot(t *testing.T) {
	src, dst := memstore.New(), memstore.New()
	trees.Tree(t, src, "")
	from, to := zarr.At(src, ""), zarr.At(dst, "m")
	if _, err := transfer.Sync(t.Context(), from, to, nil); err != nil {
		t.Fatal(err)
	}
	whole := trees.Values(t, dst, "m")
	if _, err := store.Write(t.Context(), dst, store.Delete(store.MustKey("m/zarr.json")), store.Sync); err != nil {
		t.Fatal(err)
	}
	rest := trees.Values(t, dst, "m")
	_, err := transfer.Sync(t.Context(), from, to, &transfer.SyncOptions{Delete: true})
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(fmt.Sprint(err), "make it a group of format 3 again (zarr.CreateGroup at m)") {
		t.Errorf("%v", err)
	}
	if text := trees.Differ(rest, trees.Values(t, dst, "m")); text != "" {
		t.Error(text)
	}
	if _, err := to.CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Sync(t.Context(), from, to, &transfer.SyncOptions{Delete: true}); err != nil {
		t.Fatal(err)
	}
	if text := trees.Differ(whole, trees.Values(t, dst, "m")); text != "" {
		t.Error(text)
	}
}
