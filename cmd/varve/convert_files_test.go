// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// TestConvertLookalikes converts arrays with files of other programs that would be chunks
// or documents of the new nodes. They are left out and counted, and the elements stay.
func TestConvertLookalikes(t *testing.T) {
	for _, c := range []struct {
		from, to string
		files    []string
	}{
		{"3", "2", []string{".zmetadata", "a/.zattrs", "a/3", "a/c.1"}},
		{"2", "3", []string{"a/.zmetadata", "a/c/1", "a/c.0"}},
	} {
		dir := t.TempDir()
		src := dir + "/s.zarr"
		must(t, "", "create", src, "--group", "--zarr-format", c.from)
		must(t, "", "create", src+"/a", "--shape", "8", "--dtype", "int8", "--chunks", "2", "--compressor", "none")
		must(t, "[1,2]", "write", src+"/a", "--select", "0:2", "--format", "json")
		for _, name := range c.files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(src, name)), 0o777); err != nil {
				t.Fatal(err)
			}
			overwrite(t, filepath.Join(src, name), "{}")
		}
		plan := decode(t, must(t, "", "convert", src, dir+"/d.zarr", "--to", c.to, "--dry-run", "--json"))
		if plan["files_left_out"] != float64(len(c.files)) || plan["other_files"] != 0.0 {
			t.Errorf("to %s: %v left out, %v copied", c.to, plan["files_left_out"], plan["other_files"])
		}
		if names, _ := plan["left_out"].([]any); len(names) != len(c.files) || !slices.Contains(c.files, fmt.Sprint(names[0])) {
			t.Errorf("to %s: %q left out, want %q", c.to, names, c.files)
		}
		out := must(t, "", "convert", src, dir+"/d.zarr", "--to", c.to)
		named := 0
		for _, name := range c.files {
			if strings.Contains(out, ": "+name) || strings.Contains(out, ", "+name) {
				named++
			}
		}
		if named != 3 || (len(c.files) > 3) != strings.Contains(out, "… 1 more") || !strings.Contains(out, fmt.Sprintf("left out: %d files", len(c.files))) {
			t.Errorf("to %s: %s", c.to, out)
		}
		if got := elementsAt(t, dir+"/d.zarr/a", ""); got != "[1,2,0,0,0,0,0,0]" {
			t.Errorf("to %s: %s", c.to, got)
		}
	}
	// The chunks of a superseded grid are Varve's own.
	node := newNode(t, "--shape", "6", "--dtype", "int8", "--chunks", "2")
	must(t, "", "write", node, "--value", "3")
	must(t, "", "rechunk", node, "--chunks", "3")
	if out := must(t, "", "convert", node, node+"-v2", "--to", "2"); strings.Contains(out, "left out") {
		t.Error(out)
	}
}

// TestConvertUnknownMembers converts documents with members that are not known. In place
// that is refused, and elsewhere they are named.
func TestConvertUnknownMembers(t *testing.T) {
	for from, documents := range map[string]map[string]string{
		"3":       {"zarr.json": `{"zarr_format":3,"node_type":"group","foo":{"must_understand":false}}`},
		"2":       {".zgroup": `{"zarr_format":2}`, "x/.zarray": `{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i4","compressor":null,"fill_value":0,"filters":null,"order":"C","foo":1}`},
		"2 group": {".zgroup": `{"zarr_format":2,"foo":1}`},
		"3 array": {"zarr.json": strings.Replace(foreignArray, "{", `{"foo":{"must_understand":false},`, 1)},
	} {
		src := t.TempDir() + "/s.zarr"
		for name, text := range documents {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(src, name)), 0o777); err != nil {
				t.Fatal(err)
			}
			overwrite(t, filepath.Join(src, name), text)
		}
		to := map[byte]string{'2': "3", '3': "2"}[from[0]]
		if _, errs, status := execute(t, "", "convert", src, "--to", to); status != 1 || !strings.Contains(errs, "foo") {
			t.Errorf("%s: status %d, %s", from, status, errs)
		}
		for name, text := range documents {
			if is, err := os.ReadFile(filepath.Join(src, name)); string(is) != text {
				t.Errorf("%s: %s is %s, error %v", from, name, is, err)
			}
		}
		if out := must(t, "", "convert", src, src+"-copy", "--to", to); !strings.Contains(out, "foo") {
			t.Errorf("%s: %s", from, out)
		}
	}
}

