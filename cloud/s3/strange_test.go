// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"varve.dev/zarr/cloud/s3/s3test"
	"varve.dev/zarr/store/storetest"
)

// TestStrangeObjects lists a bucket with objects whose names are no keys.
func TestStrangeObjects(t *testing.T) {
	service := s3test.Fake(t, nil)
	bucket := service.Bucket(t)
	for name, value := range map[string]string{"g/zarr.json": "v", "g/a\tb/c/0": "v", "g/mark/": "", "": "v"} {
		names := []string{name}
		if name == "" {
			names = storetest.Strange
		}
		for _, name := range names {
			name = "in/" + name
			if _, err := service.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &name, Body: strings.NewReader(value)}); err != nil {
				t.Fatalf("%q: %v", name, err)
			}
		}
	}
	storetest.CheckStrange(t, service.Open(t, bucket, "in"))
}
