// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// request sends a request to a handler. Headers are pairs of a name and a value.
func request(t *testing.T, h http.Handler, method, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost:8000"+path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Add(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// body returns the body of an answer.
func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// handler returns a handler for one node with the name n.
func handler(t *testing.T, l *zarr.Location, opt *serve.Options) *serve.Handler {
	t.Helper()
	h, err := serve.New([]serve.Node{{Name: "n", Location: l}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// folder returns a folder with a group g and arrays g/a and other, and their location.
func folder(t *testing.T) (dir string, g *zarr.Location) {
	t.Helper()
	dir = t.TempDir()
	s, err := filestore.Open(dir, &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close(s) })
	for _, path := range []string{"", "g"} {
		if _, err := zarr.At(s, path).CreateGroup(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"g/a", "other"} {
		spec := zarr.Spec{Shape: []int64{5, 4}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(2, 3), grid.Every(4)}, DimensionNames: []string{"t", "x"}}
		a, err := zarr.At(s, path).CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]int32, 20)
		for i := range data {
			data[i] = int32(i + 1)
		}
		if err := zarr.Write(t.Context(), a, nil, data); err != nil {
			t.Fatal(err)
		}
	}
	return dir, zarr.At(s, "g")
}

// TestKeys compares every key with what is stored.
func TestKeys(t *testing.T) {
	dir, g := folder(t)
	h, n := handler(t, g, nil), 0
	err := filepath.WalkDir(filepath.Join(dir, "g"), func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		want, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(filepath.Join(dir, "g"), name)
		is := request(t, h, "GET", "/n/"+filepath.ToSlash(rel))
		if strings.Contains(rel, "__varve") {
			if is.StatusCode != http.StatusNotFound {
				t.Errorf("%s: status %d", rel, is.StatusCode)
			}
			return nil
		}
		n++
		kind := "application/octet-stream"
		if e.Name() == "zarr.json" {
			kind = "application/json"
		}
		if got := body(t, is); is.StatusCode != 200 || got != string(want) || is.Header.Get("Content-Type") != kind {
			t.Errorf("%s: status %d, %q of type %s, want %q", rel, is.StatusCode, got, is.Header.Get("Content-Type"), want)
		}
		if is := request(t, h, "HEAD", "/n/"+filepath.ToSlash(rel)); is.ContentLength != int64(len(want)) || body(t, is) != "" {
			t.Errorf("HEAD %s: %d bytes", rel, is.ContentLength)
		}
		return nil
	})
	if err != nil || n != 4 {
		t.Errorf("%d keys, %v", n, err)
	}
}

