// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/gcs/gcstest"
)

// TestOwnSuccess writes on conditions. The service carries out each write, and the answer
// is that the condition does not hold, because a proxy has delivered the request twice,
// or that the service is busy.
func TestOwnSuccess(t *testing.T) {
	for _, status := range []int{0, http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		f, endpoint := gcstest.Serve(t)
		s, key := open(t, endpoint, ""), store.MustKey("k")
		write := func(value string, cond store.Condition) (store.Version, error) {
			f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
				if !(isUpload(r)) {
					return w, false
				}
				f.On(nil)
				body, _ := io.ReadAll(r.Body)
				first := r.Clone(r.Context())
				first.Body, r.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
				f.ServeHTTP(httptest.NewRecorder(), first)
				if status != 0 {
					gcstest.Fail(w, status, "ServerBusy")
				}
				return w, status != 0
			})
			w, err := s.Write(t.Context(), store.PutIf(key, []byte(value), cond), store.Sync)
			return w.Version, err
		}
		v, err := write("one", store.IfAbsent())
		if err == nil {
			v, err = write("two", store.IfVersion(v))
		}
		if err != nil {
			t.Errorf("status %d: %v", status, err)
			continue
		}
		if got, info, err := s.Get(t.Context(), key, store.Request{}, nil); err != nil || string(got) != "two" || info.Version != v {
			t.Errorf("status %d: %q of version %v (%v), want version %v", status, got, info.Version, err, v)
		}
		if _, err := write("three", store.IfAbsent()); err == nil || status == 0 && !errors.Is(err, store.ErrConflict) {
			t.Errorf("status %d: a write over a value: %v", status, err)
		}
	}
}
