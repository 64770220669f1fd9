// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// TestCheckFindings damages a group in several ways, and reads the list of findings that
// scripts read.
func TestCheckFindings(t *testing.T) {
	g := t.TempDir() + "/g.zarr"
	must(t, "", "create", g, "--group")
	for _, name := range []string{"/x", "/y"} {
		must(t, "", "create", g+name, "--shape", "6", "--dtype", "int16", "--chunks", "2", "--dimension-names", "t")
		must(t, "", "write", g+name, "--value", "7")
	}
	must(t, "", "consolidate", g)
	sound := decode(t, must(t, "", "check", g, "--json"))
	if checked, _ := sound["checked"].(map[string]any); len(sound["findings"].([]any)) != 0 || checked["arrays"] != 2.0 || checked["chunks"] != 6.0 {
		t.Error(sound)
	}
	spoil(t, g+"/x/c/1", func(b []byte) []byte { return b[:1] })
	if err := os.Remove(filepath.Join(g, "y/c/2")); err != nil {
		t.Fatal(err)
	}
	// Another program changes the length of one array, and not the consolidated metadata.
	spoil(t, g+"/y/zarr.json", func(b []byte) []byte { return bytes.Replace(b, []byte("6"), []byte("5"), 1) })
	out, errs, status := execute(t, "", "check", g, "--json", "--complete")
	var kinds []string
	for _, f := range decode(t, out)["findings"].([]any) {
		f := f.(map[string]any)
		kinds = append(kinds, f["kind"].(string))
		if f["message"] == "" || f["repair"] == "" || f["path"] == "" {
			t.Error(f)
		}
		if f["kind"] == "missing" && (f["key"] != "y/c/2" || !slices.Equal(f["chunk"].([]any), []any{2.0})) {
			t.Error(f)
		}
	}
	if want := []string{"corrupt", "missing", "dimensions", "stale"}; status != 1 || errs != "" || !slices.Equal(kinds, want) {
		t.Errorf("status %d, %s, kinds %q, want %q\n%s", status, errs, kinds, want, out)
	}
	// A repair updates the consolidated metadata, and leaves all else as it is.
	out, _, status = execute(t, "", "check", g, "--json", "--repair")
	r := decode(t, out)
	if status != 1 || len(r["stale"].([]any)) != 0 || len(r["findings"].([]any)) != 2 {
		t.Errorf("status %d\n%s", status, out)
	}
}

// TestRepairKeepsCopies removes a document. The consolidated metadata has the only copy
// then, and a repair does not overwrite it.
func TestRepairKeepsCopies(t *testing.T) {
	g := t.TempDir() + "/g.zarr"
	must(t, "", "create", g, "--group")
	must(t, "", "create", g+"/x", "--shape", "6", "--dtype", "int16")
	must(t, "", "consolidate", g)
	before, err := os.ReadFile(g + "/zarr.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(g + "/x/zarr.json"); err != nil {
		t.Fatal(err)
	}
	out, _, status := execute(t, "", "check", g, "--repair", "--json")
	after, err := os.ReadFile(g + "/zarr.json")
	if err != nil || !bytes.Equal(before, after) || status != 1 || !strings.Contains(out, "forget them") {
		t.Errorf("status %d, %v, %s\n%s", status, err, after, out)
	}
}

// TestCheckOrphans counts what a rechunk leaves and what lies beyond the extent.
func TestCheckOrphans(t *testing.T) {
	node := newNode(t, "--shape", "6", "--dtype", "int16", "--chunks", "2", "--compressor", "none")
	must(t, "", "write", node, "--value", "7")
	if n := decode(t, must(t, "", "check", node, "--json"))["orphans"]; n != 0.0 {
		t.Errorf("%v orphans", n)
	}
	must(t, "", "rechunk", node, "--chunks", "3")
	r := decode(t, must(t, "", "check", node, "--json"))
	if n, _ := r["orphans"].(float64); n < 3 || r["bytes_orphaned"].(float64) < 12 {
		t.Errorf("%v orphans of %v bytes", n, r["bytes_orphaned"])
	}
	out := must(t, "", "check", node)
	if !strings.Contains(out, "does not describe (superseded, such as c/0, c/1, c/2)") || !strings.Contains(out, "varve vacuum keeps them: readers may still use it until") {
		t.Error(out)
	}
	first := r["orphaned"].([]any)[0].(map[string]any)
	if keys := fmt.Sprint(first["keys"]); keys != "[c/0 c/1 c/2]" || first["values"] != 3.0 || first["kind"] != "superseded" {
		t.Errorf("%v", first)
	}
}

