// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"testing"
	"time"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// TestContentCoding requests values from a server that compresses unasked. Its headers
// describe other bytes, so the answer is refused, with any transport.
func TestContentCoding(t *testing.T) {
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	if _, err := z.Write(bytes.Repeat([]byte("0123456789"), 40)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, coding := range []string{"gzip", "GZIP", "x-gzip", "identity, gzip", "br"} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", coding)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body.Bytes()))
		}))
		for name, transport := range map[string]http.RoundTripper{"own": nil, "default": http.DefaultTransport} {
			s := open(t, url, httpstore.Options{Transport: transport})
			for _, r := range []store.Range{store.Whole(), store.Span(7, 20), store.Suffix(5)} {
				if got, _, err := get(t, s, key, store.Request{Range: r}); !errors.Is(err, store.ErrUnsupported) {
					t.Errorf("%s by the %s transport, %s: %d bytes, %v", coding, name, r, len(got), err)
				}
			}
			if info, err := s.Stat(t.Context(), store.MustKey(key)); !errors.Is(err, store.ErrUnsupported) {
				t.Errorf("%s by the %s transport: %+v, %v", coding, name, info, err)
			}
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
