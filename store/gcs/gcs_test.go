// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"testing"
	"time"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/gcs"
	"varve.dev/zarr/store/gcs/gcstest"
	"varve.dev/zarr/store/retry"
	"varve.dev/zarr/store/storetest"
)

// quick repeats requests after short pauses.
var quick = retry.Policy{Pause: time.Millisecond, LongestPause: 20 * time.Millisecond, Total: time.Minute}

// open opens the bucket of a fake without credentials.
func open(t testing.TB, endpoint, prefix string) *gcs.Store {
	t.Helper()
	s, err := gcs.Open("bucket", prefix, &gcs.Options{Endpoint: endpoint, Anonymous: true, Retry: quick})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestFake runs the conformance suite against the service as it is documented, with and
// without a prefix that has special characters.
func TestFake(t *testing.T) {
	for _, prefix := range []string{"", "data set/a+b%20/é.zarr"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store {
				_, endpoint := gcstest.Serve(t)
				return open(t, endpoint, prefix)
			})
		})
	}
}

// TestWriteInterval knows the limit of the service. An emulator has none.
func TestWriteInterval(t *testing.T) {
	_, endpoint := gcstest.Serve(t)
	for endpoint, want := range map[string]time.Duration{"": time.Second, "https://storage.googleapis.com/": time.Second, endpoint: 0} {
		if got := store.TraitsOf(open(t, endpoint, "")).WriteInterval; got != want {
			t.Errorf("%q: %v, want %v", endpoint, got, want)
		}
	}
}
