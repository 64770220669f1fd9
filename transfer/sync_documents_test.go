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
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/consolidation"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// family makes a group with the arrays t, u and g/t, of which all groups have
// consolidated metadata.
func family(t testing.TB, place *zarr.Location, format int) {
	t.Helper()
	opt := &zarr.CreateOptions{Format: format}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(place.CreateGroup(t.Context(), nil, opt))
	must(place.At("g").CreateGroup(t.Context(), nil, opt))
	for _, name := range []string{"t", "u", "g/t"} {
		a, err := place.At(name).CreateArray(t.Context(), trees.Plain(8, 4), opt)
		must(a, err)
		must(nil, zarr.Write(t.Context(), a, nil, trees.Counting(0, 8)))
	}
	consolidate(t, place.At("g"))
	consolidate(t, place)
}

func consolidate(t testing.TB, place *zarr.Location) {
	t.Helper()
	g, err := place.OpenGroup(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = g.Consolidate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// anew makes an array or a group in the place of a node.
func anew(t testing.TB, place *zarr.Location, format int, array bool) {
	t.Helper()
	opt := &zarr.CreateOptions{Format: format, Overwrite: true}
	if !array {
		if _, err := place.CreateGroup(t.Context(), nil, opt); err != nil {
			t.Fatal(err)
		}
		return
	}
	a, err := place.CreateArray(t.Context(), trees.Plain(8, 2), opt)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, trees.Counting(50, 8))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// listed returns the members of a group as readers of its consolidated metadata see
// them.
func listed(t testing.TB, place *zarr.Location) (names []string) {
	t.Helper()
	g, err := place.OpenGroup(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range g.Members(t.Context(), true) {
		if err = errors.Join(err, m.Err); err != nil {
			t.Fatal(err)
		}
		names = append(names, m.Path)
	}
	slices.Sort(names)
	return names
}

// replacements are the reasons for which a Sync removes nodes of the destination. Each
// changes one of the two places.
var replacements = map[string]func(t testing.TB, src, dst *zarr.Location, format int){
	"other chunks":       func(t testing.TB, src, _ *zarr.Location, f int) { anew(t, src.At("t"), f, true) },
	"other chunks below": func(t testing.TB, src, _ *zarr.Location, f int) { anew(t, src.At("g/t"), f, true) },
	"another kind":       func(t testing.TB, src, _ *zarr.Location, f int) { anew(t, src.At("u"), f, false) },
	"an array for a group": func(t testing.TB, src, _ *zarr.Location, f int) {
		anew(t, src.At("g"), f, true)
	},
	"a damaged document":       func(t testing.TB, _, dst *zarr.Location, f int) { damage(t, dst, f, "t") },
	"a damaged document below": func(t testing.TB, _, dst *zarr.Location, f int) { damage(t, dst, f, "g/t") },
	"damage above damage": func(t testing.TB, _, dst *zarr.Location, f int) {
		damage(t, dst, f, "g/t")
		damage(t, dst, f, "g")
	},
	"damage everywhere": func(t testing.TB, _, dst *zarr.Location, f int) {
		damage(t, dst, f, "g/t")
		damage(t, dst, f, "")
	},
	"a node that only the destination has": func(t testing.TB, _, dst *zarr.Location, f int) { anew(t, dst.At("x"), f, true) },
	// The source lists what it does not have, so the removal changes what was published.
	"a node that the source only lists": func(t testing.TB, src, dst *zarr.Location, f int) {
		anew(t, src.At("x"), f, true)
		if _, err := transfer.Sync(t.Context(), src, dst, nil); err != nil {
			t.Fatal(err)
		}
		p, err := store.ParsePath(src.At("x").Path())
		if err == nil {
			err = store.DeleteTree(t.Context(), src.Store(), p, store.TreeOrder{}, store.Flush)
		}
		if err != nil {
			t.Fatal(err)
		}
	},
	"all at once": func(t testing.TB, src, dst *zarr.Location, f int) {
		anew(t, src.At("g/t"), f, true)
		anew(t, src.At("u"), f, false)
		anew(t, dst.At("g/x"), f, true)
		damage(t, dst, f, "t")
	},
}

// damage makes the document of a node one that says nothing.
func damage(t testing.TB, place *zarr.Location, format int, name string) {
	t.Helper()
	document := nodename.V3Node
	if format == 2 {
		document = nodename.V2Array
		if name == "" || name == "g" {
			document = nodename.V2Group
		}
	}
	putValue(t, place.Store(), strings.TrimPrefix(place.At(name).Path()+"/"+document, "/"), "{")
}

func putValue(t testing.TB, s store.Store, key, value string) {
	t.Helper()
	if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte(value)), store.Flush); err != nil {
		t.Fatal(err)
	}
}

// TestSyncReplacedNodes checks that a Sync that removes nodes of a destination with
// consolidated metadata makes it equal to the source, in the same run: the removals
// change documents that were read before.
func TestSyncReplacedNodes(t *testing.T) {
	for _, format := range []int{2, 3} {
		for name, change := range replacements {
			for _, above := range []bool{false, true} {
				t.Run(fmt.Sprintf("format %d, %s, in a group %v", format, name, above), func(t *testing.T) {
					src, dst := zarr.At(memtest.New(), ""), zarr.At(memtest.New(), "mirror")
					family(t, src, format)
					if above {
						if _, err := dst.Root().CreateGroup(t.Context(), nil, &zarr.CreateOptions{Format: format}); err != nil {
							t.Fatal(err)
						}
					}
					syncWhole(t, src, dst)
					if above {
						consolidate(t, dst.Root())
					}
					change(t, src, dst, format)
					syncWhole(t, src, dst)
					checkMirror(t, src, dst, above)
				})
			}
		}
	}
}

// TestSyncRivalOfRemoval lets another writer change the attributes of the group while a
// Sync removes one of its nodes. They stay.
func TestSyncRivalOfRemoval(t *testing.T) {
	const theirs = `{"zarr_format":3,"node_type":"group","attributes":{"by":"a rival"}}`
	src, stored := zarr.At(memtest.New(), ""), memtest.New()
	family(t, src, 3)
	rival := false
	dst := zarr.At(stepping.Conditional(stored, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if rival && strings.HasPrefix(op.Name, "Delete") && op.Key.String() == "mirror/t/zarr.json" {
			rival = false
			putValue(t, stored, "mirror/zarr.json", theirs)
		}
		return nil
	}}), "mirror")
	syncWhole(t, src, dst)
	anew(t, src.At("t"), 3, true)
	rival = true
	if _, err := transfer.Sync(t.Context(), src, dst, &transfer.SyncOptions{Delete: true}); !errors.Is(err, zarr.ErrConflict) || rival {
		t.Errorf("error is %v (%t)", err, rival)
	}
	g, err := dst.OpenGroup(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if is := string(g.Metadata().Attributes); is != `{"by":"a rival"}` {
		t.Errorf("the attributes are %s", is)
	}
	// Another call takes the group for what the source has to replace.
	syncWhole(t, src, dst)
	checkMirror(t, src, dst, false)
}

