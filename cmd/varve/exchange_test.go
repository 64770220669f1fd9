// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/internal/test/filetest"
)

// chained runs commands that may tell of a commit. REPO, DIR and FILES in them are the
// places of a repository, a folder and the files of tests.
func chained(t *testing.T, dir string, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			do(t, "", fieldsIn(dir, line)...)
		}
	}
}

// fieldsIn returns the arguments of a line in which places have short names.
func fieldsIn(dir, line string) []string {
	r := strings.NewReplacer("REPO", "icechunk+file://"+dir+"/repo", "DIR", dir)
	return strings.Fields(r.Replace(line))
}

// folder returns a temporary folder with slashes.
func folder(t *testing.T) string { t.Helper(); return filepath.ToSlash(t.TempDir()) }

// TestIcechunkImport puts hierarchies of both formats into repositories, which are made,
// and takes them out again.
func TestIcechunkImport(t *testing.T) {
	dir := folder(t)
	chained(t, dir, `
		create DIR/v3.zarr --group
		create DIR/v3.zarr/g/a --shape 5,4 --dtype int32 --chunks [[2,3],[4]]
		write DIR/v3.zarr/g/a --value 7
		attrs DIR/v3.zarr/g/a set units "K"
		consolidate DIR/v3.zarr
		create DIR/v2.zarr --group --zarr-format 2
		create DIR/v2.zarr/b --shape 6 --dtype float32 --chunks 2 --zarr-format 2
		write DIR/v2.zarr/b --value 1.5
		icechunk import DIR/v3.zarr DIR/repo -m three
		icechunk import DIR/v2.zarr REPO@main/two -m two
		icechunk import DIR/v3.zarr/g/a DIR/single
		icechunk export DIR/single DIR/single.zarr
		icechunk export DIR/repo DIR/out.zarr
		icechunk export REPO@main/two DIR/out2.zarr
		icechunk export REPO@main/g/a DIR/a.zarr
	`)
	if log := must(t, "", "icechunk", "log", dir+"/repo"); strings.Count(log, "\n") != 3 || !strings.Contains(log, "  three\n") {
		t.Error(log)
	}
	must(t, "", fieldsIn(dir, "equal DIR/v3.zarr/g DIR/out.zarr/g")...)
	must(t, "", fieldsIn(dir, "equal DIR/v3.zarr/g/a DIR/a.zarr")...)
	must(t, "", fieldsIn(dir, "equal DIR/v3.zarr/g/a DIR/single.zarr")...)
	must(t, "", fieldsIn(dir, "equal DIR/v2.zarr/b DIR/out2.zarr/b")...)
	for name, want := range map[string]bool{"out.zarr": true, "out2.zarr": true, "a.zarr": false} {
		text, err := os.ReadFile(dir + "/" + name + "/zarr.json")
		if err != nil || strings.Contains(string(text), `"consolidated_metadata"`) != want {
			t.Errorf("%s: %s (%v)", name, text, err)
		}
	}
	before := treeOf(t, dir)
	plan := decode(t, must(t, "", fieldsIn(dir, "icechunk import DIR/v3.zarr REPO@main/again --dry-run --json")...))
	if plan["arrays"] != 1.0 || plan["values"] != 2.0 {
		t.Error(plan)
	}
	must(t, "", fieldsIn(dir, "icechunk export DIR/repo DIR/none.zarr --dry-run")...)
	if treeOf(t, dir) != before {
		t.Error("dry runs have changed something")
	}
	refusesAll(t, dir, map[string]string{
		strings.Join(fieldsIn(dir, "icechunk import DIR/v2.zarr REPO@main/two"), " "):         "already",
		strings.Join(fieldsIn(dir, "icechunk import DIR/none.zarr REPO@main/three"), " "):     "none.zarr",
		strings.Join(fieldsIn(dir, "icechunk import DIR/v2.zarr REPO@tag:v1"), " "):           "write to a branch",
		strings.Join(fieldsIn(dir, "icechunk export DIR/repo REPO@main/x"), " "):              "varve copy",
		strings.Join(fieldsIn(dir, "icechunk export DIR/repo DIR/out.zarr"), " "):             "already",
		strings.Join(fieldsIn(dir, "icechunk import DIR/v2.zarr DIR/other --dry-run"), " "):   "varve icechunk init",
		strings.Join(fieldsIn(dir, "virtualize DIR/x.nc -o REPO@main/x --append"), " "):       "one commit",
		strings.Join(fieldsIn(dir, "icechunk import --reference DIR/v2.zarr REPO@main"), " "): "choose another path",
	})
}

