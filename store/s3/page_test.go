// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"varve.dev/zarr/store"
)

// TestProxyPages lets a proxy answer all requests by a page. None of them has succeeded,
// and nothing is missing.
func TestProxyPages(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusNotFound} {
		f, s := faulty(t, nil)
		v := put(t, s, key, "one")
		f.set(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html><body>Please log in</body></html>")
			return true
		})
		ctx, other := t.Context(), store.MustKey("other")
		for what, act := range map[string]func() error{
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
			"batch": func() error {
				b, err := store.NewBatch(ctx, s, store.Sync)
				if err == nil {
					_, err = b.Write(ctx, store.Delete(key))
				}
				if err == nil {
					_, err = b.Write(ctx, store.Put(other, []byte("x")))
				}
				if err == nil {
					err = b.Commit(ctx)
				}
				return err
			},
		} {
			err := act()
			if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrConflict) {
				t.Errorf("%s, status %d: error is %v", what, status, err)
			} else if !strings.Contains(err.Error(), "does not look like S3") || !strings.Contains(err.Error(), "a page of HTML came instead of an answer of the service") {
				t.Errorf("%s, status %d: %v", what, status, err)
			}
		}
		f.set(nil)
		if got, _, err := s.Get(ctx, key, store.Request{}, nil); err != nil || string(got) != "one" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	}
}

// TestMissingByPage lets a service send the type of a page with its answers to HEAD, as
// some do. Its answer to GET says that the object is missing.
func TestMissingByPage(t *testing.T) {
	f, s := faulty(t, nil)
	v := put(t, s, key, "one")
	f.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if r.Method != http.MethodHead {
			return answer(http.StatusNotFound, "NoSuchKey")(w, r, next)
		}
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		w.WriteHeader(http.StatusNotFound)
		return true
	})
	if _, err := s.Stat(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat: %v", err)
	}
	if _, err := s.Write(t.Context(), store.Clone(store.MustKey("l"), key, v), store.Sync); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Clone: %v", err)
	}
	if _, err := s.Write(t.Context(), store.Clone(store.MustKey("l"), key, store.Version{}), store.Sync); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Clone of any: %v", err)
	}
}

// TestPageAfterHead lets a proxy answer HEAD by a missing page, and GET by another page,
// with status 200. That page is no object.
func TestPageAfterHead(t *testing.T) {
	f, s := faulty(t, nil)
	put(t, s, key, "one")
	f.set(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		w.Header().Set("Content-Type", "text/html")
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusNotFound)
		} else {
			_, _ = io.WriteString(w, "<html><body>Please log in</body></html>")
		}
		return true
	})
	info, err := s.Stat(t.Context(), key)
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "a page of HTML came instead") {
		t.Errorf("Stat: %+v, %v", info, err)
	}
}