// TestCheckRemnants lists an array whose document is lost. That is no finding, because a
// copy that was stopped leaves the same.
func TestCheckRemnants(t *testing.T) {
	g := t.TempDir() + "/g.zarr"
	must(t, "", "create", g, "--group")
	must(t, "", "create", g+"/a", "--shape", "6", "--dtype", "int16", "--chunks", "2")
	must(t, "", "write", g+"/a", "--value", "7")
	if r := decode(t, must(t, "", "check", g, "--json")); len(r["remnants"].([]any)) > 0 {
		t.Errorf("%v", r)
	}
	if err := os.Remove(g + "/a/zarr.json"); err != nil {
		t.Fatal(err)
	}
	if out := must(t, "", "check", g); !strings.Contains(out, g+"/a  holds values such as c/") || !strings.Contains(out, "restore its document from a copy") {
		t.Error(out)
	}
	list := decode(t, must(t, "", "check", g, "--json"))["remnants"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["path"] != g+"/a" {
		t.Errorf("%v", list)
	}
}

// TestCheckOtherKeys checks arrays whose chunks have other keys than the document names.
// All elements are fill values, and a vacuum deletes nothing.
func TestCheckOtherKeys(t *testing.T) {
	for format, change := range map[string][2]string{
		"2": {`"dimension_separator":"."`, `"dimension_separator":"/"`}, "3": {`"separator":"/"`, `"separator":"."`},
	} {
		node := newNode(t, "--zarr-format", format, "--shape", "4,2", "--dtype", "int16", "--chunks", "2,2", "--compressor", "none")
		must(t, "", "write", node, "--value", "7")
		name := node + "/zarr.json"
		if format == "2" {
			name = node + "/.zarray"
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		compact := new(bytes.Buffer)
		if err := json.Compact(compact, raw); err != nil {
			t.Fatal(err)
		}
		other := strings.Replace(compact.String(), change[0], change[1], 1)
		if other == compact.String() {
			t.Fatal(other)
		}
		overwrite(t, name, other)
		out, errs, status := execute(t, "", "check", node)
		if status != 1 || !strings.Contains(out, "no chunk is stored under the keys of the document") || !strings.Contains(errs, "other keys than the document names") {
			t.Errorf("format %s: status %d, %s%s", format, status, out, errs)
		}
		// All commands say the same of these values: no grid has been superseded.
		for _, line := range []string{"check", "info --stats", "vacuum --dry-run --grace 0s", "vacuum --dry-run --json", "vacuum --grace 0s --yes"} {
			out, _, _ := execute(t, "", append(strings.Fields(line), node)...)
			if !strings.Contains(out, "unexplained") || strings.Contains(out, "superseded") {
				t.Errorf("format %s: %s: %s", format, line, out)
			}
		}
		overwrite(t, name, string(raw))
		if out := must(t, "", "check", node); strings.Contains(out, "other keys") {
			t.Error(out)
		}
	}
}

// TestNameFirst checks that what check and vacuum print about an array comes below a line
// that begins with its name, also if there are several arrays with the same keys.
func TestNameFirst(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	names := []string{"a", "b", "s"}
	for _, name := range names {
		more := []string{"--chunks", "[[[1,6]]]"}
		if name == "s" {
			more = []string{"--chunks", "2", "--shards", "6"}
		}
		must(t, "", append([]string{"create", group + "/" + name, "--shape", "6", "--dtype", "int16"}, more...)...)
		must(t, "", "write", group+"/"+name, "--value", "3")
		if name != "s" {
			must(t, "", "compact", group+"/"+name, "--to", "max:2")
		}
	}
	below := func(out, what string, indented func(line string) bool) {
		t.Helper()
		of, count := "", map[string]int{}
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, " ") {
				of, _, _ = strings.Cut(line, "  ")
			} else if indented(line) {
				count[of]++
			}
		}
		for _, name := range names[:2] {
			if count[group+"/"+name] == 0 {
				t.Errorf("%s: nothing below %s:\n%s", what, name, out)
			}
		}
		if len(count) > len(names) || count[""] > 0 || count[group] > 0 {
			t.Errorf("%s: %v\n%s", what, count, out)
		}
	}
	for _, flags := range [][]string{{"--dry-run"}, {"--yes"}} {
		out := must(t, "", append([]string{"vacuum", group, "--grace", "0"}, flags...)...)
		below(out, "vacuum", func(line string) bool { return strings.Contains(line, " superseded, such as ") })
	}
	for _, name := range names {
		for _, chunk := range nodeChunks(t, filepath.Join(group, name)) {
			overwrite(t, chunk, "?")
		}
	}
	out, _, status := execute(t, "", "check", group)
	if status != 1 {
		t.Errorf("status %d", status)
	}
	below(out, "check", func(line string) bool { return strings.HasPrefix(line, "  chunk [") })
	out, _, _ = execute(t, "", "check", group+"/a")
	if !strings.HasPrefix(out, group+"/a  3 stored chunks, ") || strings.Count(out, "\n  chunk [") != 3 {
		t.Error(out)
	}
}