// TestIcechunkPlace makes no repository within another one, and none if an import cannot
// begin.
func TestIcechunkPlace(t *testing.T) {
	dir, main := repositoryWithArray(t)
	up := filepath.ToSlash(filepath.Dir(dir))
	must(t, "", "create", up+"/v3.zarr/a", "--shape", "3", "--dtype", "int8")
	files := filepath.ToSlash(filetest.Copied(t, "../../virtual/testdata/monthly_one_chunk_01.nc"))
	for line, want := range map[string]string{
		"icechunk init DIR/repo/sub":                                            "repo@main/sub",
		"icechunk init file://DIR/repo/a/b":                                     "repo@main/a/b",
		"icechunk clone DIR/repo DIR/repo/in":                                   "repo@main/in",
		"icechunk import DIR/v3.zarr icechunk+file://DIR/repo/two":              "repo@main/two",
		"icechunk import DIR/none.zarr DIR/new":                                 "none.zarr",
		"icechunk import DIR/repo DIR/new":                                      "no Zarr node here",
		"icechunk import DIR/v3.zarr icechunk+file://DIR/new@dev":               "branch main only",
		"icechunk import --reference DIR/none.nc DIR/new":                       "none.nc",
		"icechunk import DIR/v3.zarr icechunk+file://DIR/new@dev/a/b --dry-run": "branch main only",
	} {
		before := treeOf(t, dir)
		_, errs, status := execute(t, "", strings.Fields(strings.ReplaceAll(line, "DIR", up))...)
		if _, err := os.Stat(up + "/new"); status == 0 || !strings.Contains(errs, want) || err == nil || treeOf(t, dir) != before {
			t.Errorf("%s: status %d, %s, want %s", line, status, errs, want)
		}
	}
	do(t, "", "icechunk", "import", "--reference", files+"/monthly_one_chunk_01.nc", up+"/new")
	do(t, "", "icechunk", "import", up+"/v3.zarr", "icechunk+file://"+up+"/new2@branch:main/three")
	must(t, "", "check", main)
}

