// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// rows returns a store with an array of rows, and the array.
func rows(t *testing.T, n int, cuts ...grid.Cut) (store.Store, *zarr.Array) {
	t.Helper()
	s := memstore.New()
	a, err := zarr.At(s, "n").CreateArray(t.Context(), zarr.Spec{Shape: []int64{int64(n)}, Type: dtype.Int32, Chunks: cuts}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(t.Context(), a, nil, numbers(0, n)); err != nil {
		t.Fatal(err)
	}
	return s, a
}

// numbers returns n numbers, from first on.
func numbers(first, n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(first + i)
	}
	return list
}

// TestView opens views of an array with unequal chunks over HTTP.
func TestView(t *testing.T) {
	s, _ := rows(t, 10, grid.Edges(4, 1, 5))
	server := httptest.NewServer(handler(t, zarr.At(s, "n"), nil))
	defer server.Close()
	for _, view := range []string{"@regular", "@regular,chunks=3", "@regular,codec=gzip,chunks=7", "@v2", "@v2,chunks=2,codec=none"} {
		a, err := zarr.OpenArray(t.Context(), server.URL+"/"+view+"/n", nil)
		if err != nil {
			t.Fatal(view, err)
		}
		got, err := zarr.Read[int32](t.Context(), a, nil)
		if err != nil || !slices.Equal(got.Data, numbers(0, 10)) || a.Grid().Name() != "regular" {
			t.Errorf("%s: %v, %v", view, got.Data, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestViewRequests asks for parts and versions of a chunk of a view.
func TestViewRequests(t *testing.T) {
	s, a := rows(t, 10, grid.Edges(4, 1, 5))
	h := handler(t, zarr.At(s, "n"), nil)
	const path = "/@regular,chunks=3,codec=none/n/c/1"
	whole := request(t, h, "GET", path)
	value, tag := body(t, whole), whole.Header.Get("ETag")
	if whole.StatusCode != 200 || len(value) != 12 || !strings.HasPrefix(tag, `"`) {
		t.Fatal(whole.StatusCode, len(value), tag)
	}
	for _, method := range []string{"GET", "HEAD"} {
		if is := request(t, h, method, path, "If-None-Match", "x"+tag); is.StatusCode != 200 {
			t.Errorf("%s: status %d for what is no list of tags", method, is.StatusCode)
		}
		kept := request(t, h, method, path, "If-None-Match", `"x", `+tag)
		if kept.StatusCode != 304 || kept.Header.Get("ETag") != tag {
			t.Errorf("%s of a version that is kept: status %d", method, kept.StatusCode)
		}
	}
	for from := range 12 { // of a chunk that is in memory
		for to := from; to < 12; to++ {
			is := request(t, h, "GET", path, "Range", fmt.Sprintf("bytes=%d-%d", from, to))
			if is.StatusCode != 206 || body(t, is) != value[from:to+1] {
				t.Errorf("bytes %d to %d: status %d", from, to, is.StatusCode)
			}
		}
	}
	if is := request(t, h, "GET", path, "Range", "bytes=0-1,9-11"); is.StatusCode != 206 || !strings.Contains(body(t, is), value[9:12]) {
		t.Errorf("two ranges: status %d", is.StatusCode)
	}
	if is := request(t, h, "HEAD", path); is.ContentLength != 12 || is.Header.Get("ETag") != tag {
		t.Errorf("HEAD: %d bytes, %s", is.ContentLength, is.Header.Get("ETag"))
	}
	if is := request(t, h, "GET", path, "Range", "bytes=4-7", "If-Range", tag); is.StatusCode != 206 || body(t, is) != value[4:8] {
		t.Errorf("a part: status %d", is.StatusCode)
	}
	if err := zarr.Write(t.Context(), a, nil, numbers(5, 10)); err != nil {
		t.Fatal(err)
	}
	if is := request(t, h, "GET", path, "If-None-Match", tag); is.StatusCode != 200 || body(t, is) == value {
		t.Errorf("a version that was replaced: status %d", is.StatusCode)
	}
	if is := request(t, h, "GET", path, "Range", "bytes=4-7", "If-Range", tag); is.StatusCode != 200 {
		t.Errorf("a part of a version that was replaced: status %d", is.StatusCode)
	}
}

// TestViewStatuses asks for what views have not.
func TestViewStatuses(t *testing.T) {
	s, _ := rows(t, 10, grid.Edges(4, 1, 5))
	odd, err := zarr.At(s, "odd").CreateArray(t.Context(), zarr.Spec{Shape: []int64{4}, Type: dtype.Int32}, nil)
	if err != nil {
		t.Fatal(err)
	}
	doc := odd.Metadata()
	doc.Codecs = []metadata.Extension{{Name: "unheard-of"}}
	raw, err := doc.Marshal(metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "odd/zarr.json", raw)
	h, err := serve.New([]serve.Node{{Name: "n", Location: zarr.At(s, "n")}, {Name: "odd", Location: zarr.At(s, "odd")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/@regular/n/zarr.json":               200,
		"/@regular/n":                         301,
		"/@regular/n/":                        200,
		"/@regular/":                          200,
		"/@regular/n/c/0":                     200,
		"/@regular/n/.zarray":                 404,
		"/@v2/n/zarr.json":                    404,
		"/@v2/n/.zarray":                      200,
		"/@regular/n/c/77":                    410,
		"/@regular/n/x/c/0":                   410,
		"/@regular/n/x":                       404,
		"/@regular/m/zarr.json":               404,
		"/@regular,at=x/n/zarr.json":          410,
		"/@regular,chunks=0/n/zarr.json":      400,
		"/@regular,chunks=1x1/n/zarr.json":    400, // there is no array of this rank
		"/@regular,codec=lz4/n/zarr.json":     400,
		"/@regular,x=1/n/zarr.json":           400,
		"/@other/n/zarr.json":                 400,
		"/@/n/zarr.json":                      400,
		"/@regular/odd/zarr.json":             406,
		"/@regular/n/__varve/x":               404,
		"/@regular/n/.hidden":                 404,
		"/@regular,chunks=9999999/n/.x/c/0":   403,
		"/@regular,chunks=99999999/n/c/0":     400,
		"/@regular,chunks=3,codec=none/n/c/3": 200,
	} {
		is := request(t, h, "GET", path)
		text := body(t, is)
		if is.StatusCode != want {
			t.Errorf("%s: status %d, want %d: %s", path, is.StatusCode, want, text)
		}
		if want >= 400 {
			var p struct {
				Status int
				Detail string
			}
			if err := json.Unmarshal([]byte(text), &p); err != nil || p.Status != want || p.Detail == "" {
				t.Errorf("%s: %s", path, text)
			}
		}
	}
}

// TestSuccessor drops rows of an array: the view ends and names the one that follows.
func TestSuccessor(t *testing.T) {
	s, a := rows(t, 10, grid.Edges(4, 1, 5))
	h := handler(t, zarr.At(s, "n"), nil)
	const view = "@regular,chunks=3"
	read := func(view string) *http.Response { return request(t, h, "GET", "/"+view+"/n/c/0") }
	if is := read(view); is.StatusCode != 200 {
		t.Fatal(is.StatusCode)
	}
	for i := range 12 {
		if err := zarr.Append(t.Context(), a, 0, numbers(10+i, 1), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := rechunk.Do(t.Context(), a, rechunk.Removal{Axis: 0, Range: grid.Interval{Start: 0, Stop: 1}}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
			t.Fatal(err)
		}
		is := read(view)
		link := is.Header.Get("Link")
		next, _, found := strings.Cut(strings.TrimPrefix(link, "</"), "/n/>")
		if is.StatusCode != 410 || !found || !strings.Contains(body(t, is), next) {
			t.Fatalf("status %d, link %s", is.StatusCode, link)
		}
		for range 2 {
			if is := read(next); is.StatusCode != 200 {
				t.Fatalf("%s: status %d", next, is.StatusCode)
			}
		}
		if is := read(view + ",at=lost"); is.StatusCode != 410 || is.Header.Get("Link") != link {
			t.Errorf("a state that is not known: status %d, link %s", is.StatusCode, is.Header.Get("Link"))
		}
	}
}

// TestReadersOfGrowth reads views while their source grows and is compacted: no element
// ever has another value than its own.
func TestReadersOfGrowth(t *testing.T) {
	s, a := rows(t, 10, grid.Edges(4, 1, 5))
	server := httptest.NewServer(handler(t, zarr.At(s, "n"), nil))
	defer server.Close()
	done := make(chan struct{})
	var g sync.WaitGroup
	for i, view := range []string{"@regular", "@regular,chunks=3", "@v2,chunks=16", "@regular,chunks=5,codec=none"} {
		g.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					if n > 2 {
						return
					}
				default:
				}
				b, err := zarr.OpenArray(t.Context(), server.URL+"/"+view+"/n", nil)
				if err != nil {
					t.Error(i, err)
					return
				}
				got, err := zarr.Read[int32](t.Context(), b, nil)
				if err != nil || !slices.Equal(got.Data, numbers(0, len(got.Data))) || len(got.Data) < 10 {
					t.Error(view, got.Data, err)
				}
				_ = b.Close()
			}
		})
	}
	for n := 10; n < 60; n += 2 {
		if err := zarr.Append(t.Context(), a, 0, numbers(n, 2), nil); err != nil {
			t.Error(err)
		}
		if n%20 == 0 {
			if _, err := rechunk.Do(t.Context(), a, rechunk.Compaction{Axis: 0, UpTo: 8}, nil); err != nil {
				t.Error(err)
			}
		}
	}
	close(done)
	g.Wait()
}

// TestCompactedFolder compacts an array in a folder, for which the library reads its own
// files beside the array: the view goes on.
func TestCompactedFolder(t *testing.T) {
	s, err := filestore.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close(s) }()
	for _, path := range []string{"n", "deep/n"} {
		a := array(t, s, path, zarr.Spec{Shape: []int64{10}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(4, 1, 5)}}, numbers(0, 10))
		h := handler(t, zarr.At(s, path), nil)
		before := body(t, request(t, h, "GET", "/@regular,chunks=3,codec=none/n/c/1"))
		if _, err := rechunk.Do(t.Context(), a, rechunk.Compaction{Axis: 0, UpTo: 8}, nil); err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{"/@regular,chunks=3,codec=none/n/c/1", "/@values/n?format=raw&select=3:6"} {
			if is := request(t, h, "GET", address); is.StatusCode != 200 || body(t, is) != before {
				t.Errorf("%s: status %d", address, is.StatusCode)
			}
		}
	}
}

// TestManyViews holds a bounded number of views with chunks of their own. Those that show
// nothing do not count, and the others are always there.
func TestManyViews(t *testing.T) {
	s, _ := rows(t, 10, grid.Every(5))
	h := handler(t, zarr.At(s, "n"), nil)
	get := func(path string) int { return request(t, h, "GET", path).StatusCode }
	for i := range 1010 {
		if is := get(fmt.Sprintf("/@regular,chunks=%d/n/nothing", i+1)); is != 404 {
			t.Fatalf("view %d: status %d", i, is)
		}
	}
	last := 0
	for i := range 1010 {
		last = get(fmt.Sprintf("/@regular,chunks=%d/n/zarr.json", i+1))
	}
	if first, plain := get("/@regular,chunks=1/n/zarr.json"), get("/@v2/n/.zarray"); first != 200 || last != 503 || plain != 200 {
		t.Errorf("the first view has status %d, the last one %d, and that of format 2 %d", first, last, plain)
	}
}

// TestViewLinks expects no view and no value of what a symbolic link leads to out of a
// node, or to what is hidden in it.
func TestViewLinks(t *testing.T) {
	dir, g := folder(t)
	chunk, err := os.ReadFile(filepath.Join(dir, "other", "c", "0", "0"))
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) string { return filepath.Join(append([]string{dir, "g"}, names...)...) }
	if err := errors.Join(os.CopyFS(at("b"), os.DirFS(at("a"))), os.CopyFS(at("d"), os.DirFS(at("a"))), os.CopyFS(at(".e"), os.DirFS(at("a")))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		os.Remove(at("b", "c", "0", "0")), os.WriteFile(at(".secret"), chunk, 0o666), os.Remove(at("d", "c", "0", "0")),
		os.Symlink(filepath.Join("..", "other"), at("beside")), os.Symlink("a", at("alias")), os.Symlink(".e", at("dotted")),
		os.Symlink(filepath.Join("..", "..", "..", "..", "other", "c", "0", "0"), at("b", "c", "0", "0")),
		os.Symlink(filepath.Join("..", "..", "..", ".secret"), at("d", "c", "0", "0")),
	); err != nil {
		t.Skip("this system has no symbolic links for us: ", err)
	}
	h := handler(t, g, nil)
	// Names that nobody can read take nothing from the others.
	server := httptest.NewServer(h)
	defer server.Close()
	is, err := http.Get(server.URL + "/@regular/n/")
	if err != nil {
		t.Fatal(err)
	}
	defer is.Body.Close()
	if names := links(body(t, is)); is.StatusCode != 200 || !slices.Equal(names, []string{"a/", "alias/", "b/", "d/", "zarr.json"}) {
		t.Errorf("status %d, %q are listed", is.StatusCode, names)
	}
	if is := request(t, h, "GET", "/@values/n"); is.StatusCode != 400 || !strings.Contains(body(t, is), "such as a, alias, b, d") {
		t.Errorf("values of a group: status %d", is.StatusCode)
	}
	if is := request(t, h, "GET", "/n/current-timestep"); is.StatusCode != 404 {
		t.Errorf("the time step: status %d", is.StatusCode)
	}
	for path, want := range map[string]int{"a": 200, "alias": 200, "b": 403, "d": 403, "beside": 403, "dotted": 403} {
		for _, address := range []string{"/@regular,chunks=5x4/n/" + path + "/c/0/0", "/@values/n/" + path} {
			if is := request(t, h, "GET", address); is.StatusCode != want {
				t.Errorf("%s: status %d, want %d: %s", address, is.StatusCode, want, body(t, is))
			}
		}
	}
}

