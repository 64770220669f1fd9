// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"fmt"
	"net/url"
	"testing"

	"go.uber.org/goleak"
	"varve.dev/zarr/internal/test/arrays"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/azure"
	"varve.dev/zarr/store/azure/azuretest"
	"varve.dev/zarr/store/storetest"
)

// TestMain lets the test binary be a program of a crowd.
func TestMain(m *testing.M) {
	if !arrays.Main() {
		// A question for a token continues without those who asked, for half a minute.
		arrays.NoGoroutines(m, goleak.IgnoreAnyFunction("varve.dev/zarr/store/azure.(*tokens).answer"))
	}
}

// TestArrays runs the suite of arrays on a service in memory.
func TestArrays(t *testing.T) {
	_, endpoint := azuretest.Serve(t)
	arrays.Run(t, func(prefix string) stepping.ObjectStore { return open(t, endpoint, prefix) })
}

// TestArraysOnAzurite runs the suite of arrays on Azurite, if it is installed.
func TestArraysOnAzurite(t *testing.T) {
	endpoint := emulator(t)
	create(t, endpoint, "arrays")
	arrays.Run(t, func(prefix string) stepping.ObjectStore {
		s, err := azure.Open(account, "arrays", prefix, &azure.Options{Endpoint: endpoint, Key: key, Retry: quick})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	})
}

// places returns the locations of scenes in a container, whose service has a path below
// the URL of the server.
func places(account, container, path, key string) func(url, name string) string {
	return func(server, name string) string {
		q := url.Values{"endpoint": {server + path}, "account_key": {key}}
		return "az://" + account + "/" + container + "/x.zarr/g/" + name + "?" + q.Encode()
	}
}

// TestCrowd lets processes change and read arrays and a group on a service in memory,
// behind a proxy that does harm to requests.
func TestCrowd(t *testing.T) {
	_, endpoint := azuretest.Serve(t)
	arrays.CrowdWithFaults(t, endpoint, 12, places("acme", "box", "", azuretest.Key), arrays.Edges, arrays.ShardEdges, arrays.Group)
}

// TestCrowdOnAzurite is the same on Azurite, if it is installed, with and without the
// proxy.
func TestCrowdOnAzurite(t *testing.T) {
	endpoint := emulator(t)
	create(t, endpoint, "crowd")
	create(t, endpoint, "harmed")
	at, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	server := "http://" + at.Host
	arrays.Crowd(t, server, places(account, "crowd", at.Path, key), arrays.Regular, arrays.Shards, arrays.Group)
	arrays.CrowdWithFaults(t, server, 12, places(account, "harmed", at.Path, key), arrays.Edges, arrays.ShardEdges, arrays.Group)
}

// TestDates vacuums and reads while dates of answers are wrong.
func TestDates(t *testing.T) {
	_, endpoint := azuretest.Serve(t)
	arrays.Dates(t, endpoint, places("acme", "box", "", azuretest.Key))
}

// open opens the container of a fake with a key.
func open(t testing.TB, endpoint string, prefix string) *azure.Store {
	t.Helper()
	s, err := azure.Open("acme", "box", prefix, &azure.Options{Endpoint: endpoint, Key: azuretest.Key, Retry: quick})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestFake runs the conformance suite against the service as it is documented.
func TestFake(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		_, endpoint := azuretest.Serve(t)
		return open(t, endpoint, "data set/a+b%20/é.zarr")
	})
}

// TestSoakLife lets processes append, write, rechunk and move rows of one array
// on a service in memory, behind a proxy that harms requests, while they are killed
// and stopped.
func TestSoakLife(t *testing.T) {
	_, endpoint := azuretest.Serve(t)
	for seed := range fixture.Soaked(t, 2, 20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			arrays.Life(t, endpoint, 20, places("acme", "box", "", azuretest.Key), uint64(seed))
		})
	}
}

// TestStrangeBlobs lists a container with blobs whose names are no keys.
func TestStrangeBlobs(t *testing.T) {
	f, endpoint := azuretest.Serve(t)
	for _, name := range append([]string{"g/zarr.json", "g/a\tb/c/0"}, arrays.Strange...) {
		f.Blobs["in/"+name] = &azuretest.Blob{Value: []byte("v"), Tag: `"1"`}
	}
	f.Blobs["in/g/mark/"] = &azuretest.Blob{Tag: `"1"`}
	arrays.CheckStrange(t, open(t, endpoint, "in"))
}