// TestConvertImages checks that metadata of OME-Zarr move to the version of the other
// format and back, that arrays get the names of the axes, and that a version which is not
// known stays, with a note.
func TestConvertImages(t *testing.T) {
	dir := t.TempDir()
	const axes = `"axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}],"datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1, 1.50]}]}]`
	old := `{"a":1.0,"multiscales":[{` + axes + `,"version":"0.4"}],"omero":{"channels":[]},"z":"\u00e9"}`
	newer := `{"a":1.0,"z":"\u00e9","ome":{"version":"0.5","multiscales":[{` + axes + `}],"omero":{"channels":[]}}}`
	src := dir + "/image.zarr"
	must(t, "", "create", src, "--group", "--zarr-format", "2", "--attributes", old)
	must(t, "", "create", src+"/0", "--shape", "4,4", "--dtype", "uint8")
	must(t, "", "create", src+"/labels", "--group", "--attributes", `{"labels":[]}`)
	must(t, "", "create", src+"/plain", "--group", "--attributes", `{"labels":["cells"]}`)
	for _, c := range []struct{ to, want, labels, note string }{
		{"3", newer, `{"ome":{"version":"0.5","labels":[]}}`, "become those of version 0.5"},
		{"2", `{"a":1.0,"z":"\u00e9","multiscales":[{` + axes + `,"version":"0.4"}],"omero":{"channels":[]}}`, `{"labels":[]}`, "become those of version 0.4"},
	} {
		dry := must(t, "", "convert", src, "--to", c.to, "--dry-run")
		copied := must(t, "", "convert", src, dir+"/copy"+c.to, "--to", c.to)
		for _, out := range []string{dry, copied, must(t, "", "convert", src, "--to", c.to)} {
			if !strings.Contains(out, "note  /: the metadata of OME-Zarr") || !strings.Contains(out, c.note) || strings.Contains(out, "note  /plain") {
				t.Errorf("to %s: %s", c.to, out)
			}
		}
		for _, at := range []string{src, dir + "/copy" + c.to} {
			for path, want := range map[string]string{"": c.want, "/labels": c.labels, "/plain": `{"labels":["cells"]}`} {
				if got := must(t, "", "attrs", at+path, "get", "--json"); compacted(t, got) != compacted(t, want) {
					t.Errorf("to %s: %s%s has %s, want %s", c.to, at, path, got, want)
				}
			}
			if got := must(t, "", "info", at+"/0"); !strings.Contains(got, "y") {
				t.Errorf("to %s: no names of dimensions: %s", c.to, got)
			}
			must(t, "", "check", at, "--conventions", "ome", "--fast")
		}
	}
	later := dir + "/later.zarr"
	for from, attributes := range map[string]string{"3": `{"ome":{"version":"0.7","multiscales":[]}}`, "2": `{"multiscales":[{"version":"0.3","axes":["y","x"],"datasets":[]}]}`} {
		must(t, "", "create", later+from, "--group", "--zarr-format", from, "--attributes", attributes)
		to := map[string]string{"2": "3", "3": "2"}[from]
		if out := must(t, "", "convert", later+from, "--to", to, "--json"); !strings.Contains(out, "stay") {
			t.Errorf("to %s: %s", to, out)
		}
		if got := must(t, "", "attrs", later+from, "get", "--json"); compacted(t, got) != attributes {
			t.Errorf("to %s: %s", to, got)
		}
	}
}

// compacted returns JSON without white space, as it is spelled otherwise.
func compacted(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b.String()
}

// foreignArray is the document of an array as zarr-python writes it, which both formats
// can express.
const foreignArray = `{"zarr_format":3,"node_type":"array","shape":[3],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[3]}},` +
	`"chunk_key_encoding":{"name":"v2"},"fill_value":0,"codecs":[{"name":"bytes"}]}`