// TestOpened opens a served node over HTTP.
func TestOpened(t *testing.T) {
	_, g := folder(t)
	s := httptest.NewServer(handler(t, g, nil))
	defer s.Close()
	a, err := zarr.OpenArray(t.Context(), s.URL+"/n/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	got, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil || len(got.Data) != 20 || got.Data[19] != 20 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestRanges asks for parts of a value.
func TestRanges(t *testing.T) {
	s := memstore.New()
	value := make([]byte, 3<<20+5)
	for i := range value {
		value[i] = byte(i * i / 7)
	}
	put(t, s, "n/v", value)
	put(t, s, "n/empty", nil)
	h, size := handler(t, zarr.At(s, "n"), nil), len(value)
	for header, want := range map[string]struct{ status, from, to int }{
		"":                      {200, 0, size},
		"bytes=0-0":             {206, 0, 1},
		"bytes=5-9":             {206, 5, 10},
		"bytes=-7":              {206, size - 7, size},
		"bytes=-99999999":       {206, 0, size},
		"bytes=1048570-":        {206, 1048570, size},
		"bytes=1048575-1048577": {206, 1048575, 1048578},
		"bytes=262143-524289":   {206, 262143, 524290},
		"bytes=9-99999999":      {206, 9, size},
		"bytes=99999999-":       {416, 0, 0},
		"bytes=9-5":             {416, 0, 0},
		"bytes=-0":              {416, 0, 0},
		"bytes=x-":              {416, 0, 0},
		"bytes=,-0":             {416, 0, 0},
		"bytes= -00":            {416, 0, 0},
		"BYTES=5-9":             {206, 5, 10},
		"lines=1-2":             {200, 0, size},
	} {
		is := request(t, h, "GET", "/n/v", "Range", header)
		got := body(t, is)
		if is.StatusCode != want.status {
			t.Errorf("%s: status %d, want %d", header, is.StatusCode, want.status)
		} else if want.status < 300 && got != string(value[want.from:want.to]) {
			t.Errorf("%s: %d bytes that are not %d to %d", header, len(got), want.from, want.to)
		}
		if want.status == 206 && is.Header.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", want.from, want.to-1, size) {
			t.Errorf("%s: %s", header, is.Header.Get("Content-Range"))
		}
	}
	is := request(t, h, "GET", "/n/v", "Range", "bytes=0-1,2097150-2097153")
	if got := body(t, is); is.StatusCode != 206 || !strings.HasPrefix(is.Header.Get("Content-Type"), "multipart/byteranges") || !strings.Contains(got, string(value[2097150:2097154])) {
		t.Errorf("two ranges: status %d, %s", is.StatusCode, is.Header.Get("Content-Type"))
	}
	many := "bytes=0-1" + strings.Repeat(",3-9", 40)
	if is := request(t, h, "GET", "/n/v", "Range", many); is.StatusCode != 200 || is.ContentLength != int64(size) {
		t.Errorf("many ranges: status %d, %d bytes", is.StatusCode, is.ContentLength)
	}
	if is := request(t, h, "HEAD", "/n/v", "Range", "bytes=0-1"); is.StatusCode != 200 || is.ContentLength != int64(size) {
		t.Errorf("HEAD of a range: status %d, %d bytes", is.StatusCode, is.ContentLength)
	}
	for _, header := range []string{"", "bytes=0-", "bytes=-5"} {
		if is := request(t, h, "GET", "/n/empty", "Range", header); is.StatusCode != 200 || body(t, is) != "" {
			t.Errorf("%s of an empty value: status %d, %s", header, is.StatusCode, is.Header.Get("Content-Range"))
		}
	}
	if is := request(t, h, "GET", "/n/v", "Range", "bytes=0-0,-0"); is.StatusCode != 206 || is.Header.Get("Content-Range") != fmt.Sprintf("bytes 0-0/%d", size) {
		t.Errorf("a range beside one of no bytes: status %d, %s", is.StatusCode, is.Header.Get("Content-Range"))
	}
}

func put(t *testing.T, s store.Store, key string, value []byte) {
	t.Helper()
	k, err := store.ParseKey(key)
	if err == nil {
		_, err = store.Write(t.Context(), s, store.Put(k, value), store.Flush)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestConditions asks whether a value is the one that the client has.
func TestConditions(t *testing.T) {
	s := memstore.New()
	put(t, s, "n/v", []byte("abcdef"))
	h := handler(t, zarr.At(s, "n"), nil)
	first := request(t, h, "GET", "/n/v")
	tag := first.Header.Get("ETag")
	if len(tag) < 20 || strings.HasPrefix(tag, "W/") || !strings.Contains(first.Header.Get("Cache-Control"), "no-cache") {
		t.Fatalf("ETag %q, Cache-Control %q", tag, first.Header.Get("Cache-Control"))
	}
	check := func(want int, headers ...string) {
		t.Helper()
		if is := request(t, h, "GET", "/n/v", headers...); is.StatusCode != want {
			t.Errorf("%q: status %d, want %d", headers, is.StatusCode, want)
		}
	}
	check(304, "If-None-Match", tag)
	check(304, "If-None-Match", `"x", `+tag)
	check(304, "If-None-Match", "*")
	check(304, "If-None-Match", "W/"+tag)
	check(200, "If-Match", tag)
	check(412, "If-Match", `"x"`)
	check(412, "If-Match", "W/"+tag)
	check(206, "If-Range", tag, "Range", "bytes=1-2")
	check(200, "If-Range", `"x"`, "Range", "bytes=1-2")
	check(200, "If-Range", first.Header.Get("Last-Modified"), "Range", "bytes=1-2")
	check(304, "If-None-Match", tag, "Range", "bytes=-0")
	check(200, "If-Range", `"x"`, "Range", "bytes=-0")
	unread := handler(t, zarr.At(broken{s, 0, errBroken}, "n"), nil)
	if is := request(t, unread, "GET", "/n/v", "If-None-Match", tag); is.StatusCode != 304 {
		t.Errorf("a value that need not be read: status %d", is.StatusCode)
	}
	put(t, s, "n/v", []byte("abcdeg"))
	check(200, "If-None-Match", tag)
	check(412, "If-Match", tag)
	check(200, "If-Range", tag, "Range", "bytes=1-2")
}

// TestFuture has a file whose time is after that of this machine.
func TestFuture(t *testing.T) {
	dir, g := folder(t)
	h, name := handler(t, g, nil), filepath.Join(dir, "g", "zarr.json")
	for _, later := range []time.Duration{-time.Hour, time.Hour} {
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(later)); err != nil {
			t.Fatal(err)
		}
		is := request(t, h, "GET", "/n/zarr.json")
		if has := is.Header.Get("Last-Modified") != ""; is.StatusCode != 200 || has != (later < 0) {
			t.Errorf("%v: status %d, Last-Modified %q", later, is.StatusCode, is.Header.Get("Last-Modified"))
		}
	}
}

// TestHidden asks for what is not served.
func TestHidden(t *testing.T) {
	dir, g := folder(t)
	write := func(name string) {
		name = filepath.Join(dir, "g", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte("secret"), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"__varve/x", "a/__varve/grids/1", "__varve.lock", "__varve.publish", "__tmp-0123", ".env", ".git/config", "v.vz/manifest.json", "hidden/.x", ".zattrs"} {
		write(name)
	}
	if err := errors.Join(
		os.Symlink(filepath.Join(dir, "other"), filepath.Join(dir, "g", "link")),
		os.Symlink(filepath.Join(dir, "other", "zarr.json"), filepath.Join(dir, "g", "file")),
		os.Symlink("/etc", filepath.Join(dir, "g", "etc")),
		os.Symlink("a", filepath.Join(dir, "g", "alias")),
		os.Symlink(filepath.Join("..", "other"), filepath.Join(dir, "g", "beside")),
		os.Symlink(".git", filepath.Join(dir, "g", "dotted")),
		os.Symlink("loop", filepath.Join(dir, "g", "loop")),
	); err != nil {
		t.Skip("this system has no symbolic links for us: ", err)
	}
	h := handler(t, g, nil)
	for _, path := range []string{
		"/n/__varve/x", "/n/a/__varve/grids/1", "/n/__varve.lock", "/n/__varve.publish", "/n/__tmp-0123", "/n/.env",
		"/n/.git", "/n/hidden", "/n/hidden/", "/n/__varve/", "/n/../other/zarr.json", "/n/a/../../other/zarr.json",
		"/n/%2e%2e/other/zarr.json", "/n/a/%2E%2E/%2e%2e/other/zarr.json", "/n//zarr.json", "/n/./zarr.json", "/other/zarr.json", "/n/a/c/9/9", "/@health/x", "/@none",
	} {
		if is := request(t, h, "GET", path); is.StatusCode != 404 && is.StatusCode != 400 || strings.Contains(body(t, is), "secret") {
			t.Errorf("%s: status %d", path, is.StatusCode)
		}
	}
	// Readers would take 404 for the fill value.
	for _, path := range []string{"/n/.git/config", "/n/.git/none", "/n/v.vz/manifest.json", "/n/link/zarr.json", "/n/beside/zarr.json", "/n/beside/", "/n/file", "/n/etc/passwd", "/n/etc/", "/n/etc/none", "/n/link/", "/n/dotted/config", "/n/dotted/", "/n/loop"} {
		if is := request(t, h, "GET", path); is.StatusCode != 403 {
			t.Errorf("%s: status %d", path, is.StatusCode)
		}
	}
	if is := request(t, h, "GET", "/n/"+strings.Repeat("x", 300)); is.StatusCode != 400 {
		t.Errorf("a name that is too long for a file: status %d", is.StatusCode)
	}
	if is := request(t, h, "GET", "/n"+strings.Repeat("/x", 3000)); is.StatusCode != 414 {
		t.Errorf("a path that is too long: status %d", is.StatusCode)
	}
	for _, path := range []string{"/n/.zattrs", "/n/alias/zarr.json", "/n/zarr.json"} {
		if is := request(t, h, "GET", path); is.StatusCode != 200 {
			t.Errorf("%s: status %d", path, is.StatusCode)
		}
	}
	if is := request(t, h, "GET", "/n/a%2Fzarr.json"); is.StatusCode != 400 {
		t.Errorf("an escaped slash: status %d", is.StatusCode)
	}
	if is := request(t, h, "PUT", "/n/zarr.json"); is.StatusCode != 405 || is.Header.Get("Allow") == "" {
		t.Errorf("PUT: status %d", is.StatusCode)
	}
	names := links(body(t, request(t, h, "GET", "/n/")))
	if want := []string{".zattrs", "a/", "alias/", "beside/", "dotted/", "hidden/", "zarr.json"}; !slices.Equal(names, want) {
		t.Errorf("%q are listed, want %q", names, want)
	}
}

// TestSwitched serves a node that is a symbolic link, which leads to another one later.
func TestSwitched(t *testing.T) {
	dir, g := folder(t)
	now := filepath.Join(dir, "now")
	if err := os.Symlink("g", now); err != nil {
		t.Skip("this system has no symbolic links for us: ", err)
	}
	h := handler(t, zarr.At(g.Store(), "now"), nil)
	for _, to := range []string{"g", "other"} {
		if err := errors.Join(os.Remove(now), os.Symlink(to, now)); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, to, "zarr.json"))
		if is := request(t, h, "GET", "/n/zarr.json"); err != nil || is.StatusCode != 200 || body(t, is) != string(want) {
			t.Errorf("%s: status %d, %v", to, is.StatusCode, err)
		}
	}
}

// links returns the links of a listing as the HTTP file system of fsspec finds them.
func links(page string) (names []string) {
	for _, m := range regexp.MustCompile(`<(?:a|A)\s+(?:[^>]*?\s+)?(?:href|HREF)=["']([^"']+)`).FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return names
}

// TestListing lists directories, with a slash at the end and without.
func TestListing(t *testing.T) {
	s := memstore.New()
	for _, key := range []string{"n/zarr.json", "n/a b/zarr.json", "n/a b/c/0", `n/<&">/zarr.json`, "n/x:y", "n/100%"} {
		put(t, s, key, []byte("{}"))
	}
	h := handler(t, zarr.At(s, "n"), nil)
	for path, want := range map[string][]string{
		"/":         {"@regular/n/", "n/"},
		"/n/":       {"%3C&amp;%22%3E/", "100%25", "a%20b/", "x%3Ay", "zarr.json"},
		"/n/a%20b/": {"c/", "zarr.json"},
	} {
		is := request(t, h, "GET", path)
		page := body(t, is)
		if names := links(page); is.StatusCode != 200 || !slices.Equal(names, want) {
			t.Errorf("%s: status %d, %q, want %q", path, is.StatusCode, names, want)
		}
	}
	for path, want := range map[string]string{"/n": "/n/", "/n/a%20b": "/n/a%20b/", "/n/a%20b/c": "/n/a%20b/c/"} {
		if is := request(t, h, "GET", path); is.StatusCode != 301 || is.Header.Get("Location") != want {
			t.Errorf("%s: status %d, leads to %q", path, is.StatusCode, is.Header.Get("Location"))
		}
	}
	for _, path := range []string{"/n/none/", "/n/a%20b/c/1", "/n/zarr.json/", "/m/"} {
		if is := request(t, h, "GET", path); is.StatusCode != 404 {
			t.Errorf("%s: status %d", path, is.StatusCode)
		}
	}
}

// TestNames refuses names that cannot begin an address.
func TestNames(t *testing.T) {
	l := zarr.At(memstore.New(), "")
	for _, names := range [][]string{{""}, {"@regular"}, {"a/b"}, {".a"}, {"__varve"}, {"a", "a"}} {
		var nodes []serve.Node
		for _, name := range names {
			nodes = append(nodes, serve.Node{Name: name, Location: l})
		}
		if _, err := serve.New(nodes, nil); err == nil {
			t.Errorf("%q is served", names)
		}
	}
	for _, origin := range []string{"example.org", "https://user@example.org", "https://example.org/path", "https://example.org#x"} {
		if _, err := serve.New(nil, &serve.Options{Origins: []string{origin}}); err == nil {
			t.Errorf("%s is an origin", origin)
		}
	}
	if _, err := serve.New(nil, &serve.Options{Hosts: []string{"data.example:80"}}); err == nil {
		t.Error("a host with a port is permitted, and never found")
	}
}

// far is a store that counts listings, and whose values take a request each.
type far struct {
	store.Store
	lists *int
}

func (f far) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	*f.lists++
	return store.List(ctx, f.Store, dir, how)
}

