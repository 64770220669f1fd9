// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChunkStats makes statistics of the arrays of a group, makes them again after a
// write, filters by them and removes them.
func TestChunkStats(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	must(t, "", "create", group+"/x", "--shape", "6", "--dtype", "int16", "--chunks", "2", "--dimension-names", "n", "--attributes", `{"scale_factor": -0.5, "_FillValue": -1}`, "--fill", "9")
	must(t, "", "create", group+"/name", "--shape", "6", "--dtype", "string", "--dimension-names", "n")
	must(t, "", "create", group+"/empty", "--shape", "0,3", "--dtype", "int16", "--dimension-names", "none,three")
	must(t, "[1,2,-1,4,9,-1]", "write", group+"/x", "--format", "json")
	want := func(text string, args ...string) {
		t.Helper()
		out := strings.ReplaceAll(must(t, "", append([]string{"stats", group}, args...)...), group, "g")
		if out != text {
			t.Errorf("%q:\n%s\nwant\n%s", args, out, text)
		}
	}
	const rest = "g/empty  0 missing, 0 of the fill value, read 0 of 0 stored chunks\ng/name  there are no statistics of text yet, and the elements are of type string\n"
	before := treeOf(t, group)
	want("g/empty  0 of 0 stored chunks to read (nothing was changed)\n"+strings.SplitAfter(rest, "\n")[1]+"g/x  3 of 3 stored chunks to read (nothing was changed)\n", "--dry-run")
	want(rest+"g/x  -4.5 … -0.5, 2 missing, 1 of the fill value, read 3 of 3 stored chunks\n", "--print")
	if treeOf(t, group) != before {
		t.Error("a dry run, or --print, has changed something")
	}
	want(rest + "g/x  -4.5 … -0.5, 2 missing, 1 of the fill value, read 3 of 3 stored chunks\n")
	must(t, "", "write", group+"/x", "--select", "0:2", "--value", "20")
	want(rest + "g/x  -10.0 … -2.0, 2 missing, 1 of the fill value, read 0 of 3 stored chunks\n") // the write kept them
	facts := decode(t, must(t, "", "stats", group+"/x", "--json"))
	x := facts["arrays"].([]any)[0].(map[string]any)
	if fmt.Sprint(x["minimum"], x["maximum"], x["range"], x["cells_known"], facts["kept"]) != "4 20 [-10.0 -2.0] 3 true" {
		t.Error(facts)
	}
	if out := must(t, "", "filter", group, filepath.Join(t.TempDir(), "kept.zarr"), "--where", "x < -9", "--dry-run"); !strings.Contains(out, "2 of 6 rows kept") {
		t.Error(out)
	}
	// Another program leaves what is known of the other chunks.
	must(t, "", "write", group+"/x", "--select", "4", "--value", "30")
	chunk := filepath.Join(group, "x", "c", "2")
	data, err := os.ReadFile(chunk)
	if err == nil {
		err = os.WriteFile(chunk, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out := must(t, "", "info", group+"/x", "--stats"); !strings.Contains(out, "statistics     2 of 3 chunks known: -10.0 … -2.0, 1 missing, 0 of the fill value; varve stats reads the others") {
		t.Error(out)
	}
	if out := must(t, "", "tree", group, "--stats"); !strings.Contains(out, "chunks 2×3  -10.0 … -2.0 in 2 of 3 chunks\n") {
		t.Error(out)
	}
	must(t, "", "stats", group+"/x")
	if out := must(t, "", "tree", group+"/x", "--stats", "--json"); !strings.Contains(fmt.Sprint(decode(t, out)["statistics"]), "range:[-15.0 -2.0]") {
		t.Error(out)
	}
	if out := must(t, "", "tree", group); strings.Contains(out, "…") {
		t.Error(out)
	}
	if out := must(t, "", "info", group+"/x", "--stats"); !strings.Contains(out, "statistics     -15.0 … -2.0, 2 missing, 0 of the fill value\n") {
		t.Error(out)
	}
	if out := must(t, "", "info", group+"/x", "--stats", "--json"); !strings.Contains(fmt.Sprint(decode(t, out)["statistics"]), "cells_known:3") {
		t.Error(out)
	}
	refuses(t, "there are no statistics of text yet", "stats", group+"/name")
	want("g/empty  the statistics would be removed\ng/name  no statistics are kept\ng/x  the statistics would be removed\n", "--drop", "--dry-run")
	want("g/empty  the statistics were removed\ng/name  no statistics are kept\ng/x  the statistics were removed\n", "--drop")
	want("g/empty  no statistics are kept\ng/name  no statistics are kept\ng/x  no statistics are kept\n", "--drop")
}

// TestChunkStatsKept makes statistics before there are chunks. Commands that change the
// array keep them in step, so that nothing has to be read at the end.
func TestChunkStatsKept(t *testing.T) {
	for _, shards := range []string{"", "4,8"} {
		at := filepath.Join(t.TempDir(), "g.zarr")
		must(t, "", "create", at, "--group")
		args := []string{"create", at + "/x", "--shape", "0,8", "--dtype", "float32", "--chunks", "2,4", "--dimension-names", "time,n"}
		if shards != "" {
			args = append(args, "--shards", shards)
		}
		must(t, "", args...)
		must(t, "", "stats", at)
		rows := func(first, n int) string {
			var list []string
			for i := range n {
				list = append(list, fmt.Sprintf("[%d,1,2,3,4,5,6,7]", first+i))
			}
			return "[" + strings.Join(list, ",") + "]"
		}
		known := func(after string) {
			t.Helper()
			x := decode(t, must(t, "", "stats", at+"/x", "--dry-run", "--json"))["arrays"].([]any)[0].(map[string]any)
			if x["chunks_read"].(float64) != 0 || x["chunks_stored"].(float64) == 0 {
				t.Errorf("shards %q, after %s: %v", shards, after, x)
			}
		}
		must(t, rows(10, 8), "append", at+"/x", "--format", "json", "--axis", "time")
		known("append")
		must(t, rows(30, 3), "append", at+"/x", "--format", "json", "--axis", "time")
		known("append within a chunk")
		must(t, "", "write", at+"/x", "--select", "1:9,2:7", "--value", "77")
		known("write")
		if shards == "" {
			must(t, "", "rechunk", at+"/x", "--chunks", "4,8")
		} else {
			must(t, "", "rechunk", at+"/x", "--chunks", "2,4", "--shards", "8,8")
		}
		known("rechunk")
		must(t, "", "drop", at+"/x", "--select", "time=0:4", "--yes")
		known("drop")
		must(t, "", "check", at)
	}
}

// TestExportWhere exports the rows for which a condition holds, with statistics and
// without them.
func TestExportWhere(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "t.zarr")
	must(t, "", "create", at, "--group")
	for name, values := range map[string]string{"x": "[5,1,9,3,7,2,8,4]", "y": "[50,10,90,30,70,20,80,40]"} {
		must(t, "", "create", at+"/"+name, "--shape", "8", "--dtype", "int16", "--chunks", "2", "--dimension-names", "row")
		must(t, values, "write", at+"/"+name, "--format", "json")
	}
	must(t, "", "create", at+"/wide", "--shape", "8,2", "--dtype", "int16", "--chunks", "2,2", "--dimension-names", "row,k")
	must(t, "[[5,6],[1,2],[9,10],[3,4],[7,8],[2,3],[8,9],[4,5]]", "write", at+"/wide", "--format", "json")
	for round := range 2 {
		for _, c := range []struct{ args, want string }{
			{"x --where x>6 --format csv", "9\n7\n8\n"},
			{"y --where x>6 --format json", "[90,70,80]"},
			{"y --where x>6 --select 2:5 --format json", "[90,70]"},
			{"y --where x>6 --select ::-1 --format json", "[80,70,90]"},
			{"y --where x>99 --format json", "[]"},
			{"y --where y>=70 --format csv --header", "row,y\n2,90\n4,70\n6,80\n"},
			{"wide --where x<2 --format json", "[[1,2]]"},
		} {
			name, rest, _ := strings.Cut(c.args, " ")
			if out := must(t, "", append([]string{"export", at + "/" + name}, strings.Fields(rest)...)...); strings.TrimSpace(out) != strings.TrimSpace(c.want) {
				t.Errorf("%s: %q, want %q", c.args, out, c.want)
			}
		}
		must(t, "", "rm", at+"/wide", "--yes")
		if out := must(t, "", "export", at, "--where", "x > 6 and y < 90", "--format", "csv"); out != "x,y\n7,70\n8,80\n" {
			t.Error(out)
		}
		must(t, "", "create", at+"/wide", "--shape", "8,2", "--dtype", "int16", "--chunks", "2,2", "--dimension-names", "row,k")
		must(t, "[[5,6],[1,2],[9,10],[3,4],[7,8],[2,3],[8,9],[4,5]]", "write", at+"/wide", "--format", "json")
		file := filepath.Join(dir, "t.nc")
		must(t, "", "export", at, "--where", "x > 6", "-o", file)
		view := filepath.Join(dir, fmt.Sprintf("t%d.vz", round))
		must(t, "", "virtualize", file, "-o", view)
		if out := must(t, "", "export", view+"/wide", "--format", "json"); strings.TrimSpace(out) != "[[9,10],[7,8],[8,9]]" {
			t.Error(out)
		}
		must(t, "", "stats", at)
	}
	refuses(t, "did you mean x?", "export", at+"/x", "--where", "xx > 6", "--format", "csv")
	// The way out of the message works.
	for _, sel := range []string{"row=2", "2"} {
		refuses(t, "select a range, such as row=2:3", "export", at+"/x", "--where", "x > 6", "--format", "csv", "--select", sel)
	}
	refuses(t, "select a range, such as row=1:2", "export", at, "--where", "x > 6", "--select", "row=1", "-o", filepath.Join(dir, "never.parquet"))
	if out := must(t, "", "export", at+"/x", "--where", "x > 6", "--format", "csv", "--select", "row=1:2"); out != "" {
		t.Error(out)
	}
	must(t, "", "create", at+"/other", "--shape", "3", "--dtype", "int16", "--dimension-names", "other")
	refuses(t, `nothing that is exported has the dimension "row" of the condition`, "export", at+"/other", "--where", "x > 6", "--format", "csv")
}
