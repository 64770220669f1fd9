// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/ragged"
	"varve.dev/zarr/store"
)

// newTable makes a table of twelve days from 2019-12-30 on, in chunks of four, and
// returns its folder and an empty one beside it.
func newTable(t *testing.T) (table, parent string) {
	t.Helper()
	parent = t.TempDir()
	table = filepath.Join(parent, "all.zarr")
	must(t, "", "create", table, "--group")
	put := func(name string, typ dtype.Type, attributes any, write func(a *zarr.Array) error) {
		s := zarr.Spec{Shape: []int64{12}, Type: typ, Chunks: []grid.Cut{grid.Every(4)}, DimensionNames: []string{"time"}, Attributes: attributes}
		a, err := zarr.CreateArray(t.Context(), table+"/"+name, s, nil)
		if err == nil {
			err = write(a)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	days, names := make([]int32, 12), make([]string, 12)
	for i := range days {
		days[i], names[i] = int32(i), "K12"
		if i >= 8 {
			names[i] = "L7"
		}
	}
	units := map[string]string{"units": "days since 2019-12-30"}
	put("time", dtype.Int32, units, func(a *zarr.Array) error { return zarr.Write(t.Context(), a, nil, days) })
	put("station", dtype.String, nil, func(a *zarr.Array) error { return zarr.Write(t.Context(), a, nil, names) })
	must(t, "", "create", table+"/fixed", "--shape", "2", "--dtype", "int8", "--dimension-names", "kind")
	must(t, "", "write", table+"/fixed", "--value", "3")
	must(t, "", "consolidate", table)
	return table, parent
}

const whereText = `time >= 2020-01-01 and station == "K12"`

func TestFilter(t *testing.T) {
	table, parent := newTable(t)
	dst := filepath.Join(parent, "some.zarr")
	before := treeOf(t, parent)
	if text := must(t, "", "filter", table, dst, "--where", whereText, "--dry-run"); !strings.Contains(text, "6 of 12 rows kept  (nothing was changed)") || !strings.Contains(text, "time  rectilinear chunks") {
		t.Error(text)
	}
	plan := decode(t, must(t, "", "filter", table, dst, "--where", whereText, "--dry-run", "--json"))
	if after := treeOf(t, parent); after != before {
		t.Fatalf("the dry run has changed something:\n%s\n%s", before, after)
	}
	checkPlanNames(t, plan)
	for name, want := range map[string]any{
		"operation": "filter", "strategy": "copy-publish", "guarantee": "atomic", "dimension": "time", "rows": 12.0, "rows_kept": 6.0,
		"chunks_copied": 3.0, "chunks_rewritten": 2.0, "chunks_dropped": 2.0, "documents_written": 4.0, "dry_run": true,
	} {
		if plan[name] != want {
			t.Errorf("%s: %v, want %v", name, plan[name], want)
		}
	}
	done := decode(t, must(t, "", "filter", table, dst, "--where", whereText, "--json"))
	for _, name := range []string{"rows", "rows_kept", "chunks_copied", "chunks_rewritten", "chunks_dropped", "bytes_copied", "bytes_encoded", "documents_written"} {
		if plan[name] != done[name] {
			t.Errorf("%s: %v planned, %v done", name, plan[name], done[name])
		}
	}
	if text := must(t, "", "cat", dst+"/time", "--decode"); !strings.Contains(text, "2020-01-01") || strings.Contains(text, "2019") || strings.Contains(text, "2020-01-07") {
		t.Error(text)
	}
	if info := decode(t, must(t, "", "info", "--json", dst+"/time")); info["is_regular"] != false || info["shape"].([]any)[0] != 6.0 {
		t.Error(info)
	}
	must(t, "", "check", dst)
	must(t, "", "equal", table+"/fixed", dst+"/fixed")
	// What another command has left is deleted, and the user is told.
	other := filepath.Join(parent, "other.zarr")
	overwrite(t, filepath.Join(other, "__varve", "unfinished.json"), "{}")
	overwrite(t, filepath.Join(other, "time", "c", "7"), "of another result")
	if text := must(t, "", "filter", table, other, "--where", whereText); !strings.Contains(text, "had left there could not be used") {
		t.Error(text)
	}
	if _, err := os.Stat(filepath.Join(other, "time", "c", "7")); err == nil {
		t.Error("a chunk of another result is left")
	}
	must(t, "", "equal", dst+"/station", other+"/station")
	// Stays, unless it may be replaced.
	if _, errs, status := execute(t, "", "filter", table, dst, "--where", whereText); status != 1 || !strings.Contains(errs, "--overwrite") {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, errs, status := execute(t, "", "filter", table, dst, "--where", whereText, "--overwrite"); status != 2 || !strings.Contains(errs, "--yes") {
		t.Errorf("status %d, %s", status, errs)
	}
	if text := must(t, "", "filter", table, dst, "--where", "time < 2020", "--overwrite", "--yes"); !strings.Contains(text, "2 of 12 rows kept") {
		t.Error(text)
	}
}

// TestFilterDamaged names the array that has a damaged chunk, also if the condition reads
// it.
func TestFilterDamaged(t *testing.T) {
	for _, key := range []string{"time/c/1", "station/c/0"} {
		table, parent := newTable(t)
		overwrite(t, filepath.Join(table, filepath.FromSlash(key)), "damage")
		_, errs, status := execute(t, "", "filter", table, filepath.Join(parent, "some.zarr"), "--where", "time >= 2020-01-01")
		if array, _, _ := strings.Cut(key, "/"); status != 1 || !strings.Contains(errs, table+"/"+array+": ") || !strings.Contains(errs, "varve check "+table+"/"+array) {
			t.Errorf("%s: %q, status %d", key, errs, status)
		}
	}
}

// TestFilterSets filters rows of unequal lengths.
func TestFilterSets(t *testing.T) {
	parent := t.TempDir()
	mask, matrix, drifters := filepath.Join(parent, "mask"), filepath.Join(parent, "x.zarr"), filepath.Join(parent, "d.zarr")
	overwrite(t, mask, "\x01\x00\x01")
	for place, make := range map[string]func(at *zarr.Location) (*ragged.Set, error){
		matrix: func(at *zarr.Location) (*ragged.Set, error) {
			return ragged.CreateCSR(t.Context(), at, 5, dtype.Float32, nil)
		},
		drifters: func(at *zarr.Location) (*ragged.Set, error) {
			return ragged.Create(t.Context(), at, []ragged.Field{{Name: "data", Type: dtype.Float32}, {Name: "indices", Type: dtype.Int64}}, nil)
		},
	} {
		at, err := zarr.Locate(t.Context(), place, store.Create)
		if err != nil {
			t.Fatal(err)
		}
		s, err := make(at)
		if err == nil {
			err = s.Append(t.Context(), []int64{2, 1, 3}, ragged.Values("data", []float32{1, 2, 3, 4, 5, 6}), ragged.Values("indices", []int64{0, 4, 1, 0, 1, 2}))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must(t, "", "filter", matrix, matrix+".some", "--mask", mask)
	must(t, "", "filter", drifters, drifters+".some", "--mask", mask, "--axis", "row")
	must(t, "", "equal", matrix+".some/data", drifters+".some/data")
	if text := must(t, "", "cat", matrix+".some/indptr"); !strings.Contains(text, "[0 2 5]") {
		t.Error(text)
	}
	if text := must(t, "", "attrs", matrix+".some"); !strings.Contains(strings.Join(strings.Fields(text), ""), "[2,5]") {
		t.Error(text)
	}
	if _, errs, status := execute(t, "", "filter", drifters, drifters+".none", "--mask", mask, "--axis", "obs"); status != 1 || !strings.Contains(errs, "filter the rows") {
		t.Errorf("status %d, %s", status, errs)
	}
}

func TestFilterByMask(t *testing.T) {
	table, parent := newTable(t)
	raw, named := filepath.Join(parent, "mask.raw"), filepath.Join(parent, "mask.npy")
	mask := []byte{1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0}
	head := npy.Header{Type: dtype.Bool, Shape: []int64{12}}.Append(nil)
	for name, data := range map[string][]byte{raw: mask, named: append(head, mask...), filepath.Join(parent, "twos"): {2}, filepath.Join(parent, "short"): mask[1:]} {
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "", "create", parent+"/huge.zarr/x", "--shape", "1000000000000000000", "--dtype", "int8", "--chunks", "1000", "--dimension-names", "x")
	must(t, "", "filter", table, filepath.Join(parent, "a.zarr"), "--mask", raw, "--axis", "time")
	must(t, "", "filter", table, filepath.Join(parent, "b.zarr"), "--mask", named, "--axis", "time")
	must(t, "", "equal", filepath.Join(parent, "a.zarr"), filepath.Join(parent, "b.zarr"))
	must(t, "", "filter", table+"/time", filepath.Join(parent, "c.zarr"), "--mask", raw, "--axis", "-1")
	must(t, "", "equal", filepath.Join(parent, "c.zarr"), filepath.Join(parent, "b.zarr", "time"))
	must(t, "", "filter", table, filepath.Join(parent, "d.zip"), "--mask", raw, "--axis", "time")
	must(t, "", "equal", filepath.Join(parent, "d.zip", "time"), filepath.Join(parent, "b.zarr", "time"))
	for _, c := range []struct {
		status int
		words  string
		args   []string
	}{
		{1, "byte 0 is 2, neither 0 nor 1", []string{table, parent + "/x.zarr", "--mask", parent + "/twos", "--axis", "time"}},
		{1, "the mask has 11 rows", []string{table, parent + "/x.zarr", "--mask", parent + "/short", "--axis", "time"}},
		{2, "give the name of a dimension", []string{table, parent + "/x.zarr", "--mask", raw}},
		{2, "give the name of a dimension", []string{table, parent + "/x.zarr", "--where", "time > 2020", "--axis", "0"}},
		{2, "give a condition (--where) or a file", []string{table, parent + "/x.zarr"}},
		{2, "at character 7: a value is missing here", []string{table, parent + "/x.zarr", "--where", "time >"}},
		{1, "at character 8: ", []string{table, parent + "/x.zarr", "--where", "time > '12.noon'"}},
		{1, `the condition names "wind"`, []string{table, parent + "/x.zarr", "--where", "wind > 5"}},
		{1, "no axis 3", []string{table + "/time", parent + "/x.zarr", "--mask", raw, "--axis", "3"}},
		{1, "more than half of the memory (--limit)", []string{parent + "/huge.zarr", parent + "/x.zarr", "--where", "x > 1"}},
		{1, "", []string{filepath.Join(parent, "none.zarr"), parent + "/x.zarr", "--mask", raw}},
	} {
		_, errs, status := execute(t, "", append([]string{"filter"}, c.args...)...)
		if status != c.status || !strings.Contains(errs, c.words) || strings.Count(errs, "\n") != c.status {
			t.Errorf("%q: status %d, %s", c.args, status, errs)
		}
		if _, err := os.Stat(filepath.Join(parent, "x.zarr")); err == nil {
			t.Fatalf("%q leaves something", c.args)
		}
	}
}