// TestIcechunkReference makes foreign files, manifests, references of kerchunk and Zarr
// arrays virtual chunks, in one commit each. Joins of unequal files have a rectilinear
// grid, and chunks whose padding is in the way are copied.
func TestIcechunkReference(t *testing.T) {
	dir := folder(t)
	files := filepath.ToSlash(filetest.Copied(t, "../../virtual/testdata/*_0[12].nc"))
	lines := strings.ReplaceAll(`
		icechunk init DIR/repo
		virtualize FILES/monthly_one_chunk_01.nc FILES/monthly_one_chunk_02.nc --concat time -o REPO@main/months -m months
		virtualize FILES/monthly_one_chunk_01.nc FILES/monthly_one_chunk_02.nc --concat time -o FILES/months.vz
		virtualize FILES/yearly_padded_01.nc FILES/yearly_padded_02.nc --concat time --copy-padded -o REPO@main/padded
		virtualize FILES/yearly_padded_01.nc FILES/yearly_padded_02.nc --concat time --copy-padded -o FILES/padded.vz
		virtualize FILES/monthly_one_chunk_01.nc -o FILES/one.json
		copy FILES/months.vz FILES/plain.zarr
		icechunk import --reference FILES/months.vz REPO@main/manifest
		icechunk import --reference FILES/padded.vz REPO@main/manifest2
		icechunk import --reference FILES/one.json REPO@main/kerchunk
		icechunk import --reference FILES/plain.zarr REPO@main/plain
		icechunk import --reference FILES/monthly_one_chunk_01.nc REPO@main/file
		icechunk import FILES/months.vz REPO@main/copied
		copy REPO@main/manifest REPO@main/within
	`, "FILES", files)
	chained(t, dir, lines)
	for name, of := range map[string]string{
		"months": "months.vz", "manifest": "months.vz", "plain": "months.vz", "within": "months.vz", "padded": "padded.vz", "manifest2": "padded.vz",
		"kerchunk": "monthly_one_chunk_01.nc", "file": "monthly_one_chunk_01.nc", "copied": "months.vz",
	} {
		at := strings.ReplaceAll("REPO@main/"+name+" ", "REPO", "icechunk+file://"+dir+"/repo")
		must(t, "", "equal", strings.TrimSpace(at), files+"/"+of, "--allow", files)
		if name == "copied" {
			must(t, "", "equal", strings.TrimSpace(at), files+"/"+of)
			continue
		}
		if _, errs, status := execute(t, "", "equal", strings.TrimSpace(at), files+"/"+of); status == 0 || !strings.Contains(errs, "--allow") {
			t.Errorf("%s is read without permission: %s", name, errs)
		}
	}
	// The copies without padding are in the repository; the manifest may be deleted.
	must(t, "", "rm", files+"/padded.vz", "--yes")
	for _, name := range []string{"padded", "manifest2"} {
		must(t, "", fieldsIn(dir, "check REPO@main/"+name+" --allow "+files)...)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(files+"/monthly_one_chunk_02.nc", later, later); err != nil {
		t.Fatal(err)
	}
	if _, errs, status := execute(t, "", fieldsIn(dir, "export REPO@main/months/t --format json --allow "+files)...); status == 0 || !strings.Contains(errs, "not the version") {
		t.Errorf("a file that has changed is read: %s", errs)
	}
}

// TestIcechunkReferenceRefused names what cannot be in a repository, and commits nothing.
func TestIcechunkReferenceRefused(t *testing.T) {
	dir := folder(t)
	files := filepath.ToSlash(filetest.Copied(t, "../../virtual/testdata/*.[hgn]*"))
	must(t, "", "icechunk", "init", dir+"/repo")
	main := "icechunk+file://" + dir + "/repo@main"
	refusesAll(t, dir, map[string]string{
		"virtualize " + files + "/h5_unsupported.h5 -o " + main:                                                                                 "--without",
		"virtualize " + files + "/grib_simple.grib2 -o " + main:                                                                                 "varve.grib2",
		"virtualize " + files + "/yearly_padded_01.nc " + files + "/yearly_padded_02.nc --concat time -o " + main:                               "--copy-padded",
		"virtualize " + files + "/nc3_empty.nc -o " + main:                                                                                      "no arrays",
		"virtualize " + files + "/monthly_one_chunk_01.nc -o icechunk+file://" + dir + "/repo@tag:v1/a":                                         "v1",
		"virtualize " + files + "/monthly_one_chunk_01.nc -o icechunk+file://" + dir + "/none@main/a":                                           "nothing is here",
		"virtualize --experimental encoded-shapes " + files + "/yearly_padded_01.nc " + files + "/yearly_padded_02.nc --concat time -o " + main: "longer than their edges",
	})
	before := treeOf(t, dir)
	made := decode(t, must(t, "", "virtualize", files+"/monthly_one_chunk_01.nc", "-o", main, "--dry-run", "--json"))
	if made["chunks"] != 1.0 || made["dry_run"] != true || treeOf(t, dir) != before {
		t.Error(made)
	}
}

// TestIcechunkClone clones a repository and a branch of it.
func TestIcechunkClone(t *testing.T) {
	dir := folder(t)
	chained(t, dir, `
		icechunk init DIR/repo
		create REPO@main/a --shape 3 --dtype int8 --chunks [[3]] -m first
		icechunk branch DIR/repo dev
		write REPO@dev/a --value 7 -m second
		icechunk clone DIR/repo DIR/whole
		icechunk clone REPO@dev DIR/dev --depth 1
		icechunk clone DIR/repo DIR/recent --since 2999-01-01T00:00
	`)
	for name, want := range map[string]string{"whole@dev": "[7,7,7]", "whole@main": "[0,0,0]", "dev@dev": "[7,7,7]", "dev@main": "[7,7,7]", "recent@main": "[0,0,0]"} {
		if got := strings.TrimSpace(must(t, "", "export", "icechunk+file://"+dir+"/"+name+"/a", "--format", "json")); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	before := treeOf(t, dir)
	made := decode(t, must(t, "", fieldsIn(dir, "icechunk clone DIR/repo DIR/none --dry-run --json")...))
	if made["snapshots"] != 3.0 || made["dry_run"] != true || made["objects"] != 7.0 || treeOf(t, dir) != before {
		t.Error(made)
	}
	if _, errs, status := execute(t, "", fieldsIn(dir, "icechunk clone DIR/repo DIR/repo/inner")...); status == 0 || !strings.Contains(errs, "would be in") {
		t.Error(errs)
	}
	refusesAll(t, dir, map[string]string{
		strings.Join(fieldsIn(dir, "icechunk clone DIR/repo DIR/whole"), " "):               "exists already",
		strings.Join(fieldsIn(dir, "icechunk clone REPO@main/a DIR/x"), " "):                "leads to a node",
		strings.Join(fieldsIn(dir, "icechunk clone DIR/repo REPO@main"), " "):               "leave out icechunk+",
		strings.Join(fieldsIn(dir, "icechunk clone DIR/repo DIR/x --depth -1"), " "):        "--depth",
		strings.Join(fieldsIn(dir, "icechunk clone DIR/repo DIR/x --depth 0"), " "):         "give 1 or more",
		strings.Join(fieldsIn(dir, "icechunk clone DIR/repo DIR/x --since yesterday"), " "): "time",
		strings.Join(fieldsIn(dir, "icechunk clone REPO@none DIR/whole"), " "):              "exists already",
		strings.Join(fieldsIn(dir, "icechunk clone DIR/none DIR/x --dry-run"), " "):         "none",
	})
}

// TestIcechunkDiff says what has changed between snapshots.
func TestIcechunkDiff(t *testing.T) {
	dir := folder(t)
	chained(t, dir, `
		icechunk init DIR/repo
		create REPO@main/a --shape 6 --dtype int8 --chunks 2 -m first
		create REPO@main/b --shape 3 --dtype int8
		icechunk tag DIR/repo v1
		write REPO@main/a --select 3:5 --value 7
		attrs REPO@main/a set units "K"
		rm REPO@main/b --yes
		create REPO@main/g/c --shape 3 --dtype int8
		icechunk branch DIR/repo dev --at tag:v1
		attrs REPO@dev set title "dev"
	`)
	got, _, status := execute(t, "", fieldsIn(dir, "icechunk diff DIR/repo tag:v1 main --values")...)
	if status != 1 {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{"new group       g\n", "new array       g/c\n", "deleted array   b\n", "changed array   a\n  attributes.units: none, now \"K\"\n", "changed chunks  a  2 chunks, with indices in [1:3]\n", "a  2 elements differ in [3:5]"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %q", got, want)
		}
	}
	var d struct {
		Logged        bool     `json:"from_logs"`
		NewArrays     []string `json:"new_arrays"`
		UpdatedGroups []string `json:"updated_groups"`
		Chunks        map[string]struct{ Indices [][]int }
		Documents     map[string][]struct{ Name string }
		Values        map[string]struct{ Equal bool }
	}
	parse := func(line string) {
		d.Documents, d.Chunks = nil, nil
		text, errs, status := execute(t, "", fieldsIn(dir, line)...)
		if err := json.Unmarshal([]byte(text), &d); err != nil || status != 1 || errs != "" {
			t.Fatal(err, status, errs)
		}
	}
	parse("icechunk diff DIR/repo tag:v1 main --json --values")
	if !d.Logged || !slices.Equal(d.NewArrays, []string{"g/c"}) || len(d.Chunks["a"].Indices) != 2 || len(d.Documents["a"]) != 1 || d.Values["a"].Equal || len(d.Values) != 1 {
		t.Errorf("%+v", d)
	}
	parse("icechunk diff DIR/repo main dev --json")
	if d.Logged || !slices.Equal(d.UpdatedGroups, []string{""}) || d.Documents[""][0].Name != "attributes.title" {
		t.Errorf("%+v", d)
	}
	refusesAll(t, dir, map[string]string{
		strings.Join(fieldsIn(dir, "icechunk diff DIR/repo main none"), " "): "no such reference",
		strings.Join(fieldsIn(dir, "icechunk diff REPO@main main dev"), " "): "as A and B",
		strings.Join(fieldsIn(dir, "icechunk diff DIR/none main main"), " "): "none",
	})
}

// TestIcechunkAnswers runs commands that have nothing to do in a repository: each says
// what does what they do elsewhere.
func TestIcechunkAnswers(t *testing.T) {
	dir, main := repositoryWithArray(t)
	refusesAll(t, dir, map[string]string{
		"vacuum " + main: "icechunk gc", "vacuum " + main + "/a --dry-run": "icechunk gc", "revert " + main + "/a": "icechunk branch",
		"consolidate " + main: "icechunk export", "convert " + main + "/a --to 2": "DST elsewhere", "convert " + main + " " + main + "/b --to 2": "DST elsewhere",
	})
	if got := must(t, "", "reservations", main+"/a"); !strings.Contains(got, "no reservations") {
		t.Error(got)
	}
	local := folder(t) + "/a.zarr"
	must(t, "", "copy", "--sync", main+"/a", local)
	must(t, "", "equal", local, main+"/a")
	do(t, "[4]", "append", local, "--format", "json")
	do(t, "", "copy", "--sync", local, main+"/a")
	must(t, "", "equal", local, main+"/a")
	must(t, "", "convert", main+"/a", folder(t)+"/b.zarr", "--to", "2")
}