// nodeChunks returns the files of the chunks of an array.
func nodeChunks(t *testing.T, array string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(array, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && e.Name() != "zarr.json" && !strings.Contains(name, "__varve") {
			files = append(files, name)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}

// TestCheckUnread checks chunks that cannot be checked: they may be sound, so they count
// apart from damage.
func TestCheckUnread(t *testing.T) {
	g := t.TempDir() + "/g.zarr"
	must(t, "", "create", g, "--group")
	must(t, "", "create", g+"/x", "--shape", "3", "--dtype", "string", "--chunks", "1")
	for i, text := range []string{"a", strings.Repeat("long ", 1<<16), "b"} {
		must(t, "", "write", g+"/x", "--select", fmt.Sprint(i), "--value", text)
	}
	must(t, "", "check", g)
	for _, node := range []string{g, g + "/x"} {
		out, errs, status := execute(t, "", "check", node, "--limit", "64KiB", "--json")
		got := decode(t, out)
		if status != 1 || got["chunks_not_checked"] != 1.0 || got["chunks_damaged"] != 0.0 || got["faults"] != 0.0 {
			t.Errorf("%s: status %d, %s%s", node, status, out, errs)
		}
		f := got["findings"].([]any)[0].(map[string]any)
		if len(got["findings"].([]any)) != 1 || f["kind"] != "limit" || !strings.HasPrefix(f["repair"].(string), "raise --limit, and check again") {
			t.Errorf("%s: %v", node, f)
		}
	}
	// A damaged chunk is damage still.
	spoil(t, g+"/x/c/0", func(b []byte) []byte { return b[:1] })
	out, errs, _ := execute(t, "", "check", g, "--limit", "64KiB")
	if want := ": 1 fault; 1 chunk could not be checked\n"; strings.Count(out, want) != 2 || !strings.Contains(errs, ": 1 fault in 1 of 3 stored chunks; 1 chunk could not be checked") {
		t.Errorf("%s%s", out, errs)
	}
}

// TestCheckCutOff cuts documents of both formats off, also where a file system has filled
// up the rest. Every command that reads them says so, where, and what to do.
func TestCheckCutOff(t *testing.T) {
	for _, format := range []string{"3", "2"} {
		group := filepath.Join(t.TempDir(), "g.zarr")
		must(t, "", "create", group+"/a", "--shape", "4", "--dtype", "int32", "--chunks", "2", "--zarr-format", format)
		name := group + "/a/" + map[string]string{"3": "zarr.json", "2": ".zarray"}[format]
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		inString := strings.Index(string(whole), `"fill_value"`) + 3
		for _, n := range []int{10, inString, len(whole) / 2, len(strings.TrimSpace(string(whole))) - 1} {
			for _, tail := range []string{"", "\n", strings.Repeat("\x00", 20)} {
				overwrite(t, name, string(whole[:n])+tail)
				for _, args := range [][]string{{"check", group}, {"check", group + "/a"}, {"info", group + "/a"}, {"convert", group + "/a", t.TempDir() + "/b.zarr", "--to", "3"}} {
					out, errs, status := execute(t, "", args...)
					if text := out + errs; status != 1 || !strings.Contains(text, filepath.Base(name)) || !strings.Contains(text, "the document is cut off: it ends ") || !strings.Contains(text, "(byte ") ||
						!strings.Contains(text, "restore it from a copy of the store") || strings.Contains(text, "control character") {
						t.Errorf("%q, %d bytes and %q: status %d, %s", args, n, tail, status, text)
					}
				}
			}
		}
	}
}

// TestCheckContradiction changes an entry: the check prints that the statistics are
// wrong, and what makes them anew.
func TestCheckContradiction(t *testing.T) {
	g := t.TempDir() + "/g.zarr"
	must(t, "", "create", g, "--group")
	must(t, "", "create", g+"/x", "--shape", "4", "--dtype", "int16", "--chunks", "4", "--compressor", "none")
	must(t, "", "write", g+"/x", "--value", "7")
	must(t, "", "stats", g)
	ctx := t.Context()
	at, err := zarr.Locate(ctx, g+"/x/__varve/statistics", store.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	a, err := at.OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	first := selection.Box{{0, 1}}
	data := make([]byte, a.Type().Size())
	if err = a.ReadBytes(ctx, first, data); err == nil {
		data[8]++ // the minimum
		err = a.WriteBytes(ctx, first, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{g, g + "/x"} {
		out, _, status := execute(t, "", "check", node)
		if status != 1 || !strings.Contains(out, "the statistics of 1 chunk") || !strings.Contains(out, "repair: varve stats") {
			t.Errorf("status %d\n%s", status, out)
		}
	}
}
