// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serveFolder serves a directory. If bare is set, missing files are forbidden. Requests
// need the query "sig=canary" and the password "canary".
func serveFolder(t *testing.T, dir string, bare bool) string {
	t.Helper()
	files := http.FileServer(http.Dir(dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(r.URL.Path)))
		switch {
		case password != "canary" || r.URL.RawQuery != "sig=canary":
			w.WriteHeader(http.StatusUnauthorized)
		case bare && err != nil:
			w.WriteHeader(http.StatusForbidden)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "//", "//me:canary@", 1)
}

// TestRemote runs commands that read from a web server, and checks that none prints a
// secret.
func TestRemote(t *testing.T) {
	dir := fixture(t, "group_consolidated.zarr")
	url := serveFolder(t, filepath.Dir(dir), true) + "/group_consolidated.zarr"
	const query = "?sig=canary"
	plain := map[int]string{}
	for _, local := range []bool{true, false} {
		for k, args := range [][]string{
			{"info", "."}, {"tree", "."}, {"ls", "."}, {"info", "./one"}, {"info", "./one", "--json"}, {"grid", "./one"}, {"cat", "./one"},
			{"cat", "./one", "--json"}, {"export", "./one", "--format", "csv"}, {"check", "./deep/two"}, {"equal", "./one", "./one"}, {"info", "--stats", "./one"},
			{"conformance", "--array_path", "./one"}, {"cat", "./one", "--select", `{"points": [[0,7],[2,-1]]}`}, {"attrs", "./one"},
		} {
			for i, arg := range args {
				switch {
				case local && strings.HasPrefix(arg, "."):
					args[i] = dir + arg[1:]
				case strings.HasPrefix(arg, "."):
					args[i] = url + arg[1:] + query
				}
			}
			out, errs, status := execute(t, "", append([]string{"--missing", "403"}, args...)...)
			if status != 0 || strings.Contains(out+errs, "canary") {
				t.Errorf("%q: status %d, %s%s", args, status, out, errs)
			}
			first, _, _ := strings.Cut(out, "\n")
			body := strings.ReplaceAll(strings.TrimPrefix(out, first), dir, "")
			if local {
				plain[k] = body
			} else if !strings.Contains(strings.Join(args, " "), "--json") && args[0] != "equal" && body != plain[k] {
				t.Errorf("%q: %s, want %s", args, body, plain[k])
			}
		}
	}
	for _, args := range [][]string{
		{"info", url + "/none" + query}, {"info", url + "?sig=wrong-canary"}, {"append", url + query, "x.npy"}, {"rm", "--yes", url + query}, {"info", url + query, url + query},
		{"create", "--group", url + query}, {"cat", url + "/one" + query, "--json", "--sel", "99999"}, {"info", "--json", strings.Replace(url, "canary", "canary%zz", 1) + query},
	} {
		out, errs, status := execute(t, "", args...)
		if status == 0 || strings.Contains(out+errs, "canary") {
			t.Errorf("%q: status %d, %s%s", args, status, out, errs)
		}
	}
	for text, want := range map[string]int{"403": 1, "": 2, "403,": 2, "200": 2, "x": 2} {
		if _, errs, status := execute(t, "", "info", url+"/none"+query, "--missing", text); status != want || status == 1 && !strings.Contains(errs, "no Zarr node") {
			t.Errorf("--missing %q: status %d, %s", text, status, errs)
		}
	}
}

// TestCopy copies, plans and moves, between directories, archives and a web server.
func TestCopy(t *testing.T) {
	dir := fixture(t, "group_consolidated.zarr")
	in := t.TempDir()
	url := serveFolder(t, filepath.Dir(dir), false) + "/group_consolidated.zarr?sig=canary"
	plan := decode(t, must(t, "", "copy", dir, in+"/a.zarr", "--dry-run", "--json"))
	if _, err := os.Stat(in + "/a.zarr"); err == nil {
		t.Error("a dry run makes a directory")
	}
	done := decode(t, must(t, "", "copy", dir, in+"/a.zarr", "--json"))
	plan["dry_run"] = false
	for name, v := range done {
		if plan[name] != v {
			t.Errorf("%s is %v, the plan was %v", name, v, plan[name])
		}
	}
	must(t, "", "copy", in+"/a.zarr", in+"/a.zip")
	must(t, "", "copy", in+"/a.zip", in+"/b.zarr/deep/b")
	must(t, "", "copy", in+"/b.zarr/deep/b", in+"/c.zarr", "--move")
	must(t, "", "copy", url, in+"/d.zarr")
	must(t, "", "copy", url, in+"/d.zarr", "--overwrite", "--yes")
	for _, name := range []string{"a.zarr", "a.zip", "c.zarr", "d.zarr"} {
		for _, array := range []string{"one", "deep/two"} {
			must(t, "", "equal", dir+"/"+array, in+"/"+name+"/"+array)
		}
	}
	if out := must(t, "", "tree", in+"/b.zarr"); strings.Contains(out, "two") {
		t.Errorf("what was moved is still there: %s", out)
	}
	if out := must(t, "", "copy", in+"/a.zarr", in+"/e.zarr", "--dry-run"); !strings.Contains(out, "nothing was changed") {
		t.Error(out)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{in + "/a.zarr", in + "/a.zarr/x"}, "lies in the node"},
		{[]string{in + "/a.zarr", in + "/a.zarr", "--overwrite"}, "the node itself"},
		{[]string{in + "/a.zarr", in + "/d.zarr"}, "--overwrite replaces it"},
		{[]string{in + "/a.zarr", in + "/a.zip"}, "written once"},
		{[]string{in + "/a.zarr", in + "/f.zip", "--move"}, "only once it is closed"},
		{[]string{in + "/none", in + "/g.zarr"}, "nothing is here"},
		{[]string{t.TempDir(), in + "/g.zarr"}, "no Zarr node here"},
		{[]string{in + "/a.zarr", url}, "can only be read"},
		{[]string{url, in + "/g.zarr", "--move"}, "can only be read"},
	} {
		out, errs, status := execute(t, "", append([]string{"copy"}, c.args...)...)
		if status != 1 || out != "" || !strings.Contains(errs, c.want) || strings.Contains(errs, "canary") {
			t.Errorf("%q: status %d, %s, want %q", c.args, status, errs, c.want)
		}
	}
	for _, name := range []string{"f.zip", "g.zarr"} {
		if _, err := os.Stat(filepath.Join(in, name)); err == nil {
			t.Errorf("%s was made for nothing", name)
		}
	}
}

// TestCreateArchive creates nodes in archives, and discards archives whose values cannot
// be read.
func TestCreateArchive(t *testing.T) {
	in := t.TempDir()
	must(t, "", "create", in+"/a.zip/x", "--shape", "4", "--dtype", "int16", "--json")
	if out := must(t, "", "tree", in+"/a.zip"); !strings.Contains(out, "x") {
		t.Error(out)
	}
	must(t, "", "create", in+"/g.zip", "--group", "--json")
	must(t, "", "info", in+"/g.zip")
	npy := "\x93NUMPY\x01\x00\x36\x00{'descr': '<i2', 'fortran_order': False, 'shape': (3,)}\n" + "\x01\x00\x02\x00"
	if err := os.WriteFile(in+"/short.npy", []byte(npy), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, errs, status := execute(t, "", "create", in+"/b.zip", "--from", in+"/short.npy"); status != 1 {
		t.Errorf("status %d, %s", status, errs)
	}
	entries, err := os.ReadDir(in)
	if len(entries) != 3 || err != nil {
		t.Errorf("%v, %v: something is left", entries, err)
	}
}
