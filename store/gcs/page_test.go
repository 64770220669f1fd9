// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/gcs"
	"varve.dev/zarr/store/gcs/gcstest"
)

// operations are those of a store.
func operations(t *testing.T, s *gcs.Store, v store.Version) map[string]func() error {
	ctx, key, other := t.Context(), store.MustKey("a/k"), store.MustKey("other")
	return map[string]func() error{
		"Put": func() error { _, err := s.Write(ctx, store.Put(key, []byte("x")), store.Sync); return err },
		"PutIf": func() error {
			_, err := s.Write(ctx, store.PutIf(key, []byte("x"), store.IfVersion(v)), store.Sync)
			return err
		},
		"create": func() error {
			_, err := s.Write(ctx, store.PutIf(other, []byte("x"), store.IfAbsent()), store.Sync)
			return err
		},
		"Get":    func() error { _, _, err := s.Get(ctx, key, store.Request{}, nil); return err },
		"part":   func() error { _, _, err := s.Get(ctx, key, store.Request{Range: store.Suffix(1)}, nil); return err },
		"Stat":   func() error { _, err := s.Stat(ctx, key); return err },
		"Exists": func() error { _, err := store.Exists(ctx, s, key); return err },
		"Delete": func() error {
			_, err := s.Write(ctx, store.Delete(key), store.Sync)
			return err
		},
		"DeleteIf": func() error {
			_, err := s.Write(ctx, store.DeleteIf(key, v), store.Sync)
			return err
		},
		"Clone": func() error { _, err := s.Write(ctx, store.Clone(other, key, store.Version{}), store.Sync); return err },
		"List": func() error {
			for _, err := range s.List(ctx, store.Path{}, store.Deep) {
				return err
			}
			return nil
		},
	}
}

// TestProxyPages lets a proxy answer all requests by a page. None of them has succeeded,
// and nothing is missing.
func TestProxyPages(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusNotFound} {
		f, endpoint := gcstest.Serve(t)
		s, key := open(t, endpoint, "p"), store.MustKey("a/k")
		v, err := s.Write(t.Context(), store.Put(key, []byte("one")), store.Sync)
		if err != nil {
			t.Fatal(err)
		}
		f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html><body>Please log in</body></html>")
			return w, true
		})
		for what, act := range operations(t, s, v.Version) {
			err := act()
			if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrConflict) {
				t.Errorf("%s, status %d: error is %v", what, status, err)
			} else if !strings.Contains(err.Error(), "a page of HTML came instead of an answer of the service") {
				t.Errorf("%s, status %d: %v", what, status, err)
			}
		}
		f.On(nil)
		if got, _, err := s.Get(t.Context(), key, store.Request{}, nil); err != nil || string(got) != "one" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	}
}

// TestNetworkErrors sends requests that get no answer. Errors name the host, the place
// and the key, and say what to do.
func TestNetworkErrors(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	f.On(func(http.ResponseWriter, *http.Request) (http.ResponseWriter, bool) { panic(http.ErrAbortHandler) })
	_, host, _ := strings.Cut(endpoint, "://")
	for what, act := range operations(t, open(t, endpoint, "p"), store.MakeVersion("17")) {
		err := act()
		if err == nil {
			t.Errorf("%s: no error", what)
			continue
		}
		for _, part := range []string{"gcs: ", "bucket bucket", "p/", "to host " + host, "the connection was cut; check the network"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not say %q", what, err, part)
			}
		}
	}
}