// TestFarChunks counts the listings for missing keys of a far store.
func TestFarChunks(t *testing.T) {
	m, lists := memstore.New(), 0
	put(t, m, "n/a/c/0/0", []byte("x"))
	h := handler(t, zarr.At(far{m, &lists}, "n"), nil)
	for path, want := range map[string]struct{ status, lists int }{
		"/n/a/c/0/1": {404, 0}, "/n/a/c/0": {404, 0}, "/n/a/0.1": {404, 0}, "/n/a/c": {404, 0}, "/n/a/zarr.json": {404, 0},
		"/n/a": {301, 1}, "/n/b": {404, 1},
	} {
		lists = 0
		if is := request(t, h, "GET", path); is.StatusCode != want.status || lists != want.lists {
			t.Errorf("%s: status %d, %d listings, want %+v", path, is.StatusCode, lists, want)
		}
	}
}

// broken is a store whose reads fail.
type broken struct {
	store.Store
	after int64 // bytes of a value that can be read
	err   error
}

var errBroken = errors.New("https://user:password@host/ does not answer")

func (b broken) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	data, info, err := b.Store.Get(ctx, key, q, dst)
	if err == nil {
		if off, n, _ := q.Resolve(info.Size); off+n > b.after {
			return nil, store.Info{}, b.err
		}
	}
	return data, info, err
}

