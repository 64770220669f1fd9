// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// origin is a server that holds values. Its behaviour is that of the wrappers around it.
type origin struct {
	mu     sync.Mutex
	values map[string][]byte
	asked  []string // method, path and Range
}

func (o *origin) put(name string, value []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.values[name] = value
}

// requests returns the requests since the last call.
func (o *origin) requests() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	asked := o.asked
	o.asked = nil
	return asked
}

// written is the time at which all values were written, unless a test sets another one.
var written = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	value, found := o.values[strings.TrimPrefix(r.URL.Path, "/")]
	o.asked = append(o.asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
	o.mu.Unlock()
	if !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf("%q", strconv.FormatUint(uint64(crc32.ChecksumIEEE(value)), 36)))
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", written, bytes.NewReader(value))
}

// fixture returns an origin with the values of the suite.
func fixture() *origin { return &origin{values: storetest.Fixture()} }

// serve starts a server on the loopback interface and returns the URL.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// open opens the store at a URL with short pauses.
func open(t *testing.T, url string, opt httpstore.Options) *httpstore.Store {
	t.Helper()
	if opt.Pause == 0 {
		opt.Pause = time.Millisecond
	}
	s, err := httpstore.OpenStore(url, &opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// get reads a range.
func get(t *testing.T, s store.Store, name string, q store.Request) ([]byte, store.Info, error) {
	t.Helper()
	return s.Get(t.Context(), store.MustKey(name), q, nil)
}

// wrap returns a handler that changes requests, and sends answers through its own writer.
func wrap(h http.Handler, f func(w http.ResponseWriter, r *http.Request, next http.Handler)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f(w, r, h) })
}

// answer is a recorded answer that a test changes before it is sent.
type answer struct{ *httptest.ResponseRecorder }

func record(h http.Handler, r *http.Request) answer {
	a := answer{httptest.NewRecorder()}
	h.ServeHTTP(a, r)
	return a
}

// send sends the answer as it is now.
func (a answer) send(w http.ResponseWriter) {
	for k, v := range a.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(a.Code)
	_, _ = w.Write(a.Body.Bytes())
}

// TestStore runs the suite against servers of many kinds.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	for name, value := range storetest.Fixture() {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, value, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, h := range map[string]http.Handler{
		"Plain":  fixture(),
		"Files":  http.FileServer(http.Dir(dir)),
		"Behind": http.StripPrefix("/some/where+else", http.FileServer(http.Dir(dir))),
		"NoRanges": wrap(fixture(), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			r.Header.Del("Range")
			next.ServeHTTP(w, r)
		}),
		"NoHead": wrap(fixture(), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodHead {
				http.Error(w, "", http.StatusMethodNotAllowed)
				return
			}
			next.ServeHTTP(w, r)
		}),
		"ForbiddenHead": wrap(fixture(), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodHead {
				http.Error(w, "", http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		}),
		"NoSuffix": wrap(fixture(), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if strings.HasPrefix(r.Header.Get("Range"), "bytes=-") {
				http.Error(w, "", http.StatusRequestedRangeNotSatisfiable)
				return
			}
			next.ServeHTTP(w, r)
		}),
		"Chunked":         wrap(fixture(), chunked),
		"ChunkedNoRanges": wrap(wrap(fixture(), chunked), withoutRange),
		"Unversioned": wrap(fixture(), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			a := record(next, r)
			a.Header().Del("ETag")
			a.Header().Del("Last-Modified")
			a.send(w)
		}),
		"Elsewhere": wrap(fixture(), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if rest, moved := strings.CutPrefix(r.URL.Path, "/moved"); moved {
				r.URL.Path = rest
				next.ServeHTTP(w, r)
				return
			}
			http.Redirect(w, r, "/moved"+r.URL.EscapedPath(), http.StatusTemporaryRedirect)
		}),
		"Flaky": wrap(fixture(), func() func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			var mu sync.Mutex
			var n int
			return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				mu.Lock()
				n++
				bad := n%3 == 0
				mu.Unlock()
				if bad {
					http.Error(w, "", http.StatusServiceUnavailable)
					return
				}
				next.ServeHTTP(w, r)
			}
		}()),
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, h)
			if name == "Behind" {
				url += "/some/where+else/"
			}
			storetest.Run(t, func(t *testing.T) store.Store { return open(t, url, httpstore.Options{Attempts: 30}) })
		})
	}
}

func withoutRange(w http.ResponseWriter, r *http.Request, next http.Handler) {
	r.Header.Del("Range")
	next.ServeHTTP(w, r)
}

// chunked sends bodies in pieces without their length.
func chunked(w http.ResponseWriter, r *http.Request, next http.Handler) {
	a := record(next, r)
	for k, v := range a.Header() {
		w.Header()[k] = v
	}
	if r.Method == http.MethodHead || a.Code > 299 {
		a.send(w)
		return
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(a.Code)
	for b := a.Body.Bytes(); len(b) > 0; b = b[min(len(b), 100):] {
		_, _ = w.Write(b[:min(len(b), 100)])
		w.(http.Flusher).Flush()
	}
	w.(http.Flusher).Flush()
}
