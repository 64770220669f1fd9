// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr/internal/inflight"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/storetest"
)

// numbered returns n bytes that tell where they are, and another text for each version.
func numbered(n, version int) []byte {
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, "%d:%d ", version, b.Len())
	}
	return b.Bytes()[:n]
}

// inParts opens a store that reads in parts of 1000 bytes.
func inParts(t *testing.T, h http.Handler) *httpstore.Store {
	return open(t, serve(t, h), httpstore.Options{Part: 1000}).Limited(inflight.New(inflight.Adaptive()))
}

// TestPartsStore runs the suite with parts that are smaller than most values.
func TestPartsStore(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"Plain":    fixture(),
		"NoRanges": wrap(fixture(), withoutRange),
		"Chunked":  wrap(fixture(), chunked),
		"Weak": wrap(fixture(), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			a := record(next, r)
			a.Header().Del("ETag")
			a.send(w)
		}),
	} {
		for _, part := range []int64{100, 1000} {
			t.Run(fmt.Sprintf("%s%d", name, part), func(t *testing.T) {
				url := serve(t, h)
				storetest.Run(t, func(t *testing.T) store.Store { return open(t, url, httpstore.Options{Part: part}) })
			})
		}
	}
}

// TestParts checks the bytes and the requests of ranges of all kinds.
func TestParts(t *testing.T) {
	value := numbered(10_500, 1)
	o := &origin{values: map[string][]byte{"v": value, "exact": value[:1000], "small": value[:10], "empty": {}}}
	s := inParts(t, o)
	for _, c := range []struct {
		name     string
		q        store.Request
		want     []byte
		requests int
		err      error
	}{
		{"v", store.Request{}, value, 11, nil},
		{"v", store.Request{Range: store.From(3)}, value[3:], 11, nil},
		{"v", store.Request{Range: store.From(9_600)}, value[9_600:], 1, nil},
		{"v", store.Request{Range: store.From(10_500)}, nil, 2, nil},
		{"v", store.Request{Range: store.Span(5, 1000)}, value[5:1005], 1, nil},
		{"v", store.Request{Range: store.Span(5, 1001)}, value[5:1006], 2, nil},
		{"v", store.Request{Range: store.Span(7, 10_000)}, value[7:10_007], 10, nil},
		{"v", store.Request{Range: store.Suffix(5000)}, value[5500:], 1, nil},
		{"v", store.Request{Range: store.Span(7, 10_494)}, nil, 1, errAny},
		{"v", store.Request{Range: store.Span(20_000, 5000)}, nil, 2, errAny},
		{"v", store.Request{Limit: 500}, nil, 1, store.ErrTooLarge},
		{"v", store.Request{Limit: 10_499}, nil, 1, store.ErrTooLarge},
		{"v", store.Request{Limit: 10_500}, value, 11, nil},
		{"exact", store.Request{}, value[:1000], 1, nil},
		{"small", store.Request{}, value[:10], 1, nil},
		{"empty", store.Request{}, nil, 1, nil},
		{"none", store.Request{}, nil, 1, fs.ErrNotExist},
	} {
		for room, dst := range map[string][]byte{
			"no room": nil, "no room behind": []byte("abc"), "some room": append(make([]byte, 0, 40), "abc"...),
			"room for a part": append(make([]byte, 0, 1700), "abc"...), "room": append(make([]byte, 0, 20_000), "abc"...),
		} {
			o.requests()
			before := slices.Clone(dst)
			free := dst[:cap(dst)]
			for i := len(dst); i < len(free); i++ {
				free[i] = 0xAA
			}
			got, info, err := s.Get(t.Context(), store.MustKey(c.name), c.q, dst)
			if c.err != nil {
				if err == nil || c.err != errAny && !errors.Is(err, c.err) {
					t.Errorf("%s %s, %s: error %v", c.name, c.q.Range, room, err)
				}
			} else if want := append(before, c.want...); err != nil || !bytes.Equal(got, want) || info.Size != int64(len(o.values[c.name])) || info.Version.IsZero() {
				t.Errorf("%s %s, %s: %d bytes, want %d, %+v, error %v", c.name, c.q.Range, room, len(got), len(want), info, err)
			}
			if cap(dst) >= len(dst)+len(c.want) && c.err == nil && len(c.want) > 0 {
				if &got[0] != &free[0] {
					t.Errorf("%s %s, %s: the bytes are in another slice", c.name, c.q.Range, room)
				}
				if rest := free[len(got):]; len(bytes.Trim(rest, "\xaa")) > 0 {
					t.Errorf("%s %s, %s: bytes behind the slice were written", c.name, c.q.Range, room)
				}
			}
			if asked := o.requests(); len(asked) != c.requests {
				t.Errorf("%s %s, %s: requests %q", c.name, c.q.Range, room, asked)
			}
		}
	}
}

var errAny = errors.New("any error")

