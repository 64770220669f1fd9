// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/gcs/gcstest"
)

// lose makes the fake carry out requests that match, and lose the first n answers.
func lose(f *gcstest.Fake, match func(*http.Request) bool, n int64) {
	var left atomic.Int64
	left.Store(n)
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		if match(r) && left.Add(-1) >= 0 {
			return lossy{httptest.NewRecorder(), w}, false
		}
		return w, false
	})
}

// lossy closes the connection instead of answering.
type lossy struct {
	*httptest.ResponseRecorder
	w http.ResponseWriter
}

func (l lossy) WriteHeader(int) { l.drop() }

func (l lossy) Write(b []byte) (int, error) {
	l.drop()
	return len(b), nil
}

func (l lossy) drop() {
	if c, _, err := http.NewResponseController(l.w).Hijack(); err == nil {
		c.Close()
	}
}

func isUpload(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/upload/") }

// TestLostAnswers checks that conditional writes whose answers are lost are not repeated,
// and are not taken for the write of another.
func TestLostAnswers(t *testing.T) {
	for _, lost := range []int64{1, 2, 5, 100} { // 5 is all attempts
		f, endpoint := gcstest.Serve(t)
		s, key := open(t, endpoint, ""), store.MustKey("zarr.json")
		lose(f, isUpload, lost)
		v, err := s.Write(t.Context(), store.PutIf(key, []byte("one"), store.IfAbsent()), store.Sync)
		if err != nil {
			t.Fatalf("%d answers lost: %v", lost, err)
		}
		if info, err := s.Stat(t.Context(), key); err != nil || info.Version != v.Version {
			t.Errorf("%d answers lost: version %v and error %v, want %v", lost, info.Version, err, v.Version)
		}
		lose(f, isUpload, lost)
		if _, err = s.Write(t.Context(), store.PutIf(key, []byte("two"), store.IfVersion(v.Version)), store.Sync); err != nil {
			t.Errorf("%d answers lost: %v", lost, err)
		}
		if f.Last != 2 {
			t.Errorf("%d answers lost: %d writes, want 2", lost, f.Last)
		}
	}
}

// TestOutcomeUnknown checks the error of a write whose answer was lost and whose value
// another writer has replaced: it may not say that nothing was written.
func TestOutcomeUnknown(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s, key := open(t, endpoint, ""), store.MustKey("k")
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		if !isUpload(r) {
			return w, false
		}
		f.On(nil)
		f.ServeHTTP(httptest.NewRecorder(), r)
		f.Put("k", []byte("another's"))
		lossy{nil, w}.drop()
		return w, true
	})
	_, err := s.Write(t.Context(), store.PutIf(key, []byte("mine"), store.IfAbsent()), store.Sync)
	if err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("the error is %v, want one that is no conflict", err)
	}
	v, err := s.Write(t.Context(), store.Put(key, nil), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	lose(f, func(r *http.Request) bool { return r.Method == http.MethodDelete }, 1)
	if _, err = s.Write(t.Context(), store.DeleteIf(key, v.Version), store.Sync); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("the error of a deletion is %v, want one that is no conflict", err)
	}
}

