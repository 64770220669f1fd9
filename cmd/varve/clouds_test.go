// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/store/s3/s3test"
)

// TestSeveralClouds executes plans from one service to others, with other endpoints and
// credentials: a bucket of Google, and two of S3 whose profiles differ. The plan keeps
// endpoints and profiles, and no secrets.
func TestSeveralClouds(t *testing.T) {
	from, to := s3test.Gateway(t, false), s3test.Fake(t, nil)
	profiles := filepath.Join(t.TempDir(), "credentials")
	overwrite(t, profiles, "[default]\naws_access_key_id = nobody\naws_secret_access_key = nothing\n[ours]\naws_access_key_id = "+s3test.User+
		"\naws_secret_access_key = "+s3test.Secret+"\n[theirs]\naws_access_key_id = a\naws_secret_access_key = b\n")
	for name, value := range map[string]string{
		"AWS_SHARED_CREDENTIALS_FILE": profiles, "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1", "STORAGE_EMULATOR_HOST": googleFake(t),
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_ENDPOINT_URL": "",
	} {
		t.Setenv(name, value)
	}
	at := func(s *s3test.Service, path, profile string) string {
		return "s3://" + s.Bucket(t) + path + "?" + url.Values{"endpoint": {s.URL}, "profile": {profile}}.Encode()
	}
	source := at(from, "/a.zarr", "ours")
	must(t, "", "create", source, "--shape", "20,30", "--dtype", "int32", "--chunks", "[[7,13],10]")
	must(t, numbers(0, 600), "write", source, "--format", "json", "--select", "")
	plan := filepath.Join(t.TempDir(), "p.json")
	for name, target := range map[string]string{"google": "gs://bucket/b.zarr", "s3": at(to, "/b.zarr", "theirs")} {
		must(t, "", "rechunk", source, target, "--chunks", "5,30", "--memory", "1MB", "--plan", plan)
		if text := string(must1(os.ReadFile(plan))); !strings.Contains(text, "profile=ours") || strings.Contains(text, s3test.Secret) {
			t.Errorf("%s: %s", name, text)
		}
		must(t, "", "run", plan, "--take", "3")
		must(t, "", "run", plan, "--publish", "--ended")
		must(t, "", "equal", source, target)
		must(t, "", "check", target, "--plan", plan)
		must(t, "", "run", plan, "--task", "0/1")
		must(t, "", "run", plan, "--publish")
	}
	mirror := at(to, "/mirror.zarr", "theirs")
	must(t, "", "copy", source, mirror, "--sync", "--plan", plan)
	must(t, "", "run", plan, "--take", "3")
	must(t, "", "run", plan, "--publish")
	must(t, "", "equal", source, mirror)

	// Secrets in a location stay out of the plan, which a note says.
	secret := strings.Split(source, "?")[0] + "?" + url.Values{"endpoint": {from.URL}, "access_key_id": {s3test.User}, "secret_access_key": {s3test.Secret}}.Encode()
	_, errs, status := execute(t, "", "check", secret, "--plan", plan)
	if text := string(must1(os.ReadFile(plan))); status != 0 || strings.Contains(text, "secret") || !strings.Contains(text, "endpoint=") || !strings.Contains(errs, "no credentials") {
		t.Errorf("status %d, %s: %s", status, errs, text)
	}
}