// TestCoarseView coarsens a group over HTTP, and refuses what cannot be meant.
func TestCoarseView(t *testing.T) {
	s := memstore.New()
	h := zarr.At(s, "n")
	if _, err := h.CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	a, err := h.At("a").CreateArray(t.Context(), zarr.Spec{Shape: []int64{10}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(4, 1, 5)}, DimensionNames: []string{"row"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(t.Context(), a, nil, numbers(0, 10)); err != nil {
		t.Fatal(err)
	}
	handler, err := serve.New([]serve.Node{{Name: "n", Location: h}, {Name: "a", Location: h.At("a")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	for view, want := range map[string][]int32{
		"@regular,coarsen=row:3": {1, 4, 7, 9}, "@v2,coarsen=row:3,chunks=2": {1, 4, 7, 9}, "@regular,coarsen=row:4,method=nearest": {0, 4, 8},
	} {
		b, err := zarr.OpenArray(t.Context(), server.URL+"/"+view+"/n/a", nil)
		if err != nil {
			t.Fatal(view, err)
		}
		if got, err := zarr.Read[int32](t.Context(), b, nil); err != nil || !slices.Equal(got.Data, want) {
			t.Errorf("%s: %v, %v", view, got.Data, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	for path, want := range map[string]string{
		"/@regular,coarsen=column:3/n/zarr.json": "no array has the dimension", "/@regular,coarsen=row:0/n/zarr.json": "no factor",
		"/@regular,coarsen=row/n/zarr.json": "no dimension with a factor", "/@regular,coarsen=row:3,method=mode/n/zarr.json": "mean and nearest",
		"/@regular,coarsen=row:3,x=y/n/zarr.json": "views have no option",
		"/@regular,chunks=2x2/n/zarr.json":        "chunks= has 2 axes", "/@regular,chunks=2x2/a/zarr.json": "their numbers of axes are 1",
	} {
		if is := request(t, handler, "GET", path); is.StatusCode != 400 || !strings.Contains(body(t, is), want) {
			t.Errorf("%s: status %d", path, is.StatusCode)
		}
	}
}

// TestHiddenMembers expects no array of which nobody can read a chunk: views, values,
// events and the time step leave out hidden names, and their keys are not missing ones.
func TestHiddenMembers(t *testing.T) {
	s := memstore.New()
	g := zarr.At(s, "n")
	if _, err := g.CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	for path, dimension := range map[string]string{"good": "time", ".draft": "other", "old.vz": "time", ".d/x": "time", "in/.d": "time", "in/good": "time"} {
		spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: grid.Chunks(2), DimensionNames: []string{dimension}}
		a, err := g.At(path).CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 1 // the newest step of the hidden arrays is an earlier one
		if strings.HasSuffix(path, "good") {
			n = 4
		}
		if err := zarr.Write(t.Context(), a, selection.Box{{0, int64(n)}}, numbers(1, n)); err != nil {
			t.Fatal(err)
		}
	}
	h := handler(t, g, nil)
	for path, want := range map[string][]string{
		"/@regular/n/zarr.json": {"good", "in", "in/good"},
		"/@v2/n/.zmetadata":     {".zattrs", ".zgroup", "good/.zarray", "good/.zattrs", "in/.zattrs", "in/.zgroup", "in/good/.zarray", "in/good/.zattrs"},
	} {
		var doc struct {
			Consolidated struct{ Metadata map[string]any } `json:"consolidated_metadata"`
			Metadata     map[string]any
		}
		text := body(t, request(t, h, "GET", path))
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		names := append(slices.Collect(maps.Keys(doc.Consolidated.Metadata)), slices.Collect(maps.Keys(doc.Metadata))...)
		slices.Sort(names)
		if !slices.Equal(names, want) {
			t.Errorf("%s describes %q, want %q", path, names, want)
		}
	}
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/@regular,coarsen=other:2/n/zarr.json": {400, "no array has the dimension"},
		"/@values/n":                            {400, "such as good"},
		"/n/current-timestep":                   {200, `{"timestep":3}`},
		"/@regular/n/.draft/c/0":                {403, ""}, "/@regular/n/old.vz/zarr.json": {403, ""}, "/@v2/n/in/.d/0": {403, ""},
		"/n/.draft/c/0": {403, ""}, "/n/.draft/zarr.json": {403, ""}, "/n/.d/x/c/0": {403, ""}, "/n/.draft": {404, ""}, "/n/__varve/x/c/0": {404, ""}, "/n/__varvex/c/0": {403, ""}, "/n/.d/": {404, ""},
	} {
		if is := request(t, h, "GET", path); is.StatusCode != want.status || !strings.Contains(body(t, is), want.text) {
			t.Errorf("%s: status %d, want %d and %s", path, is.StatusCode, want.status, want.text)
		}
	}
	events := follow(t, watchedServer(t, s).URL)
	events.want("present", "good", 4)
	events.want("present", "in/good", 4)
}
