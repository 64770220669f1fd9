// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/s3"
	"varve.dev/zarr/store/s3/s3test"
)

// operations are those of a store, by the names that errors have for them.
func operations(t *testing.T, s *s3.Store) map[string]func() error {
	ctx := t.Context()
	return map[string]func() error{
		"GET":       func() error { _, _, err := s.Get(ctx, key, store.Request{}, nil); return err },
		"HEAD":      func() error { _, err := s.Stat(ctx, key); return err },
		"PutObject": func() error { _, err := s.Write(ctx, store.Put(key, []byte("x")), store.Sync); return err },
		"DeleteObject": func() error {
			_, err := s.Write(ctx, store.Delete(key), store.Sync)
			return err
		},
		"HeadObject": func() error {
			_, err := s.Write(ctx, store.Clone(store.MustKey("l"), key, store.Version{}), store.Sync)
			return err
		},
		"ListObjectsV2": func() error {
			for _, err := range s.List(ctx, store.Path{}, store.Deep) {
				return err
			}
			return nil
		},
	}
}

// says checks that an error has all parts and no words of the SDK.
func says(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v does not say %q", what, err, part)
		}
	}
	for _, part := range []string{"operation error", "https response error", "StatusCode: 0", "RequestID: ,", "HostID", "response error", "request send failed", s3test.Secret} {
		if strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v says %q", what, err, part)
		}
	}
}

// TestNetworkErrors sends requests that get no answer. Errors name the operation, the
// host, the bucket and the key, and say what to do, in words that are not those of the
// SDK.
func TestNetworkErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	// Nobody can listen at the port of a connection, so it stays closed.
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	closed := c.LocalAddr().String()
	plain := s3test.Fake(t, nil)
	cut := s3test.Fake(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	})
	silent := s3test.Fake(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // then the server notices that the client has gone
			<-r.Context().Done()
		})
	})
	for name, c := range map[string]struct{ endpoint, advice string }{
		"refused": {"http://" + closed, "nothing listens there; check the endpoint"},
		"name":    {"http://s3.invalid", "network"},
		"no TLS":  {strings.Replace(plain.URL, "http", "https", 1), "does not speak TLS"},
		"cut":     {cut.URL, "the connection was cut"},
		"silent":  {silent.URL, "check the network and proxies"},
	} {
		o := plain.Options()
		o.Endpoint, o.Conditions = c.endpoint, s3.TrustConditions
		o.Read.Attempts, o.Read.Stall = 1, 100*time.Millisecond
		s, err := s3.Open(t.Context(), "climate", "p", o)
		if err != nil {
			t.Fatal(err)
		}
		_, host, _ := strings.Cut(c.endpoint, "://")
		for what, act := range operations(t, s) {
			parts := []string{"s3: s3://climate/p/", "host " + host, c.advice}
			if name != "silent" || what != "GET" && what != "HEAD" {
				parts = append(parts, what)
			}
			if what != "ListObjectsV2" {
				parts = append(parts, "a/k")
			}
			says(t, name+": "+what, act(), parts...)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