// TestSyncDamagedDocument meets a damaged document in the destination, without being
// asked to delete: the node stays as it is, everything else is synced, and the error says
// which document it is, and what helps. A damaged root changes nothing.
func TestSyncDamagedDocument(t *testing.T) {
	for _, root := range []string{"", "mirror"} {
		for _, name := range []string{"t", "g", "g/t", ""} {
			for what := range damages {
				if what != "a folder" { // no document
					t.Run(fmt.Sprint(root, name, what), func(t *testing.T) { syncIntoDamaged(t, root, name, what) })
				}
			}
		}
	}
}

func syncIntoDamaged(t *testing.T, root, name, what string) {
	src, dst := zarr.At(memtest.New(), "a"), zarr.At(memtest.New(), root)
	family(t, src, 3)
	syncWhole(t, src, dst)
	putDamage(t, dst, name, what, nodename.V3Node)
	below := strings.Trim(root+"/"+name, "/")
	was := valuesBelow(t, dst.Store(), below)
	u, err := src.At("u").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Write(t.Context(), u, nil, trees.Counting(20, 8))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, opt := range []*transfer.SyncOptions{{DryRun: true}, nil, {Verify: true}} {
		_, err := transfer.Sync(t.Context(), src, dst, opt)
		var damage *transfer.DamageError
		if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "SyncOptions.Delete replaces") {
			t.Errorf("%+v: %v", opt, err)
		}
		if name == "" {
			if !strings.Contains(err.Error(), ") in the destination and is a group in the source") {
				t.Errorf("%+v: %v", opt, err)
			}
		} else if !errors.As(err, &damage) || !slices.Equal(damage.Nodes, []string{name}) || !errors.Is(err, zarr.ErrInvalidMetadata) ||
			!strings.Contains(err.Error(), fmt.Sprintf("documents of the destination cannot be read: %q (", "/"+name)) {
			t.Errorf("%+v: %v", opt, err)
		}
		if is := valuesBelow(t, dst.Store(), below); !maps.Equal(is, was) {
			t.Errorf("%+v: the node has changed: %d values, want %d", opt, len(is), len(was))
		}
	}
	if name != "" {
		if got := elements(t, dst.At("u")); got[0] != 20 {
			t.Errorf("everything else is %d", got)
		}
	}
	// What is damaged in the source as well is named once.
	if name == "t" {
		sound := valuesBelow(t, src.Store(), "a/t")
		putDamage(t, src, name, what, nodename.V3Node)
		var damage *transfer.DamageError
		if _, err := transfer.Sync(t.Context(), src, dst, nil); !errors.As(err, &damage) || len(damage.Nodes) != 1 || strings.Contains(err.Error(), "destination cannot") {
			t.Errorf("both are damaged: %v", err)
		}
		putValue(t, src.Store(), "a/t/zarr.json", sound["zarr.json"])
	}
	syncWhole(t, src, dst)
	checkMirror(t, src, dst, false)
}

