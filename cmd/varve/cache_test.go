// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// requests is a web server for a folder that notes requests.
type requests struct {
	*httptest.Server
	mu   sync.Mutex
	list []string
}

func newRequests(t *testing.T, dir string) *requests {
	r := &requests{}
	files := http.FileServerFS(os.DirFS(dir))
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.list = append(r.list, q.Method+" "+q.URL.Path)
		r.mu.Unlock()
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(q.URL.Path))); err == nil && info.Mode().IsRegular() {
			w.Header().Set("ETag", `"`+info.ModTime().String()+`"`)
		}
		files.ServeHTTP(w, q)
	}))
	t.Cleanup(r.Close)
	return r
}

// took returns the requests since it was called last that contain a text, in order.
func (r *requests) took(text string) (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.list {
		if strings.Contains(q, text) {
			list = append(list, q)
		}
	}
	r.list = nil
	slices.Sort(list)
	return list
}

// TestCache runs commands twice with a cache.
func TestCache(t *testing.T) {
	dir := fixture(t, "rect_2d.zarr")
	s := newRequests(t, filepath.Dir(dir))
	node, cache := s.URL+"/"+filepath.Base(dir), filepath.Join(t.TempDir(), "cache")
	plain, _, _ := execute(t, "", "cat", node)
	chunks := s.took("/c/")
	if len(chunks) == 0 || plain == "" {
		t.Fatalf("requests %v", chunks)
	}
	run := func(want string, args ...string) string {
		t.Helper()
		out, errs, status := execute(t, "", args...)
		if status != 0 || want != "" && out != want {
			t.Errorf("%v: status %d, %s%s", args, status, out, errs)
		}
		return errs
	}
	run(plain, "cat", "--cache", cache, node)
	if got := s.took("/c/"); !slices.Equal(got, chunks) {
		t.Errorf("the first run: %v, want %v", got, chunks)
	}
	// The second run asks for versions, and reads no chunk.
	heads := slices.Clone(chunks)
	for i := range heads {
		heads[i] = strings.Replace(heads[i], "GET", "HEAD", 1)
	}
	run(plain, "cat", "--cache", cache, node)
	if got := s.took("/c/"); !slices.Equal(got, heads) {
		t.Errorf("the second run: %v, want %v", got, heads)
	}
	// With --cache-age it does not even ask.
	errs := run(plain, "cat", "--cache", cache, "--cache-age", "1h", "--stats", node)
	if got := s.took("/c/"); len(got) > 0 || !strings.Contains(errs, "cache:") {
		t.Errorf("with --cache-age: %v, %s", got, errs)
	}
	// A chunk that is replaced is read.
	replaced := strings.TrimPrefix(chunks[0], "GET /"+filepath.Base(dir)+"/")
	if err := os.Remove(filepath.Join(dir, filepath.FromSlash(replaced))); err != nil {
		t.Fatal(err)
	}
	if out, _, _ := execute(t, "", "cat", "--cache", cache, node); out == plain {
		t.Error("a deleted chunk is read from the cache")
	}
	// Other commands have the flags too.
	run("", "info", "--cache", cache, "--cache-size", "1GiB", node)
	run("", "copy", "--cache", cache, node, filepath.Join(t.TempDir(), "copy.zarr"))
}

// TestCacheFolder checks the folder of --cache.
func TestCacheFolder(t *testing.T) {
	dir := fixture(t, "rect_2d.zarr")
	s := newRequests(t, filepath.Dir(dir))
	node := s.URL + "/" + filepath.Base(dir)
	for _, args := range [][]string{
		{"info", "--cache", dir, node}, {"info", "--cache", "", node}, {"info", "--cache-age", "1h", node},
		{"info", "--cache", "s3://bucket/cache", node}, {"info", "--cache", "file://" + filepath.ToSlash(dir), node},
		{"info", "--cache", t.TempDir(), "--cache-size", "1KiB", node},
	} {
		if out, errs, status := execute(t, "", args...); status != 2 || out != "" || !strings.Contains(errs, "--cache") {
			t.Errorf("%v: status %d, %s%s", args, status, out, errs)
		}
	}
	// A folder that cannot be made is no reason to fail.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, status := execute(t, "", "info", "--cache", filepath.Join(file, "cache"), node); status != 0 || strings.Count(errs, "the cache is not used") != 1 {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, errs, status := execute(t, "", "info", "--cache", t.TempDir(), node+"?token=secret"); status != 0 || strings.Count(errs, "note: ") != 1 {
		t.Errorf("status %d, %s", status, errs)
	}
}
