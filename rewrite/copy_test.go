// SPDX-License-Identifier: Apache-2.0

package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rewrite"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree makes a group with arrays of several kinds and consolidated metadata.
func tree(t testing.TB, s store.Store, path string) {
	t.Helper()
	o := &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}}
	g, err := zarr.At(s, path).CreateGroup(t.Context(), map[string]any{"title": "all", "precise": 1e300}, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]zarr.Spec{
		"a":        {Shape: []int64{10, 7}, Chunks: []grid.Cut{grid.Every(3), grid.Every(4)}, DimensionNames: []string{"y", ""}},
		"deep/b":   {Shape: []int64{10, 7}, Chunks: []grid.Cut{grid.Edges(1, 2, 3, 4), grid.Every(7)}, FillValue: zarr.FillJSON("7")},
		"deep/e/c": {Shape: []int64{10, 7}, Chunks: []grid.Cut{grid.Every(8), grid.Every(8)}, InnerChunks: []grid.Cut{grid.Every(2), grid.Every(4)}},
		"scalar":   {Shape: []int64{}, Attributes: map[string]string{"units": "K"}},
		"empty":    {Shape: []int64{5}},
	} {
		spec.Type = dtype.Int32
		a, err := g.At(name).CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		if name == "empty" {
			continue
		}
		v := make([]int32, len(a.Shape())/2*69+1)
		for i := range v {
			v[i] = int32(i * len(name))
		}
		if err := zarr.Write(t.Context(), a, nil, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Consolidate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// oldTree stores a tree of format 2.
func oldTree(t testing.TB, s store.Store, path string) {
	t.Helper()
	p, err := store.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	for rel, text := range map[string]string{
		".zgroup": `{"zarr_format": 2}`, ".zattrs": `{"title": "old"}`, ".zmetadata": `{"zarr_consolidated_format": 1, "metadata": {}}`,
		"a/.zarray": `{"zarr_format": 2}`, "a/.zattrs": `{"_ARRAY_DIMENSIONS": ["x"]}`, "a/0.0": "one", "a/0.1": "two", "b/.zarray": "{}", "b/0/0": "three",
	} {
		if _, err := store.Put(t.Context(), s, p.MustKey(rel), []byte(text), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
}

// formatTwo makes a group of format 2 with arrays in it, and consolidated metadata.
func formatTwo(t testing.TB, s store.Store, path string) {
	t.Helper()
	o := &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}, Format: 2}
	g, err := zarr.At(s, path).CreateGroup(t.Context(), map[string]any{"title": "two"}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "deep/b"} {
		spec := zarr.Spec{Shape: []int64{10, 7}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(3), grid.Every(4)}, DimensionNames: []string{"y", "x"}}
		a, err := g.At(name).CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]int32, 70)
		v[69] = 69 * 6
		if err := zarr.Write(t.Context(), a, nil, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Consolidate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// values returns all values below a path of a store.
func values(t testing.TB, s store.Store, path string) map[string]string {
	t.Helper()
	p, err := store.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for e, err := range store.List(t.Context(), s, p, true) {
		if err != nil {
			t.Fatal(err)
		}
		v, _, err := s.Get(t.Context(), p.MustKey(e.Name), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name] = string(v)
	}
	return all
}

// differ describes how two sets of values differ, or returns "".
func differ(a, b map[string]string) string {
	a, b = maps.Clone(a), maps.Clone(b)
	trimDocuments(a)
	trimDocuments(b)
	var names []string
	for name, v := range a {
		if w, found := b[name]; !found || v != w {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, found := a[name]; !found {
			names = append(names, "+"+name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func at(s store.Store, path string) *zarr.Location {
	return zarr.At(s, path)
}

// directory returns the store of a new directory.
func directory(t testing.TB) store.Store {
	t.Helper()
	s, err := filestore.Open(filepath.Join(t.TempDir(), "x.zarr"), &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// located opens a place by a location.
func located(t testing.TB, location string, access store.Access) *zarr.Location {
	t.Helper()
	at, err := zarr.Locate(t.Context(), location, access)
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := at.Store().(io.Closer); ok {
		t.Cleanup(func() { c.Close() })
	}
	return at
}

// TestCopy copies trees of both formats between all kinds of stores, and compares the
// values.
func TestCopy(t *testing.T) {
	for kind, build := range map[string]func(testing.TB, store.Store, string){"new": tree, "old": oldTree, "two": formatTwo} {
		for name, c := range map[string]struct{ src, dst func() *zarr.Location }{
			"memory to memory": {func() *zarr.Location { return at(memstore.New(), "in/x") }, func() *zarr.Location { return at(memstore.New(), "") }},
			"within memory":    {nil, nil},
			"file to file":     {func() *zarr.Location { return at(directory(t), "") }, func() *zarr.Location { return at(directory(t), "new/y") }},
			"file to memory":   {func() *zarr.Location { return at(directory(t), "x") }, func() *zarr.Location { return at(memstore.New(), "new/y") }},
			"memory to archive": {func() *zarr.Location { return at(memstore.New(), "x") },
				func() *zarr.Location { return located(t, t.TempDir()+"/y.zip/z", store.Create) }},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				var src, dst *zarr.Location
				if c.src == nil {
					s := memstore.New()
					src, dst = at(s, "x"), at(s, "beside/y")
				} else {
					src, dst = c.src(), c.dst()
				}
				from, to := src.Store(), dst.Store()
				build(t, from, src.Path())
				want := values(t, from, src.Path())
				plan, err := rewrite.Copy(t.Context(), src, dst, &rewrite.Options{DryRun: true})
				if err != nil || len(values(t, to, dst.Path())) > 0 {
					t.Fatalf("a plan: %v, %v", err, values(t, to, dst.Path()))
				}
				report, err := rewrite.Copy(t.Context(), src, dst, &rewrite.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if d := differ(want, values(t, to, dst.Path())); d != "" {
					t.Errorf("differ: %s", d)
				}
				var total int64
				for _, v := range want {
					total += int64(len(v))
				}
				if report != plan || report.Bytes != total {
					t.Errorf("%+v, the plan was %+v, there are %d bytes", report, plan, total)
				}
				if wanted := map[string][2]int{"new": {5, 3}, "old": {2, 1}, "two": {2, 2}}[kind]; report.Arrays != wanted[0] || report.Groups != wanted[1] {
					t.Errorf("%d arrays and %d groups, want %v", report.Arrays, report.Groups, wanted)
				}
				if parent := map[string]string{"new": "zarr.json", "old": ".zgroup", "two": ".zgroup"}[kind]; dst.Path() == "new/y" {
					if found, err := store.Exists(t.Context(), to, store.MustKey("new/"+parent)); !found || err != nil {
						t.Errorf("no group above: %v", err)
					}
				}
			})
		}
	}
}

// TestCopyFrom copies from stores that cannot be listed: a web server, through
// consolidated metadata, and an archive.
func TestCopyFrom(t *testing.T) {
	for kind, build := range map[string]func(testing.TB, store.Store, string){"new": tree, "two": formatTwo} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			s, err := filestore.Open(dir+"/x.zarr", &filestore.Options{Create: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			build(t, s, "")
			archive := located(t, dir+"/x.zip", store.Create)
			if _, err := rewrite.Copy(t.Context(), at(s, ""), archive, nil); err != nil {
				t.Fatal(err)
			}
			if err := archive.Store().(io.Closer).Close(); err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(http.FileServer(http.Dir(dir)))
			defer server.Close()
			for _, location := range []string{server.URL + "/x.zarr", dir + "/x.zip", server.URL + "/x.zip"} {
				copyParts(t, s, location)
			}
		})
	}
}

// copyParts copies the nodes of a store from another location of it.
func copyParts(t *testing.T, s store.Store, location string) {
	t.Helper()
	for _, path := range []string{"", "deep", "a", "deep/b"} {
		dst := memstore.New()
		src := located(t, strings.TrimSuffix(location+"/"+path, "/"), store.Read)
		plan, _ := rewrite.Copy(t.Context(), src, at(dst, "to"), &rewrite.Options{DryRun: true})
		report, err := rewrite.Copy(t.Context(), src, at(dst, "to"), nil)
		if d := differ(values(t, s, path), values(t, dst, "to")); d != "" || err != nil || plan != report {
			t.Errorf("%s/%s: %s, %v", location, path, d, err)
		}
	}
}

// TestRead reads a copy, and finds it in the consolidated metadata of the group above.
func TestRead(t *testing.T) {
	for kind, build := range map[string]func(testing.TB, store.Store, string){"new": tree, "two": formatTwo} {
		s := memstore.New()
		build(t, s, "x")
		root, err := zarr.At(s, "").OpenGroup(t.Context(), &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := root.Consolidate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time it replaces
			if _, err := rewrite.Copy(t.Context(), at(s, "x/deep"), at(s, "y"), &rewrite.Options{Overwrite: true}); err != nil {
				t.Fatal(err)
			}
		}
		if root, err = zarr.At(s, "").OpenGroup(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		var found []string
		for m, err := range root.Members(t.Context(), true) {
			if err != nil || m.Err != nil {
				t.Fatal(err, m.Err)
			}
			found = append(found, m.Path)
		}
		want := map[string]string{
			"new": "x x/a x/deep x/deep/b x/deep/e x/deep/e/c x/empty x/scalar y y/b y/e y/e/c", "two": "x x/a x/deep x/deep/b y y/b",
		}[kind]
		if !slices.Equal(slices.Sorted(slices.Values(found)), strings.Fields(want)) {
			t.Errorf("%s: %q, want %q", kind, found, want)
		}
		a, err := zarr.At(s, "y/b").OpenArray(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := zarr.Read[int32](t.Context(), a, nil); err != nil || got.Data[69] != 69*6 {
			t.Error(kind, got.Data, err)
		}
		if _, err := rewrite.Move(t.Context(), at(s, "y"), at(s, "x/z"), nil); err != nil {
			t.Fatal(err)
		}
		if root, err = zarr.At(s, "").OpenGroup(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for m := range root.Members(t.Context(), true) {
			if strings.HasPrefix(m.Path, "y") {
				t.Errorf("%s: what was moved is still listed: %s", kind, m.Path)
			}
		}
	}
}

// TestRefused checks which copies are refused, and that nothing is changed then.
func TestRefused(t *testing.T) {
	s := memstore.New()
	tree(t, s, "x")
	oldTree(t, s, "old")
	for key, text := range map[string]string{"other/readme": "text", "broken/x/zarr.json": "{"} {
		if _, err := s.Put(t.Context(), store.MustKey(key), []byte(text), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	d, err := filestore.Open(dir+"/x.zarr", &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	tree(t, d, "")
	if err := os.Symlink(dir+"/x.zarr", dir+"/link"); err != nil {
		t.Skip("this system makes no symbolic links")
	}
	linked, err := filestore.Open(dir+"/link", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer linked.Close()
	above, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer above.Close()
	readOnly, err := filestore.Open(dir+"/x.zarr", &filestore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	before, beforeDir := values(t, s, ""), values(t, d, "")
	for name, c := range map[string]struct {
		src, dst  *zarr.Location
		overwrite bool
		want      error
	}{
		"itself":            {at(s, "x"), at(s, "x"), true, zarr.ErrInvalidArgument},
		"into itself":       {at(s, "x"), at(s, "x/y"), true, zarr.ErrInvalidArgument},
		"root into itself":  {at(s, ""), at(s, "y"), true, zarr.ErrInvalidArgument},
		"over its parent":   {at(s, "x/deep"), at(s, "x"), true, zarr.ErrInvalidArgument},
		"by a link":         {at(d, "deep"), at(linked, "deep"), true, zarr.ErrInvalidArgument},
		"below a link":      {at(linked, ""), at(d, "y"), true, zarr.ErrInvalidArgument},
		"by another root":   {at(d, "deep"), at(above, "x.zarr/deep"), true, zarr.ErrInvalidArgument},
		"over another root": {at(d, ""), at(above, ""), true, zarr.ErrInvalidArgument},
		"there already":     {at(s, "x/deep"), at(s, "x/a"), false, fs.ErrExist},
		"old there already": {at(s, "old/a"), at(s, "old/b"), false, fs.ErrExist},
		"not empty":         {at(s, "x/a"), at(s, "other"), true, fs.ErrExist},
		"below an array":    {at(s, "x/deep"), at(s, "x/a/y"), false, zarr.ErrInvalidArgument},
		"below an old one":  {at(s, "x/deep"), at(s, "old/y"), false, zarr.ErrInvalidArgument},
		"below a new one":   {at(s, "old"), at(s, "x/y"), false, zarr.ErrInvalidArgument},
		"below a broken":    {at(s, "x"), at(s, "broken/x/y"), false, zarr.ErrInvalidMetadata},
		"nothing":           {at(s, "none"), at(s, "y"), false, fs.ErrNotExist},
		"no node":           {at(s, "other"), at(s, "y"), false, fs.ErrNotExist},
		"bad path":          {at(s, "x"), at(s, "__varve"), false, zarr.ErrInvalidArgument},
		"read-only":         {at(s, "x"), at(readOnly, "y"), false, fs.ErrPermission},
	} {
		for _, dry := range []bool{true, false} {
			if dry && name == "read-only" {
				continue
			}
			_, err := rewrite.Copy(t.Context(), c.src, c.dst, &rewrite.Options{Overwrite: c.overwrite, DryRun: dry})
			if !errors.Is(err, c.want) {
				t.Errorf("%s: error is %v, want %v", name, err, c.want)
			}
		}
	}
	if d := differ(before, values(t, s, "")) + differ(beforeDir, values(t, d, "")); d != "" {
		t.Errorf("changed: %s", d)
	}
}

// TestUnknown copies nodes that Varve cannot open.
func TestUnknown(t *testing.T) {
	s := memstore.New()
	tree(t, s, "")
	raw, _, err := s.Get(t.Context(), store.MustKey("a/zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range map[string]string{
		"a/zarr.json": strings.ReplaceAll(string(raw), `"zstd"`, `"magic"`), "deep/b/zarr.json": "{", "deep/readme": "text",
		"a/__varve/aside/3x4/c/0/0": "aside", "a/__varve/pending.json": `{"holder":"somebody"}`,
	} {
		if _, err := s.Put(t.Context(), store.MustKey(key), []byte(text), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	dst := memstore.New()
	report, err := rewrite.Copy(t.Context(), at(s, ""), at(dst, ""), nil)
	if err != nil || report.Arrays != 4 || report.Groups != 3 {
		t.Fatal(report, err)
	}
	want := values(t, s, "")
	delete(want, "a/__varve/pending.json") // who holds the source does not hold the copy
	if d := differ(want, values(t, dst, "")); d != "" {
		t.Errorf("differ: %s", d)
	}
	if _, err := s.Put(t.Context(), store.MustKey("a/__varve/pending.json"), []byte(`{"journal":"__varve/together-1.json"}`), store.Flush); err != nil {
		t.Fatal(err)
	}
	if _, err := rewrite.Copy(t.Context(), at(s, ""), at(dst, "y"), nil); !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("in the middle of a change: %v", err)
	}
}

// TestLarge copies values that are too large to be in memory together.
func TestLarge(t *testing.T) {
	s := memstore.New()
	tree(t, s, "")
	for i := range 3 {
		if _, err := s.Put(t.Context(), store.MustKey(fmt.Sprintf("a/tables/9/%d", i)), bytes.Repeat([]byte{byte(i)}, 17<<20), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	dst := directory(t)
	if _, err := rewrite.Copy(t.Context(), at(s, ""), at(dst, "y"), nil); err != nil {
		t.Fatal(err)
	}
	if d := differ(values(t, s, ""), values(t, dst, "y")); d != "" {
		t.Errorf("differ: %s", d)
	}
}

// TestInterrupted stops a copy before every operation of the destination. Either nothing
// of it is visible, or all, and another copy to the same place succeeds.
func TestInterrupted(t *testing.T) {
	src := memstore.New()
	tree(t, src, "")
	want := values(t, src, "")
	stop := errors.New("stopped")
	points, visible := 0, 0
	for k := 0; ; k++ {
		left := memstore.New()
		var n atomic.Int64
		dst := storetest.Conditional(left, storetest.Hooks{Before: func(context.Context, storetest.Op) error {
			if n.Add(1) > int64(k) {
				return stop
			}
			return nil
		}})
		_, err := rewrite.Copy(t.Context(), at(src, ""), at(dst, "in/y"), &rewrite.Options{Options: zarr.Options{Concurrency: 1}})
		if err == nil {
			break
		}
		points++
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
		o := &rewrite.Options{}
		if _, err := zarr.At(left, "in/y").Open(t.Context(), nil); err == nil {
			visible++
			o.Overwrite = true
			got := values(t, left, "in/y")
			delete(got, "__varve/unfinished.json")
			if d := differ(want, got); d != "" {
				t.Fatalf("stopped at %d: it is there, and differs: %s", k, d)
			}
		}
		if _, err := rewrite.Copy(t.Context(), at(src, ""), at(left, "in/y"), o); err != nil {
			t.Fatalf("stopped at %d, another copy: %v", k, err)
		}
		if d := differ(want, values(t, left, "in/y")); d != "" {
			t.Fatalf("stopped at %d, another copy differs: %s", k, d)
		}
	}
	t.Logf("%d points, at %d of them the node is there", points, visible)
	if points < 40 || visible == 0 || visible > 10 {
		t.Errorf("%d points and %d with the node are not what is expected", points, visible)
	}
}

// TestChanged changes a document of the source during the copy.
func TestChanged(t *testing.T) {
	left := memstore.New()
	tree(t, left, "")
	changed := false
	src := storetest.Conditional(left, storetest.Hooks{Before: func(ctx context.Context, op storetest.Op) error {
		if op.Key.String() == "a/c/0/0" && !changed {
			changed = true
			a, err := zarr.At(left, "a").OpenArray(ctx, &zarr.Options{Write: true})
			if err != nil {
				return err
			}
			return a.Resize(ctx, []int64{5, 7}, nil)
		}
		return nil
	}})
	dst := memstore.New()
	if _, err := rewrite.Copy(t.Context(), at(src, ""), at(dst, "y"), nil); !errors.Is(err, zarr.ErrConflict) {
		t.Fatalf("error is %v, want %v", err, zarr.ErrConflict)
	}
	if _, err := zarr.At(dst, "y").Open(t.Context(), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was not copied is there: %v", err)
	}
	if _, err := rewrite.Copy(t.Context(), at(src, ""), at(dst, "y"), nil); err != nil {
		t.Fatal(err)
	}
	if d := differ(values(t, left, ""), values(t, dst, "y")); d != "" {
		t.Errorf("differ: %s", d)
	}
}

// TestMove moves trees, and checks that those which cannot be moved stay.
func TestMove(t *testing.T) {
	for kind, build := range map[string]func(testing.TB, store.Store, string){"new": tree, "old": oldTree, "two": formatTwo} {
		s := memstore.New()
		build(t, s, "x/y")
		want := values(t, s, "x/y")
		if _, err := rewrite.Move(t.Context(), at(s, "x/y"), at(s, "z"), &rewrite.Options{DryRun: true}); err != nil || differ(want, values(t, s, "x/y")) != "" {
			t.Errorf("%s: a plan: %v", kind, err)
		}
		if kind == "old" {
			if _, err := s.Put(t.Context(), store.MustKey(".zgroup"), []byte(`{"zarr_format":2}`), store.Flush); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := rewrite.Move(t.Context(), at(s, "x/y"), at(s, "z"), nil); err != nil {
			t.Fatal(err)
		}
		if d := differ(want, values(t, s, "z")); d != "" || len(values(t, s, "x/y")) > 0 {
			t.Errorf("%s: differ: %s, and there are still %v", kind, d, slices.Collect(maps.Keys(values(t, s, "x/y"))))
		}
	}
	dir := t.TempDir()
	d, err := filestore.Open(dir+"/x.zarr", &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	tree(t, d, "")
	archive := located(t, dir+"/x.zip", store.Create)
	if _, err := rewrite.Move(t.Context(), at(d, ""), archive, nil); !errors.Is(err, zarr.ErrUnsupported) {
		t.Errorf("to an archive: %v", err)
	}
	readOnly, err := filestore.Open(dir+"/x.zarr", &filestore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	to := memstore.New()
	if _, err := rewrite.Move(t.Context(), at(readOnly, ""), at(to, ""), nil); !errors.Is(err, fs.ErrPermission) || len(values(t, to, "")) > 0 {
		t.Errorf("from what cannot be changed: %v", err)
	}
}

func ExampleCopy() {
	ctx, s := context.Background(), memstore.New()
	g, err := zarr.At(s, "era5").CreateGroup(ctx, nil, nil)
	if err != nil {
		panic(err)
	}
	a, err := g.At("t2m").CreateArray(ctx, zarr.Spec{Shape: []int64{4}, Type: dtype.Int8, Chunks: []grid.Cut{grid.Edges(1, 3)}}, nil)
	if err != nil {
		panic(err)
	}
	if err := zarr.Write(ctx, a, nil, []int8{1, 2, 3, 4}); err != nil {
		panic(err)
	}
	report, err := rewrite.Copy(ctx, g.Location(), zarr.At(s, "backup/era5"), nil)
	fmt.Println(report.Arrays, report.Groups, report.Values, err)
	// Output: 1 1 2 <nil>
}

// TestMoveOfLink moves a node by the name of a link to it, which cannot be removed:
// nothing is copied.
func TestMoveOfLink(t *testing.T) {
	dir := t.TempDir()
	d, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	tree(t, d, "x")
	if err := os.Symlink("x", dir+"/link"); err != nil {
		t.Skip("this system makes no symbolic links")
	}
	_, err = rewrite.Move(t.Context(), at(d, "link"), at(d, "y"), nil)
	if err == nil || errors.Is(err, zarr.ErrIncomplete) || !strings.Contains(err.Error(), `symbolic link; name "/x"`) {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(dir + "/y"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was copied: %v", err)
	}
}

// picky is a store that holds no names with a bell.
type picky struct{ *memstore.Store }

func (picky) CheckKey(key store.Key) error {
	if strings.Contains(key.String(), "\a") {
		return fmt.Errorf("%w: it rings", store.ErrInvalidKey)
	}
	return nil
}

// TestNamesBefore copies trees with names that the destination cannot hold: of a node,
// and of a file. Nothing is stored, and what was there stays.
func TestNamesBefore(t *testing.T) {
	for _, name := range []string{"t\a/zarr.json", "t/c/a\a", "g/t\a/zarr.json"} {
		src, to := at(memstore.New(), "a"), picky{memstore.New()}
		family(t, src, 3)
		raw, _, err := src.Store().Get(t.Context(), store.MustKey("a/t/zarr.json"), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		putValue(t, src.Store(), "a/"+name, string(raw))
		tree(t, to.Store, "b")
		was := valuesBelow(t, to, "")
		for what, do := range map[string]func(dst *zarr.Location) error{
			"copy": func(dst *zarr.Location) error {
				_, err := rewrite.Copy(t.Context(), src, dst, &rewrite.Options{Overwrite: true})
				return err
			},
			"sync": func(dst *zarr.Location) error {
				_, err := rewrite.Sync(t.Context(), src, dst, &rewrite.SyncOptions{Delete: true})
				return err
			},
			"convert": func(dst *zarr.Location) error {
				_, err := rewrite.ConvertTo(t.Context(), src, dst, 2, &rewrite.Options{Overwrite: true})
				return err
			},
		} {
			if what != "copy" && strings.HasPrefix(name, "t/c/") {
				continue // sync copies no such file, and a conversion meets it later
			}
			if err := do(zarr.At(to, "b")); !errors.Is(err, store.ErrInvalidKey) || !strings.Contains(err.Error(), strconv.Quote(name)) && what == "copy" {
				t.Errorf("%s of %q: %v", what, name, err)
			}
			if !maps.Equal(valuesBelow(t, to, ""), was) {
				t.Errorf("%s of %q changes the destination", what, name)
			}
		}
	}
}
