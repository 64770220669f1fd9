// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/s3"
	"varve.dev/zarr/store/s3/s3test"
)

// TestLocation opens locations, and reads what is there.
func TestLocation(t *testing.T) {
	service := s3test.Fake(t, nil)
	bucket := service.Bucket(t)
	s := service.Open(t, bucket, "")
	for _, name := range []string{"a b/x.zarr/t2m/zarr.json", "plain/node/zarr.json", "zarr.json", "a%20b/zarr.json"} {
		put(t, s, store.MustKey(name), name)
	}
	for path, want := range map[string][3]string{
		"a b/x.zarr/t2m":  {"t2m", "t2m/zarr.json", "a b/x.zarr/t2m/zarr.json"},
		"a b/x.zarr/":     {"", "t2m/zarr.json", "a b/x.zarr/t2m/zarr.json"},
		"plain/node":      {"", "zarr.json", "plain/node/zarr.json"},
		"":                {"", "zarr.json", "zarr.json"},
		"a%20b":           {"", "zarr.json", "a%20b/zarr.json"},
		".zarr/plain/../": {"", "", ""},
	} {
		opened, at, err := store.OpenLocation(t.Context(), service.Location(bucket, path), store.ReadOnly)
		if want[2] == "" {
			if err == nil {
				t.Errorf("%q was opened", path)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		if at.String() != want[0] {
			t.Errorf("%q: the node is %q, want %q", path, at, want[0])
		}
		holds(t, opened, store.MustKey(want[1]), want[2])
	}
}

// TestBadLocation checks that locations with mistakes are refused without a secret in the
// message.
func TestBadLocation(t *testing.T) {
	for _, location := range []string{
		"s3://", "s3:///x", "s3://user:hidden@bucket/x", "s3://b/x?secret_access_key=hidden&nonsense=hidden",
		"s3://b/x?anon=hidden", "s3://b/x?addressing_style=hidden", "s3://b/x?endpoint=hidden", "s3://b/x?%zz=hidden",
		"s3://b/x?endpoint=http://user:hidden@host", "s3://b/a//b", "s3://b/../x",
		"s3://AKIA:hidden/hidden//hidden@bucket/x", "s3://AKIA:ab/hidden@bucket/../x", "s3://AKIA:hidden/a@bucket/x.zip", "s3://b/x?hidden+9",
	} {
		s, _, err := s3.OpenLocation(t.Context(), location, store.ReadOnly)
		if err == nil || s != nil || !errors.Is(err, store.ErrInvalidKey) {
			t.Errorf("%s: error is %v", location, err)
		}
		if err != nil && strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: the error shows a secret: %v", location, err)
		}
	}
}

// TestLocationErrors checks what errors of locations say.
func TestLocationErrors(t *testing.T) {
	for location, part := range map[string]string{
		"s3://":                          "names no bucket; its form is s3://bucket/path",
		"s3:///x":                        "names no bucket; its form is s3://bucket/path",
		"s3://b//x":                      "empty segment",
		"s3://b/x//?anon=true":           "empty segment",
		"s3://b/a//x.zarr":               "empty segment",
		"s3://b/x?regio=a":               "did you mean region?",
		"s3://b/x?aws_acces_key_id=a":    "did you mean access_key_id?",
		"s3://b/x?access_key_id=a":       "secret_access_key is missing",
		"s3://b/x?secret_access_key=a":   "access_key_id is missing",
		"s3://b/x?session_token=a":       "access_key_id and secret_access_key are missing",
		"s3://b/x?key=a&session_token=a": "secret_access_key is missing",
	} {
		_, _, err := s3.OpenLocation(t.Context(), location, store.ReadOnly)
		if !errors.Is(err, store.ErrInvalidKey) || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "invalid key") {
			t.Errorf("%s: %v, want %q", location, err, part)
		}
	}
}

// TestEndpointOf compares the endpoint of a configuration with that of the SDK's client.
func TestEndpointOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	const text = `[default]
endpoint_url = http://files
[profile s3]
endpoint_url = http://profile
services = local
[profile ignoring]
ignore_configured_endpoint_urls = true
services = local
[services local]
s3 =
  endpoint_url = http://service
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file+"-none")
	names := []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"}
	seen := map[string]bool{}
	for _, profile := range []string{"default", "s3", "ignoring"} {
		for set := range 1 << len(names) {
			for i, name := range names {
				t.Setenv(name, []string{"http://all", "http://s3", "true"}[i])
				if set>>i&1 == 0 {
					if err := os.Unsetenv(name); err != nil { // Setenv restores it
						t.Fatal(err)
					}
				}
			}
			cfg, err := config.LoadDefaultConfig(t.Context(), config.WithSharedConfigProfile(profile))
			if err != nil {
				t.Fatal(err)
			}
			want := aws.ToString(awss3.NewFromConfig(cfg).Options().BaseEndpoint)
			if got := s3.EndpointOf(t.Context(), cfg); got != want {
				t.Errorf("profile %s, variables %03b: the endpoint is %q, want %q", profile, set, got, want)
			}
			seen[want] = true
		}
	}
	for _, want := range []string{"", "http://all", "http://files", "http://s3", "http://service"} {
		if !seen[want] {
			t.Errorf("no case has the endpoint %q", want)
		}
	}
}
