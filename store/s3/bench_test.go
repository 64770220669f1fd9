// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"net/http"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/s3"
	"varve.dev/zarr/store/s3/s3test"
)

// BenchmarkGet reads 8 KiB of an object, signed, and unsigned, from a server in this
// process that does nothing else.
func BenchmarkGet(b *testing.B) {
	body := make([]byte, 8<<10)
	service := s3test.Fake(b, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"e"`)
			_, _ = w.Write(body)
		})
	})
	for _, anonymous := range []bool{false, true} {
		name := "signed"
		o := service.Options()
		if o.Anonymous = anonymous; anonymous {
			name = "unsigned"
		}
		s, err := s3.Open(b.Context(), "bucket", "", o)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		b.Run(name, func(b *testing.B) {
			dst := make([]byte, 0, len(body))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.Get(b.Context(), store.MustKey("k"), store.Request{}, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