// TestBroken reads from a store that fails, before the answer and within it.
func TestBroken(t *testing.T) {
	m := memstore.New()
	put(t, m, "n/v", make([]byte, 3<<20))
	var log bytes.Buffer
	at := func(after int64) *httptest.Server {
		s := httptest.NewServer(handler(t, zarr.At(broken{m, after, errBroken}, "n"), &serve.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}))
		t.Cleanup(s.Close)
		return s
	}
	before := at(10)
	is, err := http.Get(before.URL + "/n/v")
	if err != nil {
		t.Fatal(err)
	}
	if text := body(t, is); is.StatusCode != 500 || strings.Contains(text, "password") || !strings.Contains(text, `"kind":"io"`) || is.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("status %d, %s", is.StatusCode, text)
	}
	before.Close()
	if !strings.Contains(log.String(), "does not answer") {
		t.Errorf("the log has %s", &log)
	}
	within := at(2 << 20)
	is, err = http.Get(within.URL + "/n/v")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, is.Body); err == nil {
		t.Errorf("the answer ended after %d bytes without an error", n)
	}
	within.Close()
	if n := strings.Count(log.String(), "does not answer"); n != 2 {
		t.Errorf("the log has %d of 2 errors: %s", n, &log)
	}
}

// breaking is a store whose listing ends with an error.
type breaking struct{ store.Store }

