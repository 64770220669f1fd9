// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/s3"
	"varve.dev/zarr/store/s3/s3test"
)

// drafting are services whose probe of drafts passes.
func drafting(t *testing.T) map[string]func(t *testing.T) *s3.Store {
	return map[string]func(t *testing.T) *s3.Store{
		"in the process": func(t *testing.T) *s3.Store {
			f, s := faulty(t, nil)
			f.set(checkCompletions)
			return s
		},
		"versitygw": func(t *testing.T) *s3.Store {
			service := s3test.Gateway(t, false)
			return service.Open(t, service.Bucket(t), "p")
		},
	}
}

func draft(t *testing.T, s *s3.Store, text string) store.Draft {
	t.Helper()
	d, err := s.Draft(t.Context(), key, []byte(text), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// checkCompletions checks conditions of completions, which the service in the process
// ignores.
func checkCompletions(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	match := r.Header.Get("If-Match")
	if r.Method != http.MethodPost || match == "" {
		return false
	}
	head := httptest.NewRecorder()
	next.ServeHTTP(head, httptest.NewRequest(http.MethodHead, r.URL.Path, nil))
	if head.Header().Get("ETag") == match {
		return false
	}
	return answer(http.StatusPreconditionFailed, "PreconditionFailed")(w, r, next)
}

// TestDraft publishes drafts: on a condition that does not hold, on one that does, a
// second time, and after a revocation although the object has its old ETag again.
func TestDraft(t *testing.T) {
	for name, open := range drafting(t) {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			old := put(t, s, key, "old")
			late, other := draft(t, s, "late"), draft(t, s, "other")
			put(t, s, key, "between")
			if _, err := other.Publish(t.Context(), store.IfVersion(old)); !errors.Is(err, store.ErrConflict) {
				t.Errorf("on a condition that does not hold: %v", err)
			}
			other.Discard(t.Context())
			if again := put(t, s, key, "old"); again != old {
				t.Skipf("the version %v does not come back, it is %v", old, again)
			}
			ours := draft(t, s, "ours")
			if err := s.Revoke(t.Context(), key, ours); err != nil {
				t.Fatal(err)
			}
			if _, err := late.Publish(t.Context(), store.IfVersion(old)); !errors.Is(err, store.ErrConflict) {
				t.Errorf("a draft that was revoked: %v", err)
			}
			holds(t, s, key, "old")
			v, err := ours.Publish(t.Context(), store.IfVersion(old))
			if err != nil {
				t.Fatal(err)
			}
			if now := holds(t, s, key, "ours"); now != v && name == "versitygw" {
				t.Errorf("version %v, want %v", v, now)
			}
			// The same draft once more is the same write.
			if _, err := ours.Publish(t.Context(), store.IfVersion(old)); err != nil {
				t.Errorf("the second time: %v", err)
			}
			put(t, s, key, "old")
			if _, err := ours.Publish(t.Context(), store.IfVersion(old)); !errors.Is(err, store.ErrConflict) {
				t.Errorf("over the old version that has come back: %v", err)
			}
			holds(t, s, key, "old")
			if n, err := s.SweepUploads(t.Context(), 0, true); n != 0 || err != nil {
				t.Errorf("%d uploads are left (%v)", n, err)
			}
		})
	}
}

// TestDraftOvertaken publishes a draft, and lets another writer replace the object before
// it is looked at. Whether the draft was the value in between is not known.
func TestDraftOvertaken(t *testing.T) {
	f, s := faulty(t, nil)
	f.set(checkCompletions)
	old := put(t, s, key, "old")
	ours := draft(t, s, "ours")
	f.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if r.Method != http.MethodPost || checkCompletions(w, r, next) {
			return r.Method == http.MethodPost
		}
		next.ServeHTTP(w, r)
		f.set(nil)
		put(t, s, key, "of a rival")
		return true
	})
	if v, err := ours.Publish(t.Context(), store.IfVersion(old)); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("version %v, error is %v", v, err)
	}
	holds(t, s, key, "of a rival")
}

// cutUploads answers that there are more uploads, and not how to list them.
func cutUploads(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
	w.Header().Set("Content-Type", "application/xml")
	_, _ = io.WriteString(w, `<ListMultipartUploadsResult><IsTruncated>true</IsTruncated></ListMultipartUploadsResult>`)
	return true
}

// TestRevokeUnlisted revokes drafts where the list of uploads is cut off: one that is not
// listed could still become the value.
func TestRevokeUnlisted(t *testing.T) {
	f, s := faulty(t, nil)
	f.set(checkCompletions)
	put(t, s, key, "old")
	ours := draft(t, s, "ours")
	f.set(firstTimes(1000, http.MethodGet, "uploads", cutUploads))
	if err := s.Revoke(t.Context(), key, ours); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("error is %v", err)
	}
	ours.Discard(t.Context())
}

