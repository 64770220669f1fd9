// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestConvertFiles converts hierarchies with files of other programs: in groups, in
// folders that are no nodes, and beside chunks.
func TestConvertFiles(t *testing.T) {
	dir := t.TempDir()
	src := dir + "/s.zarr"
	must(t, "", "create", src, "--group")
	must(t, "", "create", src+"/points", "--group")
	must(t, "", "create", src+"/a", "--shape", "4", "--dtype", "int8", "--chunks", "2")
	must(t, "[1,2,3,4]", "write", src+"/a", "--format", "json")
	files := map[string]string{
		"points/points.parquet/part.0.parquet": "PAR1", "notes.txt": "n", "a/readme": "r", "a/c/readme": "c", "folder/x/zarr.json": "{}", "T:2m": "",
	}
	for name, text := range files {
		overwrite(t, filepath.Join(src, name), text)
	}
	plan := decode(t, must(t, "", "convert", src, dir+"/d.zarr", "--to", "2", "--dry-run", "--json"))
	if plan["other_files"] != 6.0 {
		t.Errorf("%v files to copy", plan["other_files"])
	}
	if out := must(t, "", "convert", src, dir+"/d.zarr", "--to", "2"); !strings.Contains(out, "copied as they are: 6 files outside of the Zarr nodes") {
		t.Error(out)
	}
	must(t, "", "convert", src, dir+"/p.zarr", "--to", "2", "--plan", dir+"/plan")
	must(t, "", "run", dir+"/plan", "--take", "9")
	must(t, "", "run", dir+"/plan", "--publish")
	must(t, "", "convert", dir+"/d.zarr", dir+"/back.zarr", "--to", "3")
	for _, dst := range []string{"/d.zarr", "/p.zarr", "/back.zarr"} {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if text, err := os.ReadFile(filepath.Join(dir+dst, name)); err != nil || string(text) != files[name] {
				t.Errorf("%s: %s is %q, error %v", dst, name, text, err)
			}
		}
		if _, err := os.Stat(dir + dst + "/__varve"); err == nil {
			t.Errorf("%s: something is left", dst)
		}
		must(t, "", "equal", src, dir+dst)
	}
	if stored, err := filepath.Glob(dir + "/d.zarr/a/*"); err != nil || len(stored) != 5 {
		t.Errorf("the array has %q, want its document, two chunks, readme and c", stored)
	}
}

// TestConvertImages checks the note on metadata of OME-Zarr, which keep their form.
func TestConvertImages(t *testing.T) {
	dir := t.TempDir()
	for format, attributes := range map[string]string{
		"2": `{"multiscales":[{"version":"0.4","datasets":[{"path":"0"}]}]}`, "3": `{"ome":{"version":"0.5","multiscales":[]}}`,
	} {
		other := map[string]string{"2": "3", "3": "2"}[format]
		src := dir + "/" + format + ".zarr"
		must(t, "", "create", src, "--group", "--zarr-format", format, "--attributes", attributes)
		must(t, "", "create", src+"/plain", "--group")
		for _, args := range [][]string{{src, dir + "/copy" + format}, {src}} {
			args = append(append([]string{"convert"}, args...), "--to", other)
			out := must(t, "", append(args, "--dry-run")...)
			if again := must(t, "", args...); strings.Count(out, "OME-Zarr") != strings.Count(again, "OME-Zarr") {
				t.Errorf("%q: %s%s", args, out, again)
			}
			if !strings.Contains(out, "note  /: the metadata of OME-Zarr") || strings.Contains(out, "/plain") {
				t.Errorf("%q: %s", args, out)
			}
		}
		if got := must(t, "", "attrs", src, "get"); !strings.Contains(got, "multiscales") {
			t.Errorf("the attributes are %s", got)
		}
	}
}
