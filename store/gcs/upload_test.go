// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/gcs"
	"varve.dev/zarr/store/gcs/gcstest"
	"varve.dev/zarr/store/retry"
)

// TestEndedSession ends the session of uploads after their first piece. They begin anew,
// and fail as what they are if that happens each time.
func TestEndedSession(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s, key, value := open(t, endpoint, ""), store.MustKey("k"), large(20<<20)
	if _, err := s.Write(t.Context(), store.Put(store.MustKey("part"), value), store.Sync); err != nil {
		t.Fatal(err)
	}
	parts := []store.Part{{Data: []byte("head")}, {Key: store.MustKey("part"), N: 20 << 20}}
	joined := append([]byte("head"), value...)
	for what, c := range map[string]struct {
		write func() error
		want  []byte
	}{
		"Put": {func() error { _, err := s.Write(t.Context(), store.Put(key, value), store.Sync); return err }, value},
		"PutIf": {func() error {
			_, err := s.Write(t.Context(), store.PutIf(key, value, store.IfAbsent()), store.Sync)
			return err
		}, value},
		"Assemble": {func() error { _, err := s.Write(t.Context(), store.Assemble(key, parts), store.Sync); return err }, joined},
	} {
		for _, status := range []int{404, 410} {
			for _, times := range []int64{1, 1000} {
				if _, err := s.Write(t.Context(), store.Delete(key), store.Sync); err != nil {
					t.Fatal(err)
				}
				var pieces atomic.Int64
				f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
					if r.Method != http.MethodPut || !strings.HasPrefix(r.URL.Path, "/upload/session/") {
						return w, false
					}
					if n := pieces.Add(1); n%2 == 1 || n > 2*times {
						return w, false
					}
					_, _ = io.Copy(io.Discard, r.Body)
					gcstest.Fail(w, status, "no session")
					return w, true
				})
				err := c.write()
				f.On(nil)
				if times > 1 {
					if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "session") {
						t.Errorf("%s, status %d each time: the error is %v", what, status, err)
					}
				} else if err != nil || !bytes.Equal(f.Objects["k"].Value, c.want) {
					t.Errorf("%s, status %d once: the error is %v", what, status, err)
				}
			}
		}
	}
}

// TestNoObject uploads to a service that takes all bytes and makes no object of them.
func TestNoObject(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s, size := open(t, endpoint, ""), "20971519"
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		if r.Method != http.MethodPut || !strings.HasPrefix(r.URL.Path, "/upload/session/") {
			return w, false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Range", "bytes=0-"+size)
		w.WriteHeader(http.StatusPermanentRedirect)
		return w, true
	})
	err := ends(t, "Put", func() error {
		_, err := s.Write(t.Context(), store.Put(store.MustKey("k"), large(20<<20)), store.Sync)
		return err
	})
	if err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("the error is %v", err)
	}
}

// TestSamePage lists a bucket whose service sends one page again and again.
func TestSamePage(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s := open(t, endpoint, "")
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		gcstest.Answer(w, map[string]any{"nextPageToken": "again"})
		return w, true
	})
	err := ends(t, "List", func() error {
		for _, err := range s.List(t.Context(), store.Path{}, store.Deep) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		t.Error("a listing without an end has no error")
	}
}

// TestContended changes an object that others change so often that the service refuses
// each attempt. That is a conflict: nothing has changed.
func TestContended(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s, err := gcs.Open("bucket", "", &gcs.Options{Endpoint: endpoint, Anonymous: true, Retry: retry.Policy{Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	key := store.MustKey("k")
	v, err := s.Write(t.Context(), store.Put(key, []byte("old")), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		gcstest.Fail(w, http.StatusTooManyRequests, "The object bucket/k exceeded the rate limit for object mutation operations.")
		return w, true
	})
	_, putErr := s.Write(t.Context(), store.PutIf(key, []byte("new"), store.IfVersion(v.Version)), store.Sync)
	for _, err := range []error{putErr, errOf(s.Write(t.Context(), store.DeleteIf(key, v.Version), store.Sync))} {
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("the error is %v, want a conflict", err)
		}
	}
	if _, err := s.Write(t.Context(), store.Put(key, []byte("new")), store.Sync); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("the error of a write without a condition is %v", err)
	}
}

// errOf returns the error of a change.
func errOf(_ store.Written, err error) error { return err }