// TestPartsTogether checks that parts are requested at the same time, while the head
// arrives, and within the limiter.
func TestPartsTogether(t *testing.T) {
	o := &origin{values: map[string][]byte{"v": numbered(40_000, 1)}}
	var flying, most, came atomic.Int32
	together, end := context.WithTimeout(t.Context(), 30*time.Second)
	defer end()
	s := open(t, serve(t, wrap(o, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		n := flying.Add(1)
		defer flying.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		a := record(next, r)
		a.Header().Set("Content-Length", fmt.Sprint(a.Body.Len()))
		if r.Header.Get("Range") == "bytes=0-999" {
			body := a.Body.Bytes()
			w.Header()["Etag"], w.Header()["Content-Range"] = a.Header()["Etag"], a.Header()["Content-Range"]
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			w.WriteHeader(a.Code)
			w.(http.Flusher).Flush()
			<-together.Done()
			_, _ = w.Write(body)
			return
		}
		if r.Header.Get("If-Match") == "" {
			t.Error("a part of any version is requested")
		}
		if came.Add(1) == 9 {
			end()
		}
		<-together.Done()
		a.send(w)
	})), httpstore.Options{Part: 1000}).Limited(inflight.New(inflight.Limits{First: 10}))
	got, _, err := s.Get(t.Context(), store.MustKey("v"), store.Request{Range: store.Span(0, 10_000)}, nil)
	if err != nil || !bytes.Equal(got, o.values["v"][:10_000]) || most.Load() != 10 || errors.Is(together.Err(), context.DeadlineExceeded) {
		t.Errorf("%d bytes, %d requests at a time, error %v", len(got), most.Load(), err)
	}
}

// TestPartsChange checks that a value that is replaced while its parts are read is read
// again, with or without If-Match, and never mixed; and that one that is replaced all the
// time is a conflict.
func TestPartsChange(t *testing.T) {
	for name, c := range map[string]struct {
		deaf   bool
		length int // of later versions
		// The value changes with each request up to this one. An attempt makes two
		// requests or more, and there are three attempts.
		changes int
		err     error
	}{
		"condition":       {false, 10_000, 4, nil},
		"no condition":    {true, 10_000, 4, nil},
		"longer":          {true, 12_000, 4, nil},
		"shorter":         {true, 4_000, 4, nil},
		"shorter, tested": {false, 4_000, 4, nil},
		"small":           {true, 10, 4, nil},
		"always":          {true, 10_000, 1e9, store.ErrConflict},
		"always, tested":  {false, 10_000, 1e9, store.ErrConflict},
		"deleted":         {false, 0, 3, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			o := &origin{values: map[string][]byte{"v": numbered(10_000, 0)}}
			var mu sync.Mutex
			n := 0
			s := inParts(t, wrap(o, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				mu.Lock()
				defer mu.Unlock()
				if c.deaf {
					r.Header.Del("If-Match")
				}
				a := record(next, r)
				if n++; n <= c.changes {
					if c.length == 0 {
						o.mu.Lock()
						delete(o.values, "v")
						o.mu.Unlock()
					} else {
						o.put("v", numbered(c.length, n))
					}
				}
				a.send(w)
			}))
			got, info, err := get(t, s, "v", store.Request{})
			if c.err != nil {
				if !errors.Is(err, c.err) || got != nil {
					t.Errorf("%d bytes, error %v, want %v", len(got), err, c.err)
				}
				return
			}
			var version int
			if _, malformed := fmt.Sscanf(string(got), "%d:", &version); malformed != nil {
				t.Fatalf("%.20q: %v, %v", got, malformed, err)
			}
			if err != nil || !bytes.Equal(got, numbered(c.length, version)) || info.Size != int64(c.length) {
				t.Errorf("%d bytes, %+v, error %v", len(got), info, err)
			}
		})
	}
}

// TestPartsHead checks that a value is read again if the head is interrupted, and then
// has another version than the parts that were read meanwhile.
func TestPartsHead(t *testing.T) {
	old, later := numbered(10_000, 1), numbered(10_000, 2)
	o := &origin{values: map[string][]byte{"v": old}}
	var parts sync.WaitGroup
	parts.Add(9)
	var heads, served atomic.Int32
	s := inParts(t, wrap(o, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := record(next, r)
		if r.Header.Get("Range") == "bytes=0-999" && heads.Add(1) == 1 {
			a.Header().Set("Content-Length", "1000")
			a.Body.Truncate(300)
			a.send(w)
			w.(http.Flusher).Flush()
			parts.Wait()
			o.put("v", later)
			return
		}
		a.send(w)
		if served.Add(1) <= 9 {
			parts.Done()
		}
	}))
	got, _, err := get(t, s, "v", store.Request{})
	if err != nil || !bytes.Equal(got, later) || heads.Load() != 3 {
		t.Errorf("%d bytes, %d heads, error %v", len(got), heads.Load(), err)
	}
}

