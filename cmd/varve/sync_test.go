// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSyncCommand makes a folder equal to another one again and again.
func TestSyncCommand(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src.zarr"), filepath.Join(dir, "dst.zarr")
	must(t, "", "create", src, "--group")
	for _, name := range []string{"a", "g/b"} {
		must(t, "", "create", src+"/"+name, "--shape", "6", "--dtype", "int32", "--chunks", "2", "--dimension-names", "x", "--compressor", "none")
		must(t, "", "write", src+"/"+name, "--value", "5")
	}
	if out := must(t, "", "copy", src, dst, "--sync", "--dry-run"); !strings.Contains(out, "6 new values") || !strings.Contains(out, "nothing was changed") {
		t.Error(out)
	}
	if _, err := os.Stat(dst); err == nil {
		t.Error("a dry run has made the folder")
	}
	if out := must(t, "", "copy", src, dst, "--sync", "--verify"); !strings.Contains(out, "4 documents") || !strings.Contains(out, "verified  6 values: 48 B") {
		t.Error(out)
	}
	must(t, "", "equal", src, dst)
	must(t, "", "append", src+"/a", "--alone", writeInput(t, dir, []byte("\x01\x00\x00\x00\x02\x00\x00\x00")))
	must(t, "", "rm", src+"/g/b", "--yes")
	var p struct {
		Operation, Strategy, Fingerprint      string
		Chunks_kept, Chunks_copied            int64
		Chunks_rewritten, Documents_written   int64
		Nodes_left, Nodes_removed             []string
		Stages                                []struct{ Name string }
		Values_verified, Values_other, Arrays int64
	}
	planned := func(args ...string) {
		t.Helper()
		p.Nodes_left, p.Nodes_removed = nil, nil
		out := must(t, "", append([]string{"copy", src, dst, "--sync", "--json", "--checksum"}, args...)...)
		if err := json.Unmarshal([]byte(out), &p); err != nil {
			t.Fatal(err, out)
		}
	}
	if planned("--dry-run"); p.Operation != "copy" || p.Strategy != "copy-publish-delete" || p.Chunks_kept != 3 || p.Chunks_copied != 1 || p.Chunks_rewritten != 0 ||
		p.Documents_written != 1 || len(p.Nodes_left) != 1 || p.Nodes_left[0] != "g/b" || p.Fingerprint == "" || len(p.Stages) != 2 {
		t.Errorf("%+v", p)
	}
	if planned(); p.Chunks_copied != 1 || p.Documents_written != 1 {
		t.Errorf("%+v", p)
	}
	must(t, "", "equal", src+"/a", dst+"/a")
	must(t, "", "info", dst+"/g/b")
	// It asks before it deletes, and only if there is something to delete.
	if _, errs, status := execute(t, "", "copy", src, dst, "--sync", "--delete"); status != 2 || !strings.Contains(errs, "--yes") || !strings.Contains(errs, "g/b") {
		t.Errorf("status %d, %s", status, errs)
	}
	if planned("--delete", "--yes", "--verify"); len(p.Nodes_removed) != 1 || p.Values_verified != 4 {
		t.Errorf("%+v", p)
	}
	if _, _, status := execute(t, "", "info", dst+"/g/b"); status != 1 {
		t.Errorf("status %d for a deleted node", status)
	}
	must(t, "", "copy", src, dst, "--sync", "--delete")
}

// TestSyncIntoDamaged syncs into a mirror with a damaged document. The rest is synced,
// and the message names the document and the flag that replaces it.
func TestSyncIntoDamaged(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src.zarr"), filepath.Join(dir, "dst.zarr")
	for _, name := range []string{"a", "b"} {
		must(t, "", "create", src+"/"+name, "--shape", "4", "--dtype", "int32", "--chunks", "2")
		must(t, "", "write", src+"/"+name, "--value", "1")
	}
	must(t, "", "copy", src, dst)
	must(t, "", "write", src+"/b", "--value", "2", "--yes")
	overwrite(t, filepath.Join(dst, "a", "zarr.json"), `{"zarr`)
	_, errs, status := execute(t, "", "copy", src, dst, "--sync")
	if status != 1 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, `"/a" (zarr.json: `) || !strings.Contains(errs, "; --delete replaces nodes of the destination") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", "equal", src+"/b", dst+"/b")
	must(t, "", "copy", src, dst, "--sync", "--delete", "--yes")
	must(t, "", "diff", src, dst)
}

