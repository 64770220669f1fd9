// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store/azure/azuretest"
	"varve.dev/zarr/store/s3/s3test"
)

// TestRepositoryOptions gives the endpoint and the credentials of each service in the
// locations alone. Every command must use them, whether icechunk+ stands before the
// location or not, and none may show a secret.
func TestRepositoryOptions(t *testing.T) {
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "STORAGE_EMULATOR_HOST", "AZURE_STORAGE_CONNECTION_STRING"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	s3 := s3test.Fake(t, nil)
	_, box := azuretest.Serve(t)
	for place, options := range map[string]url.Values{
		"s3://" + s3.Bucket(t): {"endpoint": {s3.URL}, "access_key_id": {s3test.User}, "secret_access_key": {s3test.Secret}, "region": {"us-east-1"}},
		"gs://bucket":          {"endpoint": {googleFake(t)}, "anon": {"true"}},
		"az://box":             {"endpoint": {box}, "account_name": {"acme"}, "account_key": {azuretest.Key}},
	} {
		q := "?" + options.Encode()
		local := filepath.ToSlash(t.TempDir())
		words := strings.NewReplacer("THERE", place, "QUERY", q, "LOCAL", local)
		secrets := slices.Concat(options["secret_access_key"], options["account_key"])
		for line := range strings.Lines(strings.TrimSpace(optionsLines)) {
			args := strings.Fields(words.Replace(line))
			fails := args[0] == "!"
			if fails {
				args = args[1:]
			}
			out, errs, status := execute(t, "[7]", args...)
			if (status != 0) != fails {
				t.Errorf("%s: %s: status %d, %s%s", place, line, status, out, errs)
			}
			for _, secret := range secrets {
				if strings.Contains(out+errs, secret) || strings.Contains(out+errs, url.QueryEscape(secret)) {
					t.Errorf("%s: %s shows a secret: %s%s", place, line, out, errs)
				}
			}
		}
		a, err := zarr.OpenArray(t.Context(), "icechunk+"+place+"/r@main/a"+q, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := a.Shape()[0]; n != 4 {
			t.Errorf("%s: the array has the length %d", place, n)
		}
		a.Close()
		// The library shows no secret of a location either.
		staged := new(icechunk.Staging)
		for _, missing := range []string{"/none@main/a", "/r@none/a", "/r@main/none", "/r@%zz/a"} {
			for _, opt := range []*zarr.Options{nil, {Write: true}} {
				_, err := zarr.OpenArray(icechunk.WithStaging(t.Context(), staged), "icechunk+"+place+missing+q, opt)
				if err == nil || slices.ContainsFunc(secrets, func(s string) bool {
					return strings.Contains(err.Error(), s) || strings.Contains(err.Error(), url.QueryEscape(s))
				}) {
					t.Errorf("%s%s: %v", place, missing, err)
				}
			}
		}
		staged.Close()
	}
}

// optionsLines are commands on a repository whose store is known from QUERY alone. Those
// after ! fail.
const optionsLines = `
icechunk init THERE/rQUERY
create icechunk+THERE/r@main/aQUERY --shape 3 --dtype int8
append icechunk+THERE/r@main/aQUERY --format json
info icechunk+THERE/r@main/aQUERY
tree icechunk+THERE/rQUERY
cat icechunk+THERE/r@main/aQUERY
icechunk log THERE/rQUERY
icechunk log icechunk+THERE/r@mainQUERY
icechunk tag icechunk+THERE/rQUERY v1
icechunk stats icechunk+THERE/rQUERY
icechunk check icechunk+THERE/rQUERY
icechunk export icechunk+THERE/r@main/aQUERY LOCAL/a.zarr
icechunk import LOCAL/a.zarr icechunk+THERE/r@main/bQUERY
copy icechunk+THERE/r@main/aQUERY icechunk+THERE/r@main/cQUERY
icechunk clone icechunk+THERE/r@mainQUERY LOCAL/clone
icechunk clone THERE/rQUERY THERE/cloneQUERY
! icechunk diff icechunk+THERE/rQUERY tag:v1 main --values
equal icechunk+THERE/r@main/bQUERY icechunk+file://LOCAL/clone@main/c
! info icechunk+THERE/none@main/aQUERY
! info icechunk+THERE/r@none/aQUERY
! info icechunk+THERE/r@main/noneQUERY
! append icechunk+THERE/r@main/noneQUERY --format json
! append icechunk+THERE/r@tag:v1/aQUERY --format json
! icechunk log icechunk+THERE/none@mainQUERY
! icechunk init THERE/rQUERY
`

// TestRepositoryToken reads a repository of a web server that wants a user and a query,
// which are sent with every request and never shown.
func TestRepositoryToken(t *testing.T) {
	dir, _ := repositoryWithArray(t)
	var refused atomic.Int32
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "ann" || password != "secret1" || r.FormValue("token") != "secret2" {
			refused.Add(1)
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	at := func(rest string) string { return "icechunk+http://ann:secret1@" + host + rest + "?token=secret2" }
	for _, args := range [][]string{
		{"info", at("/@main/a")}, {"cat", at("/@main/a")}, {"tree", at("")}, {"icechunk", "log", at("/@main")}, {"icechunk", "tag", at("/")},
		{"equal", at("/@main/a"), "icechunk+file://" + dir + "@main/a"}, {"icechunk", "clone", at("/@main"), t.TempDir() + "/clone"},
		{"check", at("/@main/a"), "--plan", filepath.Join(t.TempDir(), "p.json")},
		{"info", at("/@main/none")}, {"info", at("/none@main")}, {"info", at("/@none")}, {"append", at("/@main/a"), "x.npy"}, {"icechunk", "branch", at("/"), "b"},
	} {
		out, errs, status := execute(t, "", args...)
		if strings.Contains(out+errs, "secret") {
			t.Errorf("%q shows a secret: %s%s", args, out, errs)
		}
		if fails := slices.ContainsFunc(args, func(s string) bool { return strings.Contains(s, "none") }) || args[0] == "append" || args[1] == "branch"; (status != 0) != fails {
			t.Errorf("%q: status %d, %s%s", args, status, out, errs)
		}
	}
	for _, location := range []string{at("/@main/a"), at("/@none/a"), at("/@main/none")} {
		a, err := zarr.OpenArray(t.Context(), location, nil)
		if fails := strings.Contains(location, "none"); (err != nil) != fails || fails && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
		if err == nil {
			a.Close()
		}
	}
	if n := refused.Load(); n > 0 {
		t.Errorf("%d requests were sent without the user or the query", n)
	}
}

// TestRepositorySync repeats a sync into a repository, out of it, within it and between
// two. It finds everything equal, and makes no commit.
func TestRepositorySync(t *testing.T) {
	dir := folder(t)
	chained(t, dir, `
create DIR/src.zarr --group
create DIR/src.zarr/a --shape 2000 --dtype float64 --chunks 500 --compressor none
write DIR/src.zarr/a --value 7
icechunk init DIR/r
icechunk init DIR/other
copy DIR/src.zarr icechunk+file://DIR/r@main/x --sync
copy icechunk+file://DIR/r@main/x DIR/dst.zarr --sync
copy icechunk+file://DIR/r@main/x icechunk+file://DIR/other@main/x --sync
copy icechunk+file://DIR/r@main/x icechunk+file://DIR/r@main/y --sync
`)
	for _, pair := range [][2]string{{"DIR/src.zarr", "icechunk+file://DIR/r@main/x"}, {"icechunk+file://DIR/r@main/x", "DIR/dst.zarr"},
		{"icechunk+file://DIR/r@main/x", "icechunk+file://DIR/other@main/x"}, {"icechunk+file://DIR/r@main/x", "icechunk+file://DIR/r@main/y"},
	} {
		args := fieldsIn(dir, "copy "+pair[0]+" "+pair[1]+" --sync")
		note := ""
		if strings.Contains(pair[1], "@") {
			note = "note: nothing has changed in the repository, so no commit was made\n"
		}
		for range 2 {
			if out, errs, status := execute(t, "", args...); status != 0 || !strings.Contains(out, "0 new values, 0 changed values and 0 documents") || errs != note {
				t.Errorf("%q: status %d, %s%s", pair, status, out, errs)
			}
		}
	}
	// One chunk of a repository differs, by its bytes or its reference alone.
	chained(t, dir, "write icechunk+file://DIR/r@main/x/a --value 8 --select 0:3")
	for _, to := range []string{"DIR/dst.zarr", "icechunk+file://DIR/other@main/x", "icechunk+file://DIR/r@main/y"} {
		args := fieldsIn(dir, "copy icechunk+file://DIR/r@main/x "+to+" --sync")
		if out, errs, status := execute(t, "", args...); status != 0 || !strings.Contains(out, "1 changed value") {
			t.Errorf("%s: status %d, %s%s", to, status, out, errs)
		}
		must(t, "", fieldsIn(dir, "equal icechunk+file://DIR/r@main/x "+to)...)
	}
	// Equal references need no bytes.
	if err := os.RemoveAll(dir + "/r/chunks"); err != nil {
		t.Fatal(err)
	}
	do(t, "", fieldsIn(dir, "copy icechunk+file://DIR/r@main/x icechunk+file://DIR/r@main/y --sync")...)
	if _, _, status := execute(t, "", fieldsIn(dir, "copy icechunk+file://DIR/r@main/x DIR/dst.zarr --sync")...); status == 0 {
		t.Error("chunks that are gone are equal to others")
	}
}
