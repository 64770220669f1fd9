// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"varve.dev/zarr/internal/test/arrays"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store/s3/s3test"
)

// TestMain lets the test binary be a program of a crowd.
func TestMain(m *testing.M) {
	if !arrays.Main() {
		arrays.NoGoroutines(m)
	}
}

// TestArrays runs the suite of arrays on versitygw.
func TestArrays(t *testing.T) {
	service := s3test.Gateway(t, false)
	bucket := service.Bucket(t)
	arrays.Run(t, func(prefix string) stepping.ObjectStore { return service.Open(t, bucket, prefix) })
}

// places returns the locations of scenes in a new bucket of a service.
func places(t *testing.T, service *s3test.Service) func(url, name string) string {
	bucket := service.Bucket(t)
	return func(url, name string) string {
		return (&s3test.Service{URL: url}).Location(bucket, "x.zarr/g/"+name)
	}
}

// TestCrowd lets processes change and read arrays and a group on versitygw.
func TestCrowd(t *testing.T) {
	service := s3test.Gateway(t, false)
	arrays.Crowd(t, service.URL, places(t, service), arrays.Edges, arrays.Regular, arrays.Shards, arrays.Group)
}

// TestCrowdWithFaults is [TestCrowd] with a proxy that does harm to requests.
func TestCrowdWithFaults(t *testing.T) {
	service := s3test.Gateway(t, false)
	arrays.CrowdWithFaults(t, service.URL, 12, places(t, service), arrays.Regular, arrays.ShardEdges, arrays.Group)
}

// TestDates vacuums and reads while dates of answers are wrong.
func TestDates(t *testing.T) {
	service := s3test.Gateway(t, false)
	arrays.Dates(t, service.URL, places(t, service))
}

// TestSoakLife lets processes append, write, rechunk and move rows of one array
// on versitygw, behind a proxy that harms requests, while they are killed and stopped.
func TestSoakLife(t *testing.T) {
	service := s3test.Gateway(t, false)
	at := places(t, service)
	for seed := range fixture.Soaked(t, 2, 20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { arrays.Life(t, service.URL, 20, at, uint64(seed)) })
	}
}

// TestStrangeObjects lists a bucket with objects whose names are no keys.
func TestStrangeObjects(t *testing.T) {
	service := s3test.Fake(t, nil)
	bucket := service.Bucket(t)
	for name, value := range map[string]string{"g/zarr.json": "v", "g/a\tb/c/0": "v", "g/mark/": "", "": "v"} {
		names := []string{name}
		if name == "" {
			names = arrays.Strange
		}
		for _, name := range names {
			name = "in/" + name
			if _, err := service.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &name, Body: strings.NewReader(value)}); err != nil {
				t.Fatalf("%q: %v", name, err)
			}
		}
	}
	arrays.CheckStrange(t, service.Open(t, bucket, "in"))
}