// TestPartsWeak checks that values without strong versions are read in one piece, and
// that the store remembers that.
func TestPartsWeak(t *testing.T) {
	value := numbered(10_000, 1)
	for name, tag := range map[string]string{"weak": `W/"1"`, "none": ""} {
		o := &origin{values: map[string][]byte{"v": value}}
		s := inParts(t, wrap(o, header("ETag", tag)))
		for _, want := range [][]string{{"GET /v bytes=0-999", "GET /v"}, {"GET /v"}} {
			got, _, err := get(t, s, "v", store.Request{})
			if asked := o.requests(); err != nil || !bytes.Equal(got, value) || !slices.Equal(asked, want) {
				t.Errorf("%s: %d bytes, error %v, requests %q", name, len(got), err, asked)
			}
		}
	}
}

// TestPartsFail checks that each part is repeated by itself, that the error of one ends
// the others and is returned, and that cancellation ends all at once. When Get has
// returned, nothing writes to the caller's slice any more.
func TestPartsFail(t *testing.T) {
	value := numbered(10_000, 1)
	for name, c := range map[string]struct {
		spoil func(w http.ResponseWriter, r *http.Request, next http.Handler, n int)
		err   error
		text  string
	}{
		"each part once": {func(w http.ResponseWriter, r *http.Request, next http.Handler, n int) {
			if n == 1 {
				w.WriteHeader(500)
				return
			}
			next.ServeHTTP(w, r)
		}, nil, ""},
		"each part is cut": {func(w http.ResponseWriter, r *http.Request, next http.Handler, _ int) {
			a := record(next, r)
			if a.Body.Len() > 300 {
				a.Body.Truncate(300)
			}
			a.send(w)
		}, nil, ""},
		"one part": {func(w http.ResponseWriter, r *http.Request, next http.Handler, _ int) {
			if r.Header.Get("Range") == "bytes=7000-7999" {
				w.WriteHeader(403)
				return
			}
			next.ServeHTTP(w, r)
		}, fs.ErrPermission, "403"},
		"head": {func(w http.ResponseWriter, r *http.Request, next http.Handler, _ int) {
			w.WriteHeader(403)
		}, fs.ErrPermission, "403"},
		"shifted": {func(w http.ResponseWriter, r *http.Request, next http.Handler, _ int) {
			if r.Header.Get("Range") == "bytes=7000-7999" {
				r.Header.Set("Range", "bytes=7001-8000")
			}
			next.ServeHTTP(w, r)
		}, errAny, "7001"},
		"cancelled": {nil, context.Canceled, "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			times := map[string]int{}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := inParts(t, wrap(&origin{values: map[string][]byte{"v": value}}, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if c.spoil == nil {
					if r.Header.Get("Range") != "bytes=0-999" {
						cancel()
						<-r.Context().Done()
						return
					}
					next.ServeHTTP(w, r)
					return
				}
				mu.Lock()
				times[r.Header.Get("Range")]++
				n := times[r.Header.Get("Range")]
				mu.Unlock()
				c.spoil(w, r, next, n)
			}))
			dst := make([]byte, 0, 10_000)
			got, _, err := s.Get(ctx, store.MustKey("v"), store.Request{}, dst)
			copied := slices.Clone(dst[:cap(dst)])
			switch {
			case c.err == nil && (err != nil || !bytes.Equal(got, value)):
				t.Errorf("%d bytes, error %v", len(got), err)
			case c.err != nil && (err == nil || got != nil || c.err != errAny && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text)):
				t.Errorf("%d bytes, error %v", len(got), err)
			}
			time.Sleep(10 * time.Millisecond)
			if !bytes.Equal(copied, dst[:cap(dst)]) {
				t.Error("the slice changed after Get")
			}
		})
	}
}

// TestPartsSteps reads a value that is longer than the memory that is allocated at first.
func TestPartsSteps(t *testing.T) {
	value := bytes.Repeat(numbered(1<<20-7, 1), 80)
	s := open(t, serve(t, &origin{values: map[string][]byte{"v": value}}), httpstore.Options{Part: 9 << 20})
	got, _, err := s.Get(t.Context(), store.MustKey("v"), store.Request{}, []byte("abc"))
	if err != nil || !bytes.Equal(got[3:], value) || string(got[:3]) != "abc" {
		t.Errorf("%d bytes, error %v", len(got), err)
	}
}

// TestPartsClaims checks that a false size in the headers of the head takes no memory.
func TestPartsClaims(t *testing.T) {
	s := open(t, serve(t, wrap(fixture(), func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("ETag", `"x"`)
		w.Header().Set("Content-Range", strings.Replace(r.Header.Get("Range"), "=", " ", 1)+"/1099511627776")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write([]byte("x"))
	})), httpstore.Options{Part: 8 << 20, Attempts: 2})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := get(t, s, "v", store.Request{})
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; err == nil || grown > 160<<20 {
		t.Errorf("took %d MiB, error %v", grown>>20, err)
	}
}
