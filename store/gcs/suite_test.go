// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"varve.dev/zarr/internal/test/arrays"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store/gcs"
	"varve.dev/zarr/store/gcs/gcstest"
)

// TestMain lets the test binary be a program of a crowd.
func TestMain(m *testing.M) {
	if !arrays.Main() {
		arrays.NoGoroutines(m)
	}
}

// TestArrays runs the suite of arrays on a service in memory.
func TestArrays(t *testing.T) {
	_, endpoint := gcstest.Serve(t)
	arrays.Run(t, func(prefix string) stepping.ObjectStore { return open(t, endpoint, prefix) })
}

// TestArraysOnFakeGCSServer runs the suite of arrays on fake-gcs-server, if installed.
func TestArraysOnFakeGCSServer(t *testing.T) {
	front := httptest.NewServer(&conditions{to: emulator(t)})
	t.Cleanup(front.Close)
	name := bucket(t, front.URL, 1)
	arrays.Run(t, func(prefix string) stepping.ObjectStore {
		s, err := gcs.Open(name, prefix, &gcs.Options{Endpoint: front.URL, Anonymous: true, Retry: quick})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	})
}

// places returns the locations of scenes in a bucket.
func places(bucket string) func(url, name string) string {
	return func(url, name string) string {
		return "gs://" + bucket + "/x.zarr/g/" + name + "?anon=true&endpoint=" + url
	}
}

// TestCrowd lets processes change and read arrays and a group on a service in memory,
// behind a proxy that does harm to requests.
func TestCrowd(t *testing.T) {
	_, endpoint := gcstest.Serve(t)
	arrays.CrowdWithFaults(t, endpoint, 12, places("bucket"), arrays.Edges, arrays.Shards, arrays.Group)
}

// TestCrowdOnFakeGCSServer is the same on fake-gcs-server, if installed, with and without
// the proxy.
func TestCrowdOnFakeGCSServer(t *testing.T) {
	front := httptest.NewServer(&conditions{to: emulator(t)})
	t.Cleanup(front.Close)
	arrays.Crowd(t, front.URL, places(bucket(t, front.URL, 1)), arrays.Regular, arrays.Shards, arrays.Group)
	arrays.CrowdWithFaults(t, front.URL, 12, places(bucket(t, front.URL, 2)), arrays.Edges, arrays.ShardEdges, arrays.Group)
}

// TestDates vacuums and reads while dates of answers are wrong.
func TestDates(t *testing.T) {
	_, endpoint := gcstest.Serve(t)
	arrays.Dates(t, endpoint, places("bucket"))
}

// TestSoakLife lets processes append, write, rechunk and move rows of one array
// on a service in memory, behind a proxy that harms requests, while they are killed
// and stopped.
func TestSoakLife(t *testing.T) {
	_, endpoint := gcstest.Serve(t)
	for seed := range fixture.Soaked(t, 2, 20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { arrays.Life(t, endpoint, 20, places("bucket"), uint64(seed)) })
	}
}

// TestStrangeObjects lists a bucket with objects whose names are no keys.
func TestStrangeObjects(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	for _, name := range append([]string{"g/zarr.json", "g/a\tb/c/0"}, arrays.Strange...) {
		f.Put("in/"+name, []byte("v"))
	}
	f.Put("in/g/mark/", nil)
	arrays.CheckStrange(t, open(t, endpoint, "in"))
}
