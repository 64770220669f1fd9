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

// TestPlace compares the places of buckets with the rules of the SDK's client.
func TestPlace(t *testing.T) {
	buckets := []string{
		"bucket", "my.bucket", "Bucket_Up", "ab", "a", "b-s3alias", "xn--a", "192.168.1.1", "bücket", "..",
		strings.Repeat("a", 63), strings.Repeat("a", 64), "abc--op-s3", "x--usw2-az1--x-s3", "a--b--usw2-az1--x-s3",
		"arn:aws:s3:us-west-2:123456789012:accesspoint:mine", "arn:aws-cn:s3:cn-north-1:123456789012:accesspoint:mine",
		"arn:aws:s3:us-west-2:123456789012:accesspoint:m_", "arn:aws:sns:us-west-2:123456789012:accesspoint:mine",
		"arn:aws:s3:us-west-2:123456789012:other:mine", "arn:aws:s3",
	}
	regions := []string{
		"us-east-1", "eu-west-1", "cn-north-1", "eusc-de-east-1", "us-gov-west-1", "us-iso-east-1", "us-isob-east-1", "eu-isoe-west-1",
		"us-isof-south-1", "xx-foo-9", "aws-global", "a_b", "a/b", "a.b",
	}
	endpoints := []string{"", "http://localhost:9000", "https://h.example/p/", "https://h.example/a%20b", "http://10.0.0.1:9", "http://[::1]:9/p", "https://h?x=1"}
	for _, bucket := range buckets {
		for _, region := range regions {
			for _, endpoint := range endpoints {
				for _, style := range []s3.Addressing{s3.AutoAddressing, s3.ByPath, s3.ByHost} {
					comparePlace(t, bucket, region, s3.Options{Endpoint: endpoint, Addressing: style})
				}
			}
		}
	}
}

// comparePlace compares the place of a bucket with that of the SDK. It leaves out what
// differs on purpose.
func comparePlace(t *testing.T, bucket, region string, o s3.Options) {
	t.Helper()
	byPath := o.Addressing == s3.ByPath || o.Addressing == s3.AutoAddressing && (o.Endpoint != "" || strings.Contains(bucket, "."))
	arn, directory := strings.HasPrefix(bucket, "arn:"), strings.HasSuffix(bucket, "--x-s3")
	p := awss3.EndpointParameters{
		Bucket: &bucket, Region: &region, ForcePathStyle: aws.Bool(byPath && !arn), DisableS3ExpressSessionAuth: aws.Bool(true),
	}
	if o.Endpoint != "" {
		p.Endpoint = &o.Endpoint
	}
	got, signing, err := s3.Place(bucket, region, o)
	want, fails := awss3.NewDefaultEndpointResolverV2().ResolveEndpoint(t.Context(), p.WithDefaults())
	switch {
	case o.Endpoint == "https://h?x=1": // the SDK takes the place of directory buckets in Amazon's service
		if err == nil {
			t.Errorf("bucket %q at %q: %q", bucket, o.Endpoint, got)
		}
		return
	case strings.ContainsAny(region, "_/."): // the SDK makes a host of it if the bucket is in the path
		if err == nil && o.Endpoint == "" && !arn {
			t.Errorf("bucket %q, region %q: %q", bucket, region, got)
		}
		return
	case directory && region == "aws-global":
		return // no such bucket
	case (directory || arn) && (strings.Contains(o.Endpoint, "10.0") || strings.Contains(o.Endpoint, "::1")):
		return // the SDK's host is none, and its path is in the wrong order
	case arn && fails != nil && strings.Contains(fails.Error(), "partition"):
		return // the ARN says where the access point is
	case (err != nil) != (fails != nil):
		t.Errorf("bucket %q, region %q, endpoint %q, style %d: %v, and the SDK: %v", bucket, region, o.Endpoint, o.Addressing, err, fails)
		return
	case err != nil:
		return
	}
	if sdk := strings.TrimSuffix(want.URI.String(), "/"); got != sdk {
		t.Errorf("bucket %q, region %q, endpoint %q, style %d: %s, and the SDK: %s", bucket, region, o.Endpoint, o.Addressing, got, sdk)
	}
	in := region
	switch {
	case arn:
		in = strings.Split(bucket, ":")[3]
	case region == "aws-global" && o.Endpoint == "":
		in = "us-east-1"
	}
	if signing != in {
		t.Errorf("bucket %q, region %q: signatures are for %q", bucket, region, signing)
	}
}