func (b breaking) List(ctx context.Context, dir store.Path, _ store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for i := range 1000 {
			if !yield(store.Entry{Name: fmt.Sprintf("entry-%d", i)}, nil) {
				return
			}
		}
		yield(store.Entry{}, errBroken)
	}
}

// TestBrokenListing reads a listing that fails after many names.
func TestBrokenListing(t *testing.T) {
	s := httptest.NewServer(handler(t, zarr.At(breaking{memstore.New()}, "n"), nil))
	defer s.Close()
	// A compressed list would break before its first byte.
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	is, err := client.Get(s.URL + "/n/")
	if err != nil {
		t.Fatal(err)
	}
	defer is.Body.Close()
	if n, err := io.Copy(io.Discard, is.Body); err == nil {
		t.Errorf("status %d, the list ended after %d bytes without an error", is.StatusCode, n)
	}
}

// TestDeletedWithin deletes a value while it is answered. The rest of the answer must not
// be that of a missing key, of the same length.
func TestDeletedWithin(t *testing.T) {
	m := memstore.New()
	h := handler(t, zarr.At(broken{m, 1 << 20, fs.ErrNotExist}, "n"), nil)
	missing := body(t, request(t, h, "GET", "/n/none"))
	put(t, m, "n/v", make([]byte, 1<<20+len(missing)))
	s := httptest.NewServer(h)
	defer s.Close()
	is, err := http.Get(s.URL + "/n/v")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, is.Body); err == nil {
		t.Errorf("status %d, the answer ended after %d bytes without an error", is.StatusCode, n)
	}
}

