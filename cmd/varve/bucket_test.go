// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/store/azure/azuretest"
	"varve.dev/zarr/store/gcs/gcstest"
	"varve.dev/zarr/store/s3/s3test"
)

// TestBucket runs commands on a bucket of versitygw, in the words of local folders.
func TestBucket(t *testing.T) {
	racing.Skip(t) // the server takes the time
	service := s3test.Gateway(t, false)
	bucket := service.Bucket(t)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": service.URL, "AWS_ACCESS_KEY_ID": s3test.User, "AWS_SECRET_ACCESS_KEY": s3test.Secret, "AWS_REGION": "us-east-1",
		"AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	runThere(t, "s3://"+bucket, s3test.Secret)
	// Options and credentials of a location hold, too, and are not shown.
	t.Setenv("AWS_ENDPOINT_URL", "")
	out, errs, status := execute(t, "", "info", service.Location(bucket, "g.zarr/none"))
	if status == 0 || strings.Contains(out+errs, s3test.Secret) || strings.Contains(out+errs, url.QueryEscape(s3test.Secret)) {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	repository, options, _ := strings.Cut(service.Location(bucket, "other"), "?")
	for line := range strings.Lines("icechunk init REPO?\ncreate icechunk+REPO@main/a? --shape 2 --dtype int8\nwrite icechunk+REPO@main/a? --value 7\n" +
		"icechunk tag icechunk+REPO@main? v1\nicechunk log icechunk+REPO@tag:v1?\ncheck icechunk+REPO?\nequal icechunk+REPO@main/a? icechunk+REPO@tag:v1/a?\n") {
		var args []string
		for _, word := range strings.Fields(line) {
			args = append(args, strings.ReplaceAll(strings.Replace(word, "?", "?"+options, 1), "REPO", repository))
		}
		out, errs, status := execute(t, "", args...)
		if status != 0 || strings.Contains(out+errs, s3test.Secret) {
			t.Errorf("%s: status %d, %s%s", line, status, out, errs)
		}
	}
}

// TestGoogleBucket runs the same commands on gs://.
func TestGoogleBucket(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", googleFake(t))
	runThere(t, "gs://bucket", "")
}

// TestContainer runs the same commands on az:// and abfs://.
func TestContainer(t *testing.T) {
	_, endpoint := azuretest.Serve(t)
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=acme;AccountKey="+azuretest.Key+";BlobEndpoint="+endpoint)
	runThere(t, "az://acme/box", azuretest.Key)
	must(t, "", "equal", "az://acme/box/g.zarr/a", "az://box/g.zarr/a?account_name=acme")
}

// thereLines are commands below a location, in the words of local folders. GROUP is a
// group there, THERE the location, and LOCAL a local folder.
const thereLines = `
create GROUP --group
create GROUP/a --shape 4,6 --chunks [1,3],6 --dtype int32 --dimension-names time,x
write GROUP/a --value 7
append GROUP/a LOCAL/day.raw --alone
create LOCAL/segment.zarr --shape 1,6 --chunks 1,6 --dtype int32
stitch GROUP/a LOCAL/segment.zarr --alone
resize GROUP/a --shape 6,6 --alone --yes
attrs GROUP/a set n 1
pyramid GROUP/a --levels 1 --factors x=2
stats GROUP
consolidate GROUP
info GROUP/a
tree GROUP
ls GROUP
cat GROUP/a
grid GROUP/a
export GROUP/a --format csv
check GROUP
check GROUP --digest --write-checksums LOCAL/list
check GROUP --against LOCAL/list
conformance --array_path GROUP/a
reservations GROUP
bench GROUP/a --seconds 0.1
copy GROUP/a GROUP/b
copy GROUP LOCAL/copy.zarr
copy LOCAL/copy.zarr THERE/back.zarr
copy GROUP THERE/back.zarr --sync --checksum --delete --verify --yes
copy THERE/back.zarr LOCAL/synced.zarr --sync --node a
equal GROUP/a GROUP/b
diff GROUP/a GROUP/b
equal GROUP/a THERE/back.zarr/a
compact GROUP/a --to max:4
rechunk GROUP/a --chunks 2,2 --shards 4,6
revert GROUP/a
rechunk GROUP/a --chunks 3,3 --plan LOCAL/plan.json
run LOCAL/plan.json
regularize GROUP/b
convert GROUP/b THERE/v2.zarr --to 2
convert THERE/v2.zarr --to 3
unlock GROUP/b
filter GROUP/a THERE/some.zarr --mask LOCAL/mask.raw
vacuum GROUP --grace 0s --yes
insert GROUP/a --at 0 LOCAL/day.raw --axis time --alone --unlock
drop GROUP/a --axis time --range 0:2 --alone --yes
vacuum GROUP --grace 0s --yes
rm GROUP/b --yes
virtualize GROUP -o THERE/all.vz
cat THERE/all.vz/a
materialize THERE/all.vz/a THERE/real.zarr
equal THERE/real.zarr GROUP/a
vacuum THERE/all.vz --grace 0s --yes
rm THERE/all.vz --yes
doctor THERE/probes --quick
demo THERE/demo.zarr
icechunk init THERE/repo
create icechunk+THERE/repo@main/a --shape 3 --dtype int8
write icechunk+THERE/repo@main/a --value 7
icechunk tag THERE/repo v1
copy icechunk+THERE/repo@tag:v1/a GROUP/c
icechunk import GROUP icechunk+THERE/repo@main/copied
icechunk import --reference GROUP/a icechunk+THERE/repo@main/referenced
equal icechunk+THERE/repo@main/copied/a GROUP/a
equal icechunk+THERE/repo@main/referenced GROUP/a --allow THERE
icechunk export icechunk+THERE/repo@main/copied THERE/exported.zarr
icechunk clone THERE/repo THERE/clone
icechunk clone THERE/repo LOCAL/clone
icechunk diff LOCAL/clone main main
equal icechunk+THERE/clone@main/copied THERE/exported.zarr
rm icechunk+THERE/repo@main/a --yes
icechunk log icechunk+THERE/repo@main
icechunk check THERE/repo
icechunk expire THERE/repo --before 2100-01-01 --yes
icechunk gc THERE/repo --older-than 0s --yes
icechunk stats THERE/repo
check icechunk+THERE/repo@tag:v1
`

// runThere runs all commands below a location. secret must not be shown.
func runThere(t *testing.T, place, secret string) {
	t.Helper()
	group, local := place+"/g.zarr", t.TempDir()
	if err := os.WriteFile(filepath.Join(local, "day.raw"), make([]byte, 4*6), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(local, "mask.raw"), []byte{0, 1, 1, 0, 1, 0}, 0o666); err != nil {
		t.Fatal(err)
	}
	words, ran := strings.NewReplacer("GROUP", group, "THERE", place, "LOCAL", local), map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(thereLines)) {
		args := strings.Fields(words.Replace(line))
		ran[args[0]] = true
		out, errs, status := execute(t, "", args...)
		if status != 0 || secret != "" && strings.Contains(out+errs, secret) {
			t.Errorf("%s: status %d, %s%s", line, status, out, errs)
		}
	}
	ran["serve"], ran["view"] = true, true
	if value, said := serveOnce(t, group, "a/zarr.json"); !strings.Contains(value, `"int32"`) || secret != "" && strings.Contains(value+said, secret) {
		t.Errorf("it served %s, and printed %s", value, said)
	}
	if out := must(t, "", "check", group, "--json"); !strings.Contains(out, `"found": []`) {
		t.Error(out)
	}
	if out := must(t, "", "export", group+"/a", "--format", "json"); strings.Count(out, "7") != 3*6 {
		t.Errorf("the array has %s", out)
	}
	for _, c := range newRoot().Commands() {
		if name := c.Name(); !ran[name] && !slices.Contains([]string{"completion", "help", "man", "plan", "version"}, name) {
			t.Errorf("%s was not run", name)
		}
	}
}

// googleFake starts a service with the interface of Google Cloud Storage, and returns its
// endpoint.
func googleFake(t *testing.T) string {
	_, endpoint := gcstest.Serve(t)
	return endpoint
}
