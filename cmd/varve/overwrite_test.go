// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/console"
)

// TestReplaceAsks replaces nodes. Only an array is replaced by an array without asking.
// Nothing may change unless the answer is yes.
func TestReplaceAsks(t *testing.T) {
	dir := t.TempDir()
	array, group, empty, source := dir+"/a.zarr", dir+"/g.zarr", dir+"/e.zarr", fixture(t, "rect_2d.zarr")
	for _, c := range []struct {
		target string
		asks   bool
		args   []string
	}{
		{array, false, []string{"create", array, "--shape", "2", "--dtype", "int8", "--overwrite"}},
		{array, false, []string{"copy", source, array, "--overwrite"}},
		{array, true, []string{"create", array, "--group", "--overwrite"}},
		{array, true, []string{"copy", group, array, "--overwrite"}},
		{group, true, []string{"create", group, "--group", "--overwrite"}},
		{group, true, []string{"create", group, "--shape", "2", "--dtype", "int8", "--overwrite"}},
		{group, true, []string{"copy", source, group, "--overwrite"}},
		{group, true, []string{"convert", source, group, "--to", "2", "--overwrite"}},
		{empty, false, []string{"create", empty, "--group", "--overwrite"}},
		{empty, false, []string{"copy", source, empty, "--overwrite"}},
	} {
		for _, place := range []string{array, group, empty} {
			if err := os.RemoveAll(place); err != nil {
				t.Fatal(err)
			}
		}
		must(t, "", "create", array, "--shape", "3", "--dtype", "int8")
		must(t, "", "create", group, "--group")
		must(t, "", "create", group+"/b", "--shape", "3", "--dtype", "int8")
		must(t, "", "create", empty, "--group")
		if !c.asks {
			must(t, "", c.args...)
			continue
		}
		before := treeOf(t, c.target)
		_, errs, status := execute(t, "", c.args...)
		if status != 2 || !strings.Contains(errs, "--yes") {
			t.Errorf("%q: status %d, %s", c.args, status, errs)
		}
		if status := run(t.Context(), c.args, console.Streams{In: typing("n\n"), Out: new(bytes.Buffer), Err: new(bytes.Buffer)}); status != 1 {
			t.Errorf("%q, which is refused: status %d", c.args, status)
		}
		must(t, "", append(c.args, "--dry-run")...)
		if after := treeOf(t, c.target); after != before {
			t.Errorf("%q: something has changed", c.args)
		}
		must(t, "", append(c.args, "--yes")...)
	}
}

// typist is a terminal at which a person types.
type typist struct{ *strings.Reader }

func (typist) IsTerminal() bool { return true }

func typing(text string) typist { return typist{strings.NewReader(text)} }

// TestReplaceArchive replaces archives. If the copy fails, the old one must stay.
func TestReplaceArchive(t *testing.T) {
	dir := t.TempDir()
	zip, source := filepath.Join(dir, "x.zip"), fixture(t, "rect_2d.zarr")
	must(t, "", "copy", fixture(t, "rect_months.zarr"), zip)
	before, err := os.ReadFile(zip)
	if err != nil {
		t.Fatal(err)
	}
	same := func() {
		t.Helper()
		if after, err := os.ReadFile(zip); err != nil || !bytes.Equal(after, before) {
			t.Errorf("the archive was changed (%v)", err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 2 {
			t.Errorf("the folder has %v (%v)", entries, err)
		}
	}
	if _, errs, status := execute(t, "", "copy", source, zip); status != 1 || !strings.Contains(errs, "copy it to a directory and change that") {
		t.Errorf("status %d, %s", status, errs)
	}
	same()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/c/") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.FileServer(http.Dir(source)).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	if _, _, status := execute(t, "", "copy", server.URL, zip, "--overwrite"); status != 1 {
		t.Errorf("a source that cannot be read: status %d", status)
	}
	same()
	must(t, "", "copy", source, zip, "--overwrite", "--dry-run")
	same()
	must(t, "", "copy", source, zip, "--overwrite")
	must(t, "", "equal", source, zip)
	overwrite(t, filepath.Join(dir, "text.zip"), "text")
	if _, errs, status := execute(t, "", "copy", source, filepath.Join(dir, "text.zip"), "--overwrite"); status != 1 || !strings.Contains(errs, "this file is not one") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestCopyPlan checks that the plan of a copy says whether it would move, and whether
// lengths would differ.
func TestCopyPlan(t *testing.T) {
	dir := t.TempDir()
	group, other := dir+"/g.zarr", dir+"/b.zarr"
	must(t, "", "create", group, "--group")
	must(t, "", "create", group+"/a", "--shape", "3", "--dtype", "int8", "--dimension-names", "x")
	must(t, "", "create", other, "--shape", "4", "--dtype", "int8", "--dimension-names", "x")
	plan := decode(t, must(t, "", "copy", other, group+"/b", "--move", "--dry-run", "--json"))
	if plan["moved"] != true || plan["dry_run"] != true || plan["strategy"] != "copy-publish-delete" {
		t.Errorf("the plan is %v", plan)
	}
	for _, args := range [][]string{{"--dry-run"}, nil} {
		if _, errs, status := execute(t, "", append([]string{"copy", other, group + "/b"}, args...)...); status != 0 || !strings.Contains(errs, `note: `+group+`/b: dimension "x" has length`) {
			t.Errorf("copy %v: status %d, %s", args, status, errs)
		}
	}
}

// TestDestinationExists gives an existing node as the destination of every command that
// makes one. The error is of one kind, names the command and the ways out, and the node
// stays as it is.
func TestDestinationExists(t *testing.T) {
	dir := t.TempDir()
	src, dst := dir+"/src.zarr", dir+"/dst.zarr"
	for _, store := range []string{src, dst} {
		must(t, "", "create", store+"/v", "--shape", "4", "--dtype", "int16", "--dimension-names", "i", "--attributes", `{"in": "`+filepath.Base(store)+`"}`)
		must(t, "", "write", store+"/v", "--value", "3")
	}
	was := readAll(t, dst)
	for _, args := range [][]string{
		{"create", dst, "--group"},
		{"create", dst + "/v", "--shape", "4", "--dtype", "int16"},
		{"copy", src, dst},
		{"copy", src + "/v", dst + "/v"},
		{"convert", src, dst, "--to", "2"},
		{"convert", src + "/v", dst + "/v", "--to", "2"},
		{"filter", src, dst, "--where", "v>2"},
		{"filter", src, dst, "--where", "v>2", "--dry-run"},
		{"rechunk", src + "/v", dst + "/v", "--chunks", "2"},
		{"rechunk", src + "/v", dst, "--chunks", "2"},
		{"regularize", src + "/v", dst + "/v"},
		{"materialize", src, dst},
	} {
		_, errs, status := execute(t, "", append(args, "--json")...)
		failed, _ := decode(t, errs)["error"].(map[string]any)
		text, _ := failed["message"].(string)
		if status != 1 || failed["kind"] != "exists" || !strings.Contains(text, "or choose another name") ||
			!strings.Contains(text, "(--overwrite replaces it, ") && !strings.Contains(text, "(varve rm removes it, ") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
		if args[0] != "materialize" && failed["op"] != args[0] {
			t.Errorf("%q: the operation is %v", args, failed["op"])
		}
		if !maps.EqualFunc(readAll(t, dst), was, bytes.Equal) {
			t.Fatalf("%q has changed the destination", args)
		}
	}
}