// TestGuard has requests that are refused, and those that browsers send for a page.
func TestGuard(t *testing.T) {
	_, g := folder(t)
	key := "/n/zarr.json"
	type header = map[string]string
	for name, c := range map[string]struct {
		opt     serve.Options
		method  string
		headers []string
		status  int
		want    header
	}{
		"loopback":              {serve.Options{}, "GET", []string{"Host", "127.0.0.1:8000"}, 200, nil},
		"loopback of version 6": {serve.Options{}, "GET", []string{"Host", "[::1]:8000"}, 200, nil},
		"without a port":        {serve.Options{}, "GET", []string{"Host", "localhost"}, 200, nil},
		"rebound name":          {serve.Options{}, "GET", []string{"Host", "evil.example:8000"}, 421, nil},
		"a name like loopback":  {serve.Options{}, "GET", []string{"Host", "127.0.0.1.evil.example"}, 421, nil},
		"half a bracket":        {serve.Options{}, "GET", []string{"Host", "[::1"}, 421, nil},
		"a bracket of no use":   {serve.Options{}, "GET", []string{"Host", "::1]"}, 421, nil},
		"no host":               {serve.Options{}, "GET", []string{"Host", ""}, 421, nil},
		"named host":            {serve.Options{Hosts: []string{"Data.example"}}, "GET", []string{"Host", "data.example:80"}, 200, nil},
		"any host":              {serve.Options{Hosts: []string{"*"}}, "GET", []string{"Host", "other"}, 200, nil},
		"own page":              {serve.Options{}, "GET", []string{"Origin", "http://localhost:8000"}, 200, header{"Access-Control-Allow-Origin": ""}},
		"other page":            {serve.Options{}, "GET", []string{"Origin", "https://evil.example"}, 403, header{"Access-Control-Allow-Origin": "", "Vary": "Origin"}},
		"other port":            {serve.Options{}, "GET", []string{"Origin", "http://localhost:9000"}, 403, nil},
		"a file":                {serve.Options{}, "GET", []string{"Origin", "null"}, 403, nil},
		"permitted page": {serve.Options{Origins: []string{"https://a.example"}}, "GET", []string{"Origin", "https://a.example"}, 200,
			header{"Access-Control-Allow-Origin": "https://a.example", "Vary": "Origin", "Access-Control-Allow-Credentials": ""}},
		"page with a longer name": {serve.Options{Origins: []string{"https://a.example"}}, "GET", []string{"Origin", "https://a.example.evil"}, 403, nil},
		"any page":                {serve.Options{Origins: []string{"*"}}, "GET", []string{"Origin", "null"}, 200, header{"Access-Control-Allow-Origin": "*"}},
		"preflight": {serve.Options{Origins: []string{"https://a.example"}}, "OPTIONS",
			[]string{"Origin", "https://a.example", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "range", "Access-Control-Request-Private-Network", "true"}, 204,
			header{"Access-Control-Allow-Methods": "GET, HEAD", "Access-Control-Allow-Private-Network": "true", "Access-Control-Allow-Origin": "https://a.example"}},
		"preflight of another page": {serve.Options{}, "OPTIONS", []string{"Origin", "https://a.example", "Access-Control-Request-Method", "GET"}, 403, header{"Access-Control-Allow-Private-Network": ""}},
		"image of another page":     {serve.Options{}, "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403, nil},
		"image of another port":     {serve.Options{}, "GET", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "empty"}, 403, nil},
		"image without CORS":        {serve.Options{Origins: []string{"*"}}, "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403, nil},
		"frame of another page":     {serve.Options{}, "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403, nil},
		"link of another page":      {serve.Options{}, "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200, nil},
		"image of the own page":     {serve.Options{}, "GET", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "no-cors"}, 200, nil},
		"address that was typed":    {serve.Options{}, "GET", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, 200, nil},
		"permitted page with CORS": {serve.Options{Origins: []string{"https://a.example"}}, "GET", []string{"Origin", "https://a.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, 200,
			header{"Access-Control-Expose-Headers": "Accept-Ranges, Content-Range, ETag, Last-Modified, Link, Retry-After, Varve-Bounds, Varve-Shape, Varve-Data-Type, Varve-Range"}},
		"no token":                 {serve.Options{Token: "s3"}, "GET", nil, 401, header{"WWW-Authenticate": `Bearer realm="varve"`}},
		"wrong token":              {serve.Options{Token: "s3"}, "GET", []string{"Authorization", "Bearer s4"}, 401, nil},
		"empty token":              {serve.Options{Token: "s3"}, "GET", []string{"Authorization", "Bearer "}, 401, nil},
		"scheme in small letters":  {serve.Options{Token: "s3"}, "GET", []string{"Authorization", "bearer s3"}, 200, nil},
		"token":                    {serve.Options{Token: "s3"}, "GET", []string{"Authorization", "Bearer s3"}, 200, nil},
		"token of a page":          {serve.Options{Token: "s3", Origins: []string{"https://a.example"}}, "GET", []string{"Origin", "https://a.example", "Authorization", "Bearer s3"}, 200, nil},
		"preflight before a token": {serve.Options{Token: "s3", Origins: []string{"https://a.example"}}, "OPTIONS", []string{"Origin", "https://a.example", "Access-Control-Request-Method", "GET"}, 204, nil},
		"token as the cookie":      {serve.Options{Token: "s3"}, "GET", []string{"Cookie", "varve-8000=s3"}, 401, nil},
	} {
		t.Run(name, func(t *testing.T) {
			is := request(t, handler(t, g, &c.opt), c.method, key, c.headers...)
			if is.StatusCode != c.status {
				t.Errorf("status %d, want %d: %s", is.StatusCode, c.status, body(t, is))
			}
			for k, v := range c.want {
				if got := is.Header.Get(k); got != v {
					t.Errorf("%s is %q, want %q", k, got, v)
				}
			}
		})
	}
}

// TestCookie follows the first link, as a browser does.
func TestCookie(t *testing.T) {
	_, g := folder(t)
	h := handler(t, g, &serve.Options{Token: "s 3;", Origins: []string{"https://a.example"}})
	for _, path := range []string{"/n/zarr.json?token=s+3%3B&b=1", "//n/zarr.json?token=s+3%3B&b=1"} {
		is := request(t, h, "GET", path)
		if is.StatusCode != 303 || is.Header.Get("Location") != "/n/zarr.json?b=1" {
			t.Fatalf("%s: status %d, leads to %q", path, is.StatusCode, is.Header.Get("Location"))
		}
		cookies := is.Cookies()
		if len(cookies) != 1 || cookies[0].Name != "varve-8000" || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || strings.Contains(cookies[0].Value, "s 3") {
			t.Fatalf("cookies %v", cookies)
		}
		cookie := cookies[0].Name + "=" + cookies[0].Value
		if is := request(t, h, "GET", "/n/zarr.json", "Cookie", cookie); is.StatusCode != 200 {
			t.Errorf("with the cookie: status %d", is.StatusCode)
		}
		if is := request(t, h, "GET", "/n/zarr.json", "Cookie", cookies[0].Name+"=x; "+cookie); is.StatusCode != 200 {
			t.Errorf("with a cookie of another server: status %d", is.StatusCode)
		}
		if is := request(t, h, "GET", path, "Cookie", cookie); is.StatusCode != 303 {
			t.Errorf("the token again: status %d", is.StatusCode)
		}
		if is := request(t, h, "GET", "/n/zarr.json", "Cookie", cookie, "Origin", "https://a.example"); is.StatusCode != 401 {
			t.Errorf("another page with the cookie: status %d", is.StatusCode)
		}
	}
	if is := request(t, h, "GET", "/n/zarr.json?token=other"); is.StatusCode != 401 || len(is.Cookies()) > 0 {
		t.Errorf("another token: status %d", is.StatusCode)
	}
}

// late is a store whose reads of all but the first bytes take a moment.
type late struct {
	store.Store
	begun chan struct{} // one for each such read
	reads atomic.Int64  // that are under way
}

func (l *late) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	data, info, err := l.Store.Get(ctx, key, q, dst)
	if off, n, _ := q.Resolve(info.Size); off > 0 && n > 0 {
		l.reads.Add(1)
		defer l.reads.Add(-1)
		l.begun <- struct{}{}
		time.Sleep(50 * time.Millisecond)
		err = cmp.Or(err, ctx.Err())
	}
	return data, info, err
}

// gone is an answer to a client that goes away while the next bytes are read.
type gone struct {
	*httptest.ResponseRecorder
	reading chan struct{}
}

func (g gone) Write(p []byte) (int, error) {
	if n, _ := g.ResponseRecorder.Write(p); g.Body.Len() < 1<<20 {
		return n, nil
	}
	<-g.reading
	return 0, io.ErrClosedPipe
}

// TestGone has a client that goes away within several ranges, which another goroutine
// reads. The buffer must not be that of another answer while it reads.
func TestGone(t *testing.T) {
	m := memstore.New()
	put(t, m, "n/v", make([]byte, 4<<20))
	s := &late{Store: m, begun: make(chan struct{}, 9)}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/n/v", nil)
	r.Header.Set("Range", "bytes=0-2000000,3000000-3000001")
	handler(t, zarr.At(s, "n"), nil).ServeHTTP(gone{httptest.NewRecorder(), s.begun}, r)
	if n := s.reads.Load(); n != 0 {
		t.Errorf("%d reads are under way after the answer", n)
		time.Sleep(time.Second) // they would end the program
	}
}

func ExampleNew() {
	ctx := context.Background()
	s := memstore.New()
	_, err := zarr.At(s, "era5").CreateArray(ctx, zarr.Spec{Shape: []int64{365, 10}, Type: dtype.Float32, Chunks: grid.Chunks(31, 10)}, nil)
	if err != nil {
		panic(err)
	}
	h, err := serve.New([]serve.Node{{Name: "era5", Location: zarr.At(s, "era5")}}, nil)
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(h) // or http.ListenAndServe("127.0.0.1:8000", h)
	defer server.Close()
	a, err := zarr.OpenArray(ctx, server.URL+"/era5", nil)
	if err != nil {
		panic(err)
	}
	defer a.Close()
	fmt.Println(a.Shape(), a.Type())
	// Output: [365 10] float32
}
