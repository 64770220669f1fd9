// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInPlace merges the last chunks in place, after a dry run of other keys that says
// so.
func TestInPlace(t *testing.T) {
	node := monthly(t) // rows in chunks of 10, 20 and 30
	list := []string{"compact", node, "--to", "[10,50]"}
	dry := must(t, "", append(list, "--dry-run")...)
	if !strings.Contains(dry, "with --in-place: 4 kept, 0 put together from encoded chunks, 4 encoded anew") {
		t.Errorf("the dry run says %s", dry)
	}
	plan := decode(t, must(t, "", append(list, "--dry-run", "--json")...))
	if a, ok := plan["alternative"].(map[string]any); !ok || a["guarantee"] != "loud-failure" || a["chunks_kept"] != 4.0 || a["chunks_dropped"] != 4.0 {
		t.Errorf("the plan says %v", plan["alternative"])
	}
	is := decode(t, must(t, "", append(list, "--in-place", "--json")...))
	if is["strategy"] != "in-place" || is["guarantee"] != "loud-failure" || is["chunks_rewritten"] != 4.0 || is["chunks_kept"] != 4.0 || is["chunks_copied"] != 0.0 {
		t.Errorf("%v", is)
	}
	if out := must(t, "", "cat", node, "--select", "59,99", "--json"); !strings.Contains(out, "35988001") {
		t.Errorf("the last element is %s", out)
	}
	if out := must(t, "", "check", node, "--json"); !strings.Contains(out, `"found": []`) {
		t.Errorf("check: %s", out)
	}
	if out := must(t, "", "vacuum", node, "--dry-run"); strings.Count(out, "kept: ") != 2 || !strings.Contains(out, "beyond") || !strings.Contains(out, "merged") {
		t.Errorf("vacuum: %s", out)
	}
	must(t, "", "vacuum", node, "--grace", "0s", "--yes")
	if _, err := os.Stat(filepath.Join(node, "__varve", "merged")); err == nil {
		t.Error("a vacuum leaves merged chunks")
	}
}

// TestInPlaceRefused checks the messages for what cannot be done in place.
func TestInPlaceRefused(t *testing.T) {
	node := monthly(t)
	for want, args := range map[string][]string{
		"only the last chunks of one axis": {"compact", node, "--to", "[30,30]", "--in-place"},
		"leave out --offline":              {"compact", node, "--to", "[30,30]", "--offline"},
		"give one of them":                 {"rechunk", node, node + "2", "--chunks", "1,1", "--in-place"},
		"leave out --in-place or --plan":   {"compact", node, "--to", "[10,50]", "--in-place", "--plan", filepath.Join(t.TempDir(), "p.json")},
	} {
		if _, errs, status := execute(t, "", args...); status == 0 || !strings.Contains(errs, want) || strings.Contains(errs, "Options.") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
}

// TestOffline replaces the chunks of an array that can have no other keys.
func TestOffline(t *testing.T) {
	node := filepath.Join(t.TempDir(), "a.zarr", "x")
	must(t, "", "create", node, "--shape", "7", "--dtype", "int32", "--chunks", "1", "--zarr-format", "2")
	must(t, "[1,2,3,4,5,6,7]", "write", node, "--format", "json", "--select", "")
	args := []string{"regularize", node, "--chunks", "3"}
	if _, errs, status := execute(t, "", args...); status == 0 || !strings.Contains(errs, "--offline") {
		t.Errorf("status %d, %s", status, errs)
	}
	if out := must(t, "", append(args, "--offline")...); !strings.Contains(out, "must open it again") {
		t.Error(out)
	}
	if out := must(t, "", "cat", node, "--json"); !strings.Contains(strings.Join(strings.Fields(out), ""), "[1,2,3,4,5,6,7]") {
		t.Error(out)
	}
}