// TestDraftProbe makes drafts only where the service checks conditions of completions,
// and lists uploads and aborts them.
func TestDraftProbe(t *testing.T) {
	done := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		w.WriteHeader(http.StatusNoContent)
		return true
	}
	for name, c := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request, http.Handler) bool
		want  error
	}{
		"conditions": {firstTimes(1000, http.MethodPost, "uploadId", func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			r.Header.Del("If-Match")
			next.ServeHTTP(w, r)
			return true
		}), store.ErrUnsupported},
		"aborts":   {firstTimes(1000, http.MethodDelete, "uploadId", done), store.ErrUnsupported},
		"listings": {firstTimes(1000, http.MethodGet, "uploads", answer(http.StatusNotImplemented, "NotImplemented")), store.ErrUnsupported},
		"pages":    {firstTimes(1000, http.MethodGet, "uploads", cutUploads), store.ErrUnsupported},
		"all":      {nil, nil},
		// Answers that come after the service has acted are no reason to do without.
		"busy": {second(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			return r.Method == http.MethodPost && (checkCompletions(w, r, next) || busyAfter(w, r, next))
		}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := faulty(t, func(o *s3.Options) { o.Conditions = s3.ProbeConditions })
			f.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
				return c.fault != nil && c.fault(w, r, next) || checkCompletions(w, r, next)
			})
			if d, err := s.Draft(t.Context(), key, []byte("one"), store.Sync); !errors.Is(err, c.want) {
				t.Errorf("%v, error is %v, want %v", d, err, c.want)
			}
		})
	}
}

// busyAfter lets a handler act, and answers that the service is busy.
func busyAfter(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	next.ServeHTTP(httptest.NewRecorder(), r)
	return answer(http.StatusServiceUnavailable, "SlowDown")(w, r, next)
}

// second applies a fault to each second request.
func second(fault func(http.ResponseWriter, *http.Request, http.Handler) bool) func(http.ResponseWriter, *http.Request, http.Handler) bool {
	var n atomic.Int32
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		return n.Add(1)%2 == 1 && fault(w, r, next)
	}
}

// deliverTwice delivers a request twice and gives the second answer, as a proxy does that
// tries the next server.
func deliverTwice(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	bytes, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(bytes)))
	next.ServeHTTP(httptest.NewRecorder(), r)
	r.Body = io.NopCloser(strings.NewReader(string(bytes)))
	next.ServeHTTP(w, r)
	return true
}

// TestOwnSuccess writes on conditions. The service carries out each write, and the answer
// is that the condition does not hold, or that the service is busy.
func TestOwnSuccess(t *testing.T) {
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, http.Handler) bool{"twice": deliverTwice, "busy": busyAfter} {
		t.Run(name, func(t *testing.T) {
			f, s := faulty(t, func(o *s3.Options) { o.Conditions = s3.ProbeConditions })
			f.set(second(firstTimes(1000, http.MethodPut, "", fault)))
			v, err := s.Write(t.Context(), store.PutIf(key, []byte("one"), store.IfAbsent()), store.Sync)
			if err == nil {
				_, err = s.Write(t.Context(), store.PutIf(key, []byte("two"), store.IfVersion(v.Version)), store.Sync)
			}
			if err != nil {
				t.Fatal(err)
			}
			holds(t, s, key, "two")
			if _, err := s.Write(t.Context(), store.PutIf(key, []byte("three"), store.IfVersion(v.Version)), store.Sync); err == nil {
				t.Error("a write of a version that is gone succeeds")
			}
		})
	}
}

// TestOnce loses requests of a write that is wanted once, and of a deletion. Neither is
// repeated.
func TestOnce(t *testing.T) {
	f, s := faulty(t, nil)
	v := put(t, s, key, "one")
	drop := func(http.ResponseWriter, *http.Request, http.Handler) bool { panic(http.ErrAbortHandler) }
	f.set(firstTimes(1, http.MethodPut, "a/k", drop))
	if _, err := s.Write(t.Context(), store.PutIf(key, []byte("two"), store.IfVersion(v).Unrepeatable()), store.Sync); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("a write: %v", err)
	}
	f.set(firstTimes(1, http.MethodDelete, "a/k", drop))
	if _, err := s.Write(t.Context(), store.DeleteIf(key, v), store.Sync); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("a deletion: %v", err)
	}
	holds(t, s, key, "one")
}
