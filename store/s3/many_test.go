// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"bufio"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/s3/s3test"
)

// TestManyKeys lists a prefix with 200,000 keys. They come page by page, in order, and
// are not held in memory. A listing that ends early asks for no more pages.
func TestManyKeys(t *testing.T) {
	const keys, page = 200_000, 1000
	pages := 0
	service := s3test.Fake(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			pages++
			first, _ := strconv.Atoi(r.URL.Query().Get("continuation-token"))
			out := bufio.NewWriter(w)
			fmt.Fprintf(out, "<ListBucketResult><IsTruncated>%t</IsTruncated>", first+page < keys)
			if first+page < keys {
				fmt.Fprintf(out, "<NextContinuationToken>%d</NextContinuationToken>", first+page)
			}
			for k := first; k < first+page; k++ {
				fmt.Fprintf(out, "<Contents><Key>a/c/%07d</Key><Size>7</Size><ETag>&quot;e&quot;</ETag></Contents>", k)
			}
			fmt.Fprint(out, "</ListBucketResult>")
			_ = out.Flush() // the client may have gone
		})
	})
	s := service.Open(t, "bucket-1", "")
	most, n := uint64(0), 0
	for e, err := range s.List(t.Context(), store.MustKey("a/k").Dir(), store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("c/%07d", n); e.Name != want {
			t.Fatalf("key %d is %s, want %s", n, e.Name, want)
		}
		if n++; n%50_000 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
	if n != keys || pages != keys/page {
		t.Errorf("%d keys of %d pages, want %d of %d", n, pages, keys, keys/page)
	}
	if most > 32<<20 {
		t.Errorf("%d bytes of heap", most)
	}
	pages = 0
	for range s.List(t.Context(), store.MustKey("a/k").Dir(), store.Deep) {
		break
	}
	if pages > 2 {
		t.Errorf("%d pages for one key", pages)
	}
}