func syncWhole(t *testing.T, src, dst *zarr.Location) {
	t.Helper()
	if _, err := transfer.Sync(t.Context(), src, dst, &transfer.SyncOptions{Delete: true, Verify: true}); err != nil {
		t.Fatal(err)
	}
}

// checkMirror checks that a destination has what the source has and lists, and that the
// group above lists it, too.
func checkMirror(t *testing.T, src, dst *zarr.Location, above bool) {
	t.Helper()
	want, got := valuesOf(t, src), valuesOf(t, dst)
	trees.TrimDocuments(want)
	trees.TrimDocuments(got)
	if d := trees.Differ(want, got); d != "" {
		t.Errorf("the values differ: %s", d)
	}
	if want, got := listed(t, src), listed(t, dst); !slices.Equal(got, want) {
		t.Errorf("the destination lists %v, want %v", got, want)
	}
	if above {
		if d, err := consolidation.Stale(t.Context(), dst.Root(), nil, nil); d != nil || err != nil {
			t.Errorf("the group above lists other nodes than there are: %v, %v", d, err)
		}
	}
}

// TestSyncUnfinishedAbove checks that a Sync that could not update the group above the
// destination is gone on with by the next one, which lists the replaced node there again.
func TestSyncUnfinishedAbove(t *testing.T) { synctest.Test(t, unfinishedAbove) }

func unfinishedAbove(t *testing.T) {
	left := memtest.New()
	src, dst := zarr.At(memtest.New(), ""), zarr.At(left, "mirror")
	family(t, src, 3)
	if _, err := dst.Root().CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	syncWhole(t, src, dst)
	consolidate(t, dst.Root())
	anew(t, src.At("t"), 3, true)
	time.Sleep(2 * copying.Slack) // so that the second Sync has no values to copy
	broken, puts := errors.New("the network is down"), 0
	to := stepping.Conditional(left, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Name != "PutIf" || op.Key.String() != "zarr.json" {
			return nil
		}
		if puts++; puts > 1 { // the first one takes t out
			return broken
		}
		return nil
	}})
	if _, err := transfer.Sync(t.Context(), src, zarr.At(to, "mirror"), nil); !errors.Is(err, zarr.ErrIncomplete) {
		t.Fatal(err)
	}
	if slices.Contains(listed(t, dst.Root()), "mirror/t") {
		t.Fatal("the group above was updated: the test tests nothing")
	}
	syncWhole(t, src, dst)
	checkMirror(t, src, dst, true)
}

// TestConvertListed checks that a conversion in place lists the node in the consolidated
// metadata of the group above, which has that format.
func TestConvertListed(t *testing.T) {
	place := zarr.At(memtest.New(), "")
	family(t, place, 3)
	other := zarr.At(memtest.New(), "x")
	if _, err := other.CreateArray(t.Context(), trees.Plain(8, 4), &zarr.CreateOptions{Format: 2}); err != nil {
		t.Fatal(err)
	}
	for name, value := range valuesOf(t, other) {
		putValue(t, place.Store(), "x/"+name, value)
	}
	if _, err := convert.Convert(t.Context(), place.At("x"), 3, nil); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, place); !slices.Contains(got, "x") {
		t.Errorf("the group lists %v", got)
	}
}

// TestSyncRespelled checks that an array of the destination whose document is spelled in
// another way is not made anew.
func TestSyncRespelled(t *testing.T) {
	src, dst := zarr.At(memtest.New(), ""), zarr.At(memtest.New(), "")
	spec := trees.Plain(8, 2)
	spec.Type, spec.FillValue = dtype.Complex64, zarr.FillJSON("[0.0,0.0]")
	if _, err := src.CreateArray(t.Context(), spec, nil); err != nil {
		t.Fatal(err)
	}
	syncWhole(t, src, dst)
	s := &fixture.Speller{Rand: rand.New(rand.NewPCG(7, 8))}
	document := valuesOf(t, dst)["zarr.json"]
	for _, fill := range []string{"[0,0]", "[0.0, 0e1]"} {
		other, err := metadata.SetAttribute([]byte(s.Again(document)), "fill_value", []byte(fill))
		if err != nil {
			t.Fatal(err)
		}
		putValue(t, dst.Store(), "zarr.json", string(other))
		r, err := transfer.Sync(t.Context(), src, dst, &transfer.SyncOptions{Verify: true})
		if err != nil || len(r.ReplacedNodes) != 0 || r.Documents != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}
