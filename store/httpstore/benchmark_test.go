// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"varve.dev/zarr/store"
)

// immediate answers every request at once.
type immediate struct{ text string }

func (i immediate) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, ProtoMajor: 1, Header: http.Header{"Etag": {`"1"`}}, ContentLength: int64(len(i.text)),
		Body: io.NopCloser(bytes.NewReader([]byte(i.text))),
	}, nil
}

// BenchmarkOverhead measures what a Get costs besides the transport.
func BenchmarkOverhead(b *testing.B) {
	for _, hedge := range []bool{false, true} {
		b.Run(fmt.Sprintf("Hedge=%v", hedge), func(b *testing.B) {
			s, err := OpenStore("http://host/x", &Options{Transport: immediate{"value"}, Hedge: hedge})
			if err != nil {
				b.Fatal(err)
			}
			key, dst := store.MustKey("c/0/0"), make([]byte, 0, 8)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.Get(b.Context(), key, store.Request{}, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParts reads a value of 64 MiB from a server with 20 MB/s for each connection,
// in one piece and in parts of 8 MiB.
func BenchmarkParts(b *testing.B) {
	value := make([]byte, 64<<20)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(value))
	}))
	s.Listener = net.Listener(limited{s.Listener, 20e6})
	s.Start()
	defer s.Close()
	for _, part := range []int64{0, 8 << 20} {
		b.Run(fmt.Sprintf("Part=%d", part), func(b *testing.B) {
			remote, err := OpenStore(s.URL, &Options{Part: part})
			if err != nil {
				b.Fatal(err)
			}
			defer remote.Close()
			dst := make([]byte, 0, len(value))
			b.SetBytes(int64(len(value)))
			for b.Loop() {
				if _, _, err := remote.Get(b.Context(), store.MustKey("v"), store.Request{}, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
