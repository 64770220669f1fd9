// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCopy copies trees of both formats between all kinds of stores, and compares the
// values.
func TestCopy(t *testing.T) {
	for kind, build := range map[string]func(testing.TB, store.Store, string){"new": trees.Tree, "old": trees.Opaque, "two": trees.TreeV2} {
		for name, c := range map[string]struct{ src, dst func() *zarr.Location }{
			"memory to memory": {func() *zarr.Location { return zarr.At(memtest.New(), "in/x") }, func() *zarr.Location { return zarr.At(memtest.New(), "") }},
			"within memory":    {nil, nil},
			"file to file":     {func() *zarr.Location { return zarr.At(trees.Directory(t), "") }, func() *zarr.Location { return zarr.At(trees.Directory(t), "new/y") }},
			"file to memory":   {func() *zarr.Location { return zarr.At(trees.Directory(t), "x") }, func() *zarr.Location { return zarr.At(memtest.New(), "new/y") }},
			"memory to archive": {func() *zarr.Location { return zarr.At(memtest.New(), "x") },
				func() *zarr.Location { return trees.Locate(t, t.TempDir()+"/y.zip/z", store.Create) }},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				var src, dst *zarr.Location
				if c.src == nil {
					s := memtest.New()
					src, dst = zarr.At(s, "x"), zarr.At(s, "beside/y")
				} else {
					src, dst = c.src(), c.dst()
				}
				from, to := src.Store(), dst.Store()
				build(t, from, src.Path())
				want := trees.Values(t, from, src.Path())
				plan, err := transfer.Copy(t.Context(), src, dst, &transfer.Options{DryRun: true})
				if err != nil || len(trees.Values(t, to, dst.Path())) > 0 {
					t.Fatalf("a plan: %v, %v", err, trees.Values(t, to, dst.Path()))
				}
				report, err := transfer.Copy(t.Context(), src, dst, &transfer.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if d := trees.Differ(want, trees.Values(t, to, dst.Path())); d != "" {
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
	for kind, build := range map[string]func(testing.TB, store.Store, string){"new": trees.Tree, "two": trees.TreeV2} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			s, err := filestore.Open(dir+"/x.zarr", &filestore.Options{Create: true})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close(s)
			build(t, s, "")
			archive := trees.Locate(t, dir+"/x.zip", store.Create)
			if _, err := transfer.Copy(t.Context(), zarr.At(s, ""), archive, nil); err != nil {
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
		dst := memtest.New()
		src := trees.Locate(t, strings.TrimSuffix(location+"/"+path, "/"), store.ReadOnly)
		plan, _ := transfer.Copy(t.Context(), src, zarr.At(dst, "to"), &transfer.Options{DryRun: true})
		report, err := transfer.Copy(t.Context(), src, zarr.At(dst, "to"), nil)
		if d := trees.Differ(trees.Values(t, s, path), trees.Values(t, dst, "to")); d != "" || err != nil || plan != report {
			t.Errorf("%s/%s: %s, %v", location, path, d, err)
		}
	}
}

// TestRead reads a copy, and finds it in the consolidated metadata of the group above.
func TestRead(t *testing.T) {
	for kind, build := range map[string]func(testing.TB, store.Store, string){"new": trees.Tree, "two": trees.TreeV2} {
		s := memtest.New()
		build(t, s, "x")
		root, err := zarr.At(s, "").OpenGroup(t.Context(), &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := root.Consolidate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time it replaces
			if _, err := transfer.Copy(t.Context(), zarr.At(s, "x/deep"), zarr.At(s, "y"), &transfer.Options{Overwrite: true}); err != nil {
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
		if _, err := transfer.Move(t.Context(), zarr.At(s, "y"), zarr.At(s, "x/z"), nil); err != nil {
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
	s := memtest.New()
	trees.Tree(t, s, "x")
	trees.Opaque(t, s, "old")
	for key, text := range map[string]string{"other/readme": "text", "broken/x/zarr.json": "{"} {
		if _, err := s.Write(t.Context(), store.Put(store.MustKey(key), []byte(text)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	d, err := filestore.Open(dir+"/x.zarr", &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(d)
	trees.Tree(t, d, "")
	if err := os.Symlink(dir+"/x.zarr", dir+"/link"); err != nil {
		t.Skip("this system makes no symbolic links")
	}
	linked, err := filestore.Open(dir+"/link", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(linked)
	above, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(above)
	readOnly, err := filestore.Open(dir+"/x.zarr", &filestore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(readOnly)
	before, beforeDir := trees.Values(t, s, ""), trees.Values(t, d, "")
	for name, c := range map[string]struct {
		src, dst  *zarr.Location
		overwrite bool
		want      error
	}{
		"itself":            {zarr.At(s, "x"), zarr.At(s, "x"), true, zarr.ErrInvalidArgument},
		"into itself":       {zarr.At(s, "x"), zarr.At(s, "x/y"), true, zarr.ErrInvalidArgument},
		"root into itself":  {zarr.At(s, ""), zarr.At(s, "y"), true, zarr.ErrInvalidArgument},
		"over its parent":   {zarr.At(s, "x/deep"), zarr.At(s, "x"), true, zarr.ErrInvalidArgument},
		"by a link":         {zarr.At(d, "deep"), zarr.At(linked, "deep"), true, zarr.ErrInvalidArgument},
		"below a link":      {zarr.At(linked, ""), zarr.At(d, "y"), true, zarr.ErrInvalidArgument},
		"by another root":   {zarr.At(d, "deep"), zarr.At(above, "x.zarr/deep"), true, zarr.ErrInvalidArgument},
		"over another root": {zarr.At(d, ""), zarr.At(above, ""), true, zarr.ErrInvalidArgument},
		"there already":     {zarr.At(s, "x/deep"), zarr.At(s, "x/a"), false, fs.ErrExist},
		"old there already": {zarr.At(s, "old/a"), zarr.At(s, "old/b"), false, fs.ErrExist},
		"not empty":         {zarr.At(s, "x/a"), zarr.At(s, "other"), true, fs.ErrExist},
		"below an array":    {zarr.At(s, "x/deep"), zarr.At(s, "x/a/y"), false, zarr.ErrInvalidArgument},
		"below an old one":  {zarr.At(s, "x/deep"), zarr.At(s, "old/y"), false, zarr.ErrInvalidArgument},
		"below a new one":   {zarr.At(s, "old"), zarr.At(s, "x/y"), false, zarr.ErrInvalidArgument},
		"below a broken":    {zarr.At(s, "x"), zarr.At(s, "broken/x/y"), false, zarr.ErrInvalidMetadata},
		"nothing":           {zarr.At(s, "none"), zarr.At(s, "y"), false, fs.ErrNotExist},
		"no node":           {zarr.At(s, "other"), zarr.At(s, "y"), false, fs.ErrNotExist},
		"bad path":          {zarr.At(s, "x"), zarr.At(s, "__varve"), false, zarr.ErrInvalidArgument},
		"read-only":         {zarr.At(s, "x"), zarr.At(readOnly, "y"), false, fs.ErrPermission},
	} {
		for _, dry := range []bool{true, false} {
			if dry && name == "read-only" {
				continue
			}
			_, err := transfer.Copy(t.Context(), c.src, c.dst, &transfer.Options{Overwrite: c.overwrite, DryRun: dry})
			if !errors.Is(err, c.want) {
				t.Errorf("%s: error is %v, want %v", name, err, c.want)
			}
		}
	}
	if d := trees.Differ(before, trees.Values(t, s, "")) + trees.Differ(beforeDir, trees.Values(t, d, "")); d != "" {
		t.Errorf("changed: %s", d)
	}
}

// TestUnknown copies nodes that Varve cannot open.
func TestUnknown(t *testing.T) {
	s := memtest.New()
	trees.Tree(t, s, "")
	raw, _, err := s.Get(t.Context(), store.MustKey("a/zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range map[string]string{
		"a/zarr.json": strings.ReplaceAll(string(raw), `"zstd"`, `"magic"`), "deep/b/zarr.json": "{", "deep/readme": "text",
		"a/__varve/aside/3x4/c/0/0": "aside", "a/__varve/pending.json": `{"holder":"somebody"}`,
	} {
		if _, err := s.Write(t.Context(), store.Put(store.MustKey(key), []byte(text)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	dst := memtest.New()
	report, err := transfer.Copy(t.Context(), zarr.At(s, ""), zarr.At(dst, ""), nil)
	if err != nil || report.Arrays != 4 || report.Groups != 3 {
		t.Fatal(report, err)
	}
	want := trees.Values(t, s, "")
	delete(want, "a/__varve/pending.json") // who holds the source does not hold the copy
	if d := trees.Differ(want, trees.Values(t, dst, "")); d != "" {
		t.Errorf("differ: %s", d)
	}
	if _, err := s.Write(t.Context(), store.Put(store.MustKey("a/__varve/pending.json"), []byte(`{"journal":"__varve/together-1.json"}`)), store.Flush); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Copy(t.Context(), zarr.At(s, ""), zarr.At(dst, "y"), nil); !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("in the middle of a change: %v", err)
	}
}

// TestLarge copies values that are too large to be in memory together.
func TestLarge(t *testing.T) {
	s := memtest.New()
	trees.Tree(t, s, "")
	for i := range 3 {
		if _, err := s.Write(t.Context(), store.Put(store.MustKey(fmt.Sprintf("a/tables/9/%d", i)), bytes.Repeat([]byte{byte(i)}, 17<<20)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	dst := trees.Directory(t)
	if _, err := transfer.Copy(t.Context(), zarr.At(s, ""), zarr.At(dst, "y"), nil); err != nil {
		t.Fatal(err)
	}
	if d := trees.Differ(trees.Values(t, s, ""), trees.Values(t, dst, "y")); d != "" {
		t.Errorf("differ: %s", d)
	}
}

// TestInterrupted stops a copy before every operation of the destination. Either nothing
// of it is visible, or all, and another copy to the same place succeeds.
func TestInterrupted(t *testing.T) {
	src := memtest.New()
	trees.Tree(t, src, "")
	want := trees.Values(t, src, "")
	stop := errors.New("stopped")
	points, visible := 0, 0
	for k := 0; ; k++ {
		left := memtest.New()
		var n atomic.Int64
		dst := stepping.Conditional(left, stepping.Hooks{Before: func(context.Context, stepping.Op) error {
			if n.Add(1) > int64(k) {
				return stop
			}
			return nil
		}})
		_, err := transfer.Copy(t.Context(), zarr.At(src, ""), zarr.At(dst, "in/y"), &transfer.Options{Options: zarr.Options{Concurrency: 1}})
		if err == nil {
			break
		}
		points++
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
		o := &transfer.Options{}
		if _, err := zarr.At(left, "in/y").Open(t.Context(), nil); err == nil {
			visible++
			o.Overwrite = true
			got := trees.Values(t, left, "in/y")
			delete(got, "__varve/unfinished.json")
			if d := trees.Differ(want, got); d != "" {
				t.Fatalf("stopped at %d: it is there, and differs: %s", k, d)
			}
		}
		if _, err := transfer.Copy(t.Context(), zarr.At(src, ""), zarr.At(left, "in/y"), o); err != nil {
			t.Fatalf("stopped at %d, another copy: %v", k, err)
		}
		if d := trees.Differ(want, trees.Values(t, left, "in/y")); d != "" {
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
	left := memtest.New()
	trees.Tree(t, left, "")
	changed := false
	src := stepping.Conditional(left, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
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
	dst := memtest.New()
	if _, err := transfer.Copy(t.Context(), zarr.At(src, ""), zarr.At(dst, "y"), nil); !errors.Is(err, zarr.ErrConflict) {
		t.Fatalf("error is %v, want %v", err, zarr.ErrConflict)
	}
	if _, err := zarr.At(dst, "y").Open(t.Context(), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was not copied is there: %v", err)
	}
	if _, err := transfer.Copy(t.Context(), zarr.At(src, ""), zarr.At(dst, "y"), nil); err != nil {
		t.Fatal(err)
	}
	if d := trees.Differ(trees.Values(t, left, ""), trees.Values(t, dst, "y")); d != "" {
		t.Errorf("differ: %s", d)
	}
}

// TestChangedArchive is TestChanged for a new archive, which has the documents before the
// copy fails.
func TestChangedArchive(t *testing.T) {
	left := memtest.New()
	trees.Tree(t, left, "")
	changed, name := true, t.TempDir()+"/x.zip"
	src := stepping.Conditional(left, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
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
	dst := trees.Locate(t, name, store.Create)
	changed = false
	if _, err := transfer.Copy(t.Context(), zarr.At(src, ""), dst, nil); !errors.Is(err, zarr.ErrConflict) {
		t.Fatalf("error is %v, want %v", err, zarr.ErrConflict)
	}
	if _, err := dst.Open(t.Context(), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was not copied is there: %v", err)
	}
	if _, err := transfer.Copy(t.Context(), zarr.At(src, ""), dst, nil); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(dst.Store()); err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	chunks := false
	for _, f := range z.File {
		isDocument := strings.HasSuffix(f.Name, "zarr.json")
		if isDocument && chunks {
			t.Errorf("%s comes after chunks", f.Name)
		}
		chunks = chunks || !isDocument
	}
	// The members lie in the order of the directory: nothing was written twice.
	slices.SortFunc(z.File, func(a, b *zip.File) int {
		x, _ := a.DataOffset()
		y, _ := b.DataOffset()
		return cmp.Compare(x, y)
	})
	if z.File[0].Name != "zarr.json" {
		t.Errorf("the first member is %s", z.File[0].Name)
	}
}

// TestMove moves trees, and checks that those which cannot be moved stay.
func TestMove(t *testing.T) {
	for kind, build := range map[string]func(testing.TB, store.Store, string){"new": trees.Tree, "old": trees.Opaque, "two": trees.TreeV2} {
		s := memtest.New()
		build(t, s, "x/y")
		want := trees.Values(t, s, "x/y")
		if _, err := transfer.Move(t.Context(), zarr.At(s, "x/y"), zarr.At(s, "z"), &transfer.Options{DryRun: true}); err != nil || trees.Differ(want, trees.Values(t, s, "x/y")) != "" {
			t.Errorf("%s: a plan: %v", kind, err)
		}
		if kind == "old" {
			if _, err := s.Write(t.Context(), store.Put(store.MustKey(".zgroup"), []byte(`{"zarr_format":2}`)), store.Flush); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := transfer.Move(t.Context(), zarr.At(s, "x/y"), zarr.At(s, "z"), nil); err != nil {
			t.Fatal(err)
		}
		if d := trees.Differ(want, trees.Values(t, s, "z")); d != "" || len(trees.Values(t, s, "x/y")) > 0 {
			t.Errorf("%s: differ: %s, and there are still %v", kind, d, slices.Collect(maps.Keys(trees.Values(t, s, "x/y"))))
		}
	}
	dir := t.TempDir()
	d, err := filestore.Open(dir+"/x.zarr", &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(d)
	trees.Tree(t, d, "")
	archive := trees.Locate(t, dir+"/x.zip", store.Create)
	if _, err := transfer.Move(t.Context(), zarr.At(d, ""), archive, nil); !errors.Is(err, zarr.ErrUnsupported) {
		t.Errorf("to an archive: %v", err)
	}
	readOnly, err := filestore.Open(dir+"/x.zarr", &filestore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(readOnly)
	to := memtest.New()
	if _, err := transfer.Move(t.Context(), zarr.At(readOnly, ""), zarr.At(to, ""), nil); !errors.Is(err, fs.ErrPermission) || len(trees.Values(t, to, "")) > 0 {
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
	report, err := transfer.Copy(ctx, g.Location(), zarr.At(s, "backup/era5"), nil)
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
	defer store.Close(d)
	trees.Tree(t, d, "x")
	if err := os.Symlink("x", dir+"/link"); err != nil {
		t.Skip("this system makes no symbolic links")
	}
	_, err = transfer.Move(t.Context(), zarr.At(d, "link"), zarr.At(d, "y"), nil)
	if err == nil || errors.Is(err, zarr.ErrIncomplete) || !strings.Contains(err.Error(), `symbolic link; name "/x"`) {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(dir + "/y"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was copied: %v", err)
	}
}

// picky is a store that holds no names with a bell.
type picky struct{ memtest.Store }

func (picky) Traits() store.Traits { return store.Traits{} }

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
		src, to := zarr.At(memtest.New(), "a"), picky{memtest.New()}
		family(t, src, 3)
		raw, _, err := src.Store().Get(t.Context(), store.MustKey("a/t/zarr.json"), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		putValue(t, src.Store(), "a/"+name, string(raw))
		trees.Tree(t, to.Store, "b")
		was := valuesBelow(t, to, "")
		for what, do := range map[string]func(dst *zarr.Location) error{
			"copy": func(dst *zarr.Location) error {
				_, err := transfer.Copy(t.Context(), src, dst, &transfer.Options{Overwrite: true})
				return err
			},
			"sync": func(dst *zarr.Location) error {
				_, err := transfer.Sync(t.Context(), src, dst, &transfer.SyncOptions{Delete: true})
				return err
			},
			"convert": func(dst *zarr.Location) error {
				_, err := convert.ConvertTo(t.Context(), src, dst, 2, &convert.Options{Overwrite: true})
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

// TestParentsListed copies an array into missing groups of a store with consolidated
// metadata. The groups are listed there, too: zarr-python cannot open a store that lists
// a member without its group.
func TestParentsListed(t *testing.T) {
	for format := 2; format <= 3; format++ {
		for name, do := range map[string]func(src, dst *zarr.Location) error{
			"copy": func(src, dst *zarr.Location) error { _, err := transfer.Copy(t.Context(), src, dst, nil); return err },
			"move": func(src, dst *zarr.Location) error { _, err := transfer.Move(t.Context(), src, dst, nil); return err },
			"convert": func(_, dst *zarr.Location) error {
				src := zarr.At(memtest.New(), "t")
				arrayAt(t, src.Root(), "t", 5-format)
				_, err := convert.ConvertTo(t.Context(), src, dst, format, nil)
				return err
			},
		} {
			s := memtest.New()
			h := zarr.At(s, "")
			arrayAt(t, h, "t", format)
			g, err := h.At("").OpenGroup(t.Context(), &zarr.Options{Write: true})
			if err == nil {
				err = g.Consolidate(t.Context())
			}
			if err == nil {
				err = do(zarr.At(s, "t"), zarr.At(s, "sub/deep/t"))
			}
			if err != nil {
				t.Fatalf("format %d, %s: %v", format, name, err)
			}
			for _, want := range []string{"sub", "sub/deep", "sub/deep/t"} {
				if got := membersOf(t, s); !slices.Contains(got, want) {
					t.Errorf("format %d, %s: consolidated metadata lists %q, without %s", format, name, got, want)
				}
			}
		}
	}
}

// arrayAt creates an array of a format, and the groups above it.
func arrayAt(t *testing.T, h *zarr.Location, path string, format int) {
	t.Helper()
	spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int32}
	if _, err := h.At(path).CreateArray(t.Context(), spec, &zarr.CreateOptions{Format: format}); err != nil {
		t.Fatal(err)
	}
}

// membersOf returns the paths that the consolidated metadata of the root lists.
func membersOf(t *testing.T, s store.Store) (paths []string) {
	t.Helper()
	g, err := zarr.At(s, "").OpenGroup(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := g.Metadata().Consolidated
	if c == nil {
		t.Fatal("the root has no consolidated metadata")
	}
	for path := range c.Nodes() {
		paths = append(paths, path)
	}
	return paths
}

// TestSuperseded copies and moves arrays with chunks of former grids and files of other
// programs. A copy leaves out the chunks only, a move nothing.
func TestSuperseded(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, s store.Store) (former []string){
		"rechunked": func(t *testing.T, s store.Store) []string {
			a := trees.Numbered(t, zarr.At(s, "g/a"), 6)
			before := trees.Values(t, s, "")
			if _, err := rechunk.Do(t.Context(), a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(3)}}, nil); err != nil {
				t.Fatal(err)
			}
			now := trees.Values(t, s, "")
			maps.DeleteFunc(before, func(k, v string) bool { return !strings.Contains(k, "c/") || now[k] != v })
			return slices.Sorted(maps.Keys(before))
		},
		"beyond the shape": func(t *testing.T, s store.Store) []string {
			trees.Numbered(t, zarr.At(s, "g/a"), 6)
			return put(t, s, "g/a/c/3", "g/a/c/100")
		},
		"of another encoding": func(t *testing.T, s store.Store) []string {
			trees.Numbered(t, zarr.At(s, "g/a"), 6)
			return put(t, s, "g/a/0", "g/a/c.0", "g/a/c.1")
		},
		"below a group of format 2": func(t *testing.T, s store.Store) []string {
			trees.TreeV2(t, s, "g/a")
			var beyond []string
			for key := range trees.Values(t, s, "") {
				if dir, ok := strings.CutSuffix(key, "/.zarray"); ok {
					beyond = append(beyond, put(t, s, dir+"/99.99")...)
				}
			}
			return beyond
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := memtest.New()
			former := prepare(t, s)
			if len(former) == 0 {
				t.Fatal("nothing is superseded")
			}
			// Files of other programs: by their names, or because no array is above them.
			put(t, s, "g/a/README.md", "g/a/tables/part.0.parquet", "g/a/c/x", "g/notes/0/0")
			want := trees.Values(t, s, "g")
			maps.DeleteFunc(want, func(k, _ string) bool { return strings.Contains(k, "__varve/") || slices.Contains(former, "g/"+k) })
			planned, err := transfer.Copy(t.Context(), zarr.At(s, "g"), zarr.At(s, "copy"), &transfer.Options{DryRun: true})
			if err != nil {
				t.Fatal(err)
			}
			r, err := transfer.Copy(t.Context(), zarr.At(s, "g"), zarr.At(s, "copy"), nil)
			if err != nil || r.Superseded != int64(len(former)) || r.Superseded != planned.Superseded || r.Values != planned.Values || r.Bytes != planned.Bytes {
				t.Fatalf("%+v, planned %+v, of %q (%v)", r, planned, former, err)
			}
			if d := trees.Differ(want, trees.Values(t, s, "copy")); d != "" {
				t.Errorf("the copy differs: %s", d)
			}
			all := trees.Values(t, s, "g")
			maps.DeleteFunc(all, func(k, _ string) bool { return strings.Contains(k, "__varve/") })
			if r, err = transfer.Move(t.Context(), zarr.At(s, "g"), zarr.At(s, "moved"), nil); err != nil || r.Superseded != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if d := trees.Differ(all, trees.Values(t, s, "moved")); d != "" {
				t.Errorf("what was moved differs: %s", d)
			}
		})
	}
}

// put stores values and returns their keys.
func put(t *testing.T, s store.Store, keys ...string) []string {
	t.Helper()
	for _, key := range keys {
		if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte("value of "+key)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// TestStoppedCopy stops a copy before each of its file system operations, as a kill does.
// The same copy then succeeds, whatever the first one left.
func TestStoppedCopy(t *testing.T) {
	src := memtest.New()
	spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(2)}}
	a, err := zarr.At(src, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, []int32{1, 2, 3, 4})
	}
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(0); ; n++ {
		disk := vfs.NewDisk()
		if _, err := zarr.At(fixture.FileStore(disk), "").CreateGroup(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		stop, stopped := vfs.StopAt(n)
		_, copyErr := transfer.Copy(t.Context(), zarr.At(src, "a"), zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), "b"), nil)
		if !stopped() {
			if copyErr != nil || n < 10 {
				t.Fatalf("%d operations: %v", n, copyErr)
			}
			return
		}
		to := zarr.At(fixture.FileStore(disk), "b")
		// The node is there if the first copy was stopped behind its last document.
		opt := &transfer.Options{Overwrite: false}
		if there, err := to.Root().At("b").OpenArray(t.Context(), nil); err == nil {
			opt.Overwrite = true
			there.Close()
		}
		if _, err := transfer.Copy(t.Context(), zarr.At(src, "a"), to, opt); err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
		b, err := to.Root().At("b").OpenArray(t.Context(), nil)
		if err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
		if got, err := zarr.Read[int32](t.Context(), b, nil); err != nil || !slices.Equal(got.Data, []int32{1, 2, 3, 4}) {
			t.Fatalf("operation %d: %v, %v", n, got, err)
		}
	}
}

// TestFullDisk checks that copies and conversions report the full disk, and not the
// cancellation of the other goroutines.
func TestFullDisk(t *testing.T) {
	src := memtest.New()
	trees.Tree(t, src, "x")
	for i := range 300 { // a listing that is still under way then
		if _, err := store.Write(t.Context(), src, store.Put(store.MustKey(fmt.Sprintf("x/a/tables/c/%d", i+100)), []byte("chunk")), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 60 {
		var puts atomic.Int64
		full := stepping.Conditional(memtest.New(), stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
			if strings.Contains(op.Key.String(), "/c/") && puts.Add(1) > int64(round) && strings.HasPrefix(op.Name, "Put") {
				return syscall.ENOSPC
			}
			return nil
		}})
		_, copyErr := transfer.Copy(t.Context(), zarr.At(src, "x"), zarr.At(full, "y"), &transfer.Options{})
		puts.Store(0)
		_, convertErr := convert.ConvertTo(t.Context(), zarr.At(src, "x"), zarr.At(full, "z"), 3, nil)
		for _, err := range []error{copyErr, convertErr} {
			if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, context.Canceled) || zarr.KindOf(err) != "no-space" {
				t.Fatalf("round %d: %v (%s)", round, err, zarr.KindOf(err))
			}
		}
		if begun, err := transfer.Unfinished(t.Context(), zarr.At(full, "y")); !begun || err != nil {
			t.Fatalf("round %d: the copy is begun: %v (%v)", round, begun, err)
		}
	}
}
