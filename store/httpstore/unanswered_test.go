// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// silent answers no request.
func silent(t *testing.T) string {
	t.Helper()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release); s.Close() })
	return s.URL
}

// closed returns an address at which nothing listens.
func closed(t *testing.T) string {
	t.Helper()
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
	return c.LocalAddr().String()
}

// cutting returns the URL of a server that cuts connections in the middle of values.
func cutting(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("some"))
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestUnanswered checks what errors of requests without an answer say: the operation, the
// host, the cause, and what to do.
func TestUnanswered(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of the handshake
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for name, c := range map[string]struct{ location, says string }{
		"refused":     {"http://" + closed(t), "nothing listens there"},
		"name":        {"http://bucket.invalid", "check the name of the host"},
		"certificate": {secure.URL, "certificate of the server is not trusted"},
		"no TLS":      {strings.Replace(plain.URL, "http:", "https:", 1), "does not speak TLS"},
		"silent":      {silent(t), "check the network"},
		"cut":         {cutting(t), "the connection was cut"},
	} {
		stall := time.Minute // handshakes may take long
		if name == "silent" {
			stall = 100 * time.Millisecond
		}
		s, err := httpstore.OpenStore(c.location, &httpstore.Options{Attempts: 1, Stall: stall})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = s.Get(t.Context(), store.MustKey("a/k"), store.Request{}, nil)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		_, host, _ := strings.Cut(c.location, "://")
		for _, part := range []string{"a/k", "host " + host + ": ", c.says} {
			// A sandbox without a name server has another error.
			if name == "name" && strings.Contains(err.Error(), "the name server does not answer") && part == c.says {
				continue
			}
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not say %q", name, err, part)
			}
		}
		if name != "silent" && !strings.Contains(err.Error(), "GET to host ") {
			t.Errorf("%s: %v does not name the operation", name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