// writeInput writes a file of input.
func writeInput(t *testing.T, dir string, data []byte) string {
	t.Helper()
	name := filepath.Join(dir, "input.raw")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestSyncSelection syncs by nodes and by time.
func TestSyncSelection(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src.zarr"), filepath.Join(dir, "dst.zarr")
	for _, name := range []string{"a", "g/b", "g/c"} {
		must(t, "", "create", src+"/"+name, "--shape", "4", "--dtype", "int32", "--chunks", "2", "--compressor", "none")
		must(t, "", "write", src+"/"+name, "--value", "5")
	}
	must(t, "", "copy", src, dst, "--sync", "--node", "*/b")
	if out := must(t, "", "ls", dst); strings.Contains(out, "a") && !strings.Contains(out, "g") {
		t.Error(out)
	}
	must(t, "", "equal", src+"/g/b", dst+"/g/b")
	if _, _, status := execute(t, "", "info", dst+"/a"); status != 1 {
		t.Error("a was copied, too")
	}
	must(t, "", "copy", src, dst, "--sync")
	must(t, "", "write", src+"/a", "--value", "7", "--yes")
	must(t, "", "copy", src, dst, "--sync", "--newer-than", "2100-01-01")
	if _, _, status := execute(t, "", "equal", src+"/a", dst+"/a"); status != 1 {
		t.Error("a value before the time was copied")
	}
	must(t, "", "copy", src, dst, "--sync", "--newer-than", "1h")
	must(t, "", "equal", src, dst)
}

// TestSyncUsage checks flags that contradict each other.
func TestSyncUsage(t *testing.T) {
	src := fixture(t, "rect_2d.zarr")
	dst := filepath.Join(t.TempDir(), "copy.zarr")
	for args, want := range map[string]string{
		"--delete": "needs --sync", "--verify": "needs --sync", "--newer-than 1h": "needs --sync", "--node a": "needs --sync", "--checksum": "needs --sync",
		"--sync --overwrite": "exclude each other", "--sync --move": "exclude each other", "--sync --delete --node a": "exclude each other",
		"--sync --newer-than yesterday": "is not a date", "--sync --node=": "node",
	} {
		out, errs, status := execute(t, "", append([]string{"copy", src, dst}, strings.Fields(args)...)...)
		if status != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s%s", args, status, out, errs)
		}
	}
	if _, errs, status := execute(t, "", "copy", src, dst+".zip", "--sync"); status != 2 || !strings.Contains(errs, "archive") {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, errs, status := execute(t, "", "copy", src, dst, "--sync", "--node", "["); status != 1 || !strings.Contains(errs, "pattern") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestSyncGoesOn repeats a copy that has left values and its note.
func TestSyncGoesOn(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src.zarr"), filepath.Join(dir, "dst.zarr")
	must(t, "", "create", src, "--shape", "4", "--dtype", "int32", "--chunks", "2", "--compressor", "none")
	must(t, "", "write", src, "--value", "5")
	must(t, "", "copy", src, dst, "--sync")
	note := filepath.Join(dst, "__varve", "unfinished.json")
	overwrite(t, note, "{}")
	must(t, "", "copy", src, dst, "--sync")
	if _, err := os.Stat(note); err == nil {
		t.Error("the note is still there")
	}
	must(t, "", "equal", src, dst)
}

// TestCopyOfSuperseded copies an array with chunks of a former grid: both kinds of copies
// leave them out and say so, a move takes them along.
func TestCopyOfSuperseded(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "src.zarr")
	must(t, "", "create", src, "--shape", "12", "--dtype", "int32", "--chunks", "2", "--compressor", "none")
	must(t, "", "write", src, "--value", "5")
	must(t, "", "rechunk", src, "--chunks", "6")
	note := "not copied: 6 values of SRC that no document describes"
	for _, args := range [][]string{{"--dry-run"}, {}, {"--sync"}} {
		out := must(t, "", append([]string{"copy", src, filepath.Join(dir, strings.Join(args, "")+"to.zarr")}, args...)...)
		if !strings.Contains(out, note) {
			t.Errorf("%q: %s", args, out)
		}
	}
	var p struct{ Values, Values_other int64 }
	out := must(t, "", "copy", src, filepath.Join(dir, "json.zarr"), "--json")
	if err := json.Unmarshal([]byte(out), &p); err != nil || p.Values != 2 || p.Values_other != 6 {
		t.Errorf("%+v, %v: %s", p, err, out)
	}
	if out := must(t, "", "copy", src, filepath.Join(dir, "moved.zarr"), "--move"); strings.Contains(out, "not copied") || !strings.Contains(out, "8 stored values") {
		t.Error(out)
	}
}

// TestSyncAgain checks that values whose times do not tell whether they have changed are
// no changed ones. Between folders there are none.
func TestSyncAgain(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src.zarr"), filepath.Join(dir, "dst.zarr")
	must(t, "", "create", src, "--shape", "4", "--dtype", "int32", "--chunks", "2", "--compressor", "none")
	must(t, "", "write", src, "--value", "5")
	must(t, "", "copy", src, dst, "--sync")
	if out := must(t, "", "copy", src, dst, "--sync"); !strings.Contains(out, "0 changed values") || !strings.Contains(out, "kept      2 values") {
		t.Error(out)
	}
}

// TestSyncOfRoot checks that messages about the nodes themselves name them.
func TestSyncOfRoot(t *testing.T) {
	dir := t.TempDir()
	src, dst, group := filepath.Join(dir, "src.zarr"), filepath.Join(dir, "dst.zarr"), filepath.Join(dir, "g.zarr")
	must(t, "", "create", src, "--shape", "4", "--dtype", "int32", "--chunks", "2")
	must(t, "", "create", dst, "--shape", "4", "--dtype", "int32", "--chunks", "4")
	must(t, "", "create", group, "--group")
	_, errs, status := execute(t, "", "copy", group, dst, "--sync")
	if status != 1 || !strings.HasSuffix(strings.TrimSpace(errs), "--delete replaces it") {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, errs, status = execute(t, "", "copy", group, dst, "--sync", "--delete"); status != 2 || !strings.Contains(errs, "deletes 1 node: / in "+dst) {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, errs, status = execute(t, "", "copy", src, dst, "--sync", "--plan", filepath.Join(dir, "plan.json")); status == 0 || !strings.Contains(errs, `"/" has chunks`) {
		t.Errorf("status %d, %s", status, errs)
	}
	if out := must(t, "", "copy", src, dst, "--sync"); !strings.Contains(out, "anew      1 node: /\n") {
		t.Error(out)
	}
}

// TestSyncDamage mirrors groups in which something else is in the place of a document. It
// asks about deletions, copies the rest, prints what it did, and fails.
func TestSyncDamage(t *testing.T) {
	for document, format := range map[string]string{"zarr.json": "3", ".zarray": "2", ".zattrs": "2"} {
		dir := t.TempDir()
		src, dst := dir+"/src.zarr", dir+"/dst.zarr"
		must(t, "", "create", src, "--group", "--zarr-format", format)
		for _, name := range []string{"bad", "ok"} {
			must(t, "", "create", src+"/"+name, "--shape", "4", "--dtype", "int8", "--chunks", "2", "--zarr-format", format, "--attributes", `{"x": 1}`)
			must(t, "", "write", src+"/"+name, "--value", "1")
		}
		must(t, "", "copy", "--sync", src, dst)
		must(t, "", "write", src+"/ok", "--value", "2", "--yes")
		was := treeOf(t, dst+"/bad")
		if err := errors.Join(os.Remove(src+"/bad/"+document), os.Mkdir(src+"/bad/"+document, 0o777)); err != nil {
			t.Fatal(err)
		}
		out, errs, status := execute(t, "", "copy", "--sync", "--delete", src, dst) // there is nothing to delete
		if status != 1 || !strings.Contains(errs, document+" is a directory") || !strings.Contains(errs, "/bad") || !strings.Contains(out, "2 changed values") {
			t.Errorf("%s: status %d, %s%s", document, status, out, errs)
		}
		if is := treeOf(t, dst+"/bad"); is != was {
			t.Errorf("%s: there is %s, want %s", document, is, was)
		}
		must(t, "", "equal", src+"/ok", dst+"/ok")
		overwrite(t, src+"/zarr.json", "{")
		if _, errs, status := execute(t, "", "copy", "--sync", "--delete", "--yes", src, dst); status != 1 || !strings.Contains(errs, "nothing is changed") {
			t.Errorf("%s: status %d, %s", document, status, errs)
		}
	}
}
