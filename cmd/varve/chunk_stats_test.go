// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
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
	want(rest + "g/x  -10.0 … -2.0, 2 missing, 1 of the fill value, read 1 of 3 stored chunks\n")
	facts := decode(t, must(t, "", "stats", group+"/x", "--json"))
	x := facts["arrays"].([]any)[0].(map[string]any)
	if fmt.Sprint(x["minimum"], x["maximum"], x["range"], x["cells_known"], facts["kept"]) != "4 20 [-10.0 -2.0] 3 true" {
		t.Error(facts)
	}
	if out := must(t, "", "filter", group, filepath.Join(t.TempDir(), "kept.zarr"), "--where", "x < -9", "--dry-run"); !strings.Contains(out, "2 of 6 rows kept") {
		t.Error(out)
	}
	// A write leaves what is known of the other chunks.
	must(t, "", "write", group+"/x", "--select", "4", "--value", "30")
	if out := must(t, "", "info", group+"/x", "--stats"); !strings.Contains(out, "statistics     2 of 3 chunks known: -10.0 … -2.0, 1 missing, 0 of the fill value; varve stats reads the others") {
		t.Error(out)
	}
	must(t, "", "stats", group+"/x")
	if out := must(t, "", "info", group+"/x", "--stats"); !strings.Contains(out, "statistics     -15.0 … -2.0, 2 missing, 0 of the fill value\n") {
		t.Error(out)
	}
	if out := must(t, "", "info", group+"/x", "--stats", "--json"); !strings.Contains(fmt.Sprint(decode(t, out)["statistics"]), "cells_known:3") {
		t.Error(out)
	}
	refuses(t, "there are no statistics of text yet", "stats", group+"/name")
	want("g/empty  no statistics are kept\ng/name  no statistics are kept\ng/x  the statistics would be removed\n", "--drop", "--dry-run")
	want("g/empty  no statistics are kept\ng/name  no statistics are kept\ng/x  the statistics were removed\n", "--drop")
	want("g/empty  no statistics are kept\ng/name  no statistics are kept\ng/x  no statistics are kept\n", "--drop")
}