// TestThrottled checks that requests that the service refuses for their number, and those
// that it fails to serve, are repeated.
func TestThrottled(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s, key := open(t, endpoint, ""), store.MustKey("k")
	for _, status := range []int{403, 429, 500, 503} {
		var asked atomic.Int64
		f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
			if asked.Add(1)%3 == 0 {
				return w, false
			}
			if status == 403 {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"error":{"message":"slow down","errors":[{"reason":"userRateLimitExceeded"}]}}`)
				return w, true
			}
			gcstest.Fail(w, status, "try again later")
			return w, true
		})
		if _, err := s.Write(t.Context(), store.Put(key, []byte("value")), store.Sync); err != nil {
			t.Errorf("status %d: %v", status, err)
		}
		if got, _, err := s.Get(t.Context(), key, store.Request{}, nil); err != nil || string(got) != "value" {
			t.Errorf("status %d: %q and error %v", status, got, err)
		}
		for _, err := range s.List(t.Context(), store.Path{}, store.Deep) {
			if err != nil {
				t.Errorf("status %d: %v", status, err)
			}
		}
		if _, err := s.Write(t.Context(), store.Delete(key), store.Sync); err != nil {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

// TestInterruptedUpload uploads a large value over connections that break, through a
// service that takes only some of the bytes.
func TestInterruptedUpload(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s := open(t, endpoint, "")
	value := large(40 << 20)
	var n atomic.Int64
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		if !strings.HasPrefix(r.URL.Path, "/upload/session/") || r.ContentLength == 0 || n.Add(1)%2 == 0 {
			return w, false
		}
		if n.Load()%4 == 1 {
			return lossy{httptest.NewRecorder(), w}, false // the bytes arrive
		}
		gcstest.Fail(w, http.StatusServiceUnavailable, "try again")
		return w, true
	})
	v, err := s.Write(t.Context(), store.PutIf(store.MustKey("k"), value, store.IfAbsent()), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	got, info, err := s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil)
	if err != nil || !bytes.Equal(got, value) || info.Version != v.Version {
		t.Errorf("%d bytes of version %v and error %v, want %d of %v", len(got), info.Version, err, len(value), v.Version)
	}
	f.On(nil)
	_, err = s.Write(t.Context(), store.PutIf(store.MustKey("k"), value, store.IfAbsent()), store.Sync)
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("the error of a second upload is %v, want a conflict", err)
	}
}

// TestConditionAtEnd checks that the condition of an upload in pieces holds when the
// value appears, and that a failed upload leaves no session.
func TestConditionAtEnd(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s := open(t, endpoint, "")
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		if strings.HasPrefix(r.URL.Path, "/upload/session/") {
			f.On(nil)
			f.Put("k", []byte("another's"))
		}
		return w, false
	})
	_, err := s.Write(t.Context(), store.PutIf(store.MustKey("k"), large(20<<20), store.IfAbsent()), store.Sync)
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("the error is %v, want a conflict", err)
	}
	if len(f.Uploads) != 0 || string(f.Objects["k"].Value) != "another's" {
		t.Errorf("%d sessions are left, and the value is %.20q", len(f.Uploads), f.Objects["k"].Value)
	}
}

func large(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>12 ^ i*31)
	}
	return b
}

// TestAssembleLarge assembles a value that is larger than one piece, from ranges, and
// lets the service join whole objects.
func TestAssembleLarge(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s := open(t, endpoint, "p")
	value := large(18 << 20)
	for _, k := range []string{"a", "b"} {
		if _, err := s.Write(t.Context(), store.Put(store.MustKey(k), value), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	part := func(k string, off, n int) store.Part {
		return store.Part{Key: store.MustKey(k), Off: int64(off), N: int64(n)}
	}
	for i, parts := range [][]store.Part{
		{part("a", 0, 18<<20), part("b", 0, 18<<20)},
		{part("a", 7, 17<<20), {Data: []byte("index")}, part("b", 1<<20, 17<<20)},
		{part("a", 0, 18<<20), {Data: value}},
	} {
		var want []byte
		for _, p := range parts {
			if p.Data != nil {
				want = append(want, p.Data...)
			} else {
				want = append(want, value[p.Off:p.Off+p.N]...)
			}
		}
		f.Requests = nil
		if _, err := s.Write(t.Context(), store.Assemble(store.MustKey("c"), parts), store.Sync); err != nil {
			t.Fatalf("assembly %d: %v", i, err)
		}
		if !bytes.Equal(f.Objects["p/c"].Value, want) {
			t.Errorf("assembly %d has other bytes", i)
		}
		composed := strings.Contains(strings.Join(f.Requests, "\n"), "/compose")
		if composed != (i == 0) {
			t.Errorf("assembly %d: the service joined the objects: %t", i, composed)
		}
	}
}

// TestErrors checks that errors name the bucket, the object and the request, say what to
// do, and are of their kind.
func TestErrors(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s, key := open(t, endpoint, "era5.zarr"), store.MustKey("zarr.json")
	for _, c := range []struct {
		status        int
		message, want string
		kind          error
	}{
		{401, "Anonymous caller", "token=anon", fs.ErrPermission},
		{403, "no access (or it may not exist)", "may be missing too", fs.ErrPermission},
		{403, "no access", "Storage Object", fs.ErrPermission},
		{400, "Bucket is a requester pays bucket but no user project provided.", "user_project", fs.ErrPermission},
		{404, "The specified bucket does not exist.", "check the name of the bucket bucket", nil},
		{412, "pre-conditions", "pre-conditions", store.ErrConflict},
		{400, strings.Repeat("x", 10_000) + "\x00", "…", nil},
	} {
		f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
			gcstest.Fail(w, c.status, c.message)
			return w, true
		})
		_, _, getErr := s.Get(t.Context(), key, store.Request{}, nil)
		_, putErr := s.Write(t.Context(), store.Put(key, nil), store.Sync)
		for _, err := range []error{getErr, putErr} {
			text := fmt.Sprint(err)
			if err == nil || c.kind != nil && !errors.Is(err, c.kind) || errors.Is(err, fs.ErrNotExist) || len(text) > 1200 {
				t.Errorf("status %d: error is %.300v, want %v", c.status, err, c.kind)
			}
			for _, part := range []string{"bucket bucket", "era5.zarr/zarr.json", "request-17", c.want} {
				if !strings.Contains(text, part) {
					t.Errorf("status %d: the error does not say %q: %.300s", c.status, part, text)
				}
			}
		}
	}
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		fmt.Fprint(w, "<html><body>Please sign in to this network")
		return w, true
	})
	if _, err := s.Write(t.Context(), store.PutIf(key, nil, store.IfAbsent()), store.Sync); err == nil || !strings.Contains(err.Error(), "proxy") {
		t.Errorf("the error of a page of HTML is %v", err)
	}
}

// TestCancelled checks that a call ends at once with its context.
func TestCancelled(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s := open(t, endpoint, "")
	ctx, cancel := context.WithCancel(t.Context())
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		_, _ = io.Copy(io.Discard, r.Body) // then the server notices that the client has gone
		cancel()
		<-r.Context().Done()
		return w, true
	})
	if _, err := s.Write(ctx, store.Put(store.MustKey("k"), []byte("v")), store.Sync); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
