// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// dryRunCases are commands of every kind that changes something, each on its own array.
var dryRunCases = []struct {
	name string
	args []string // NODE, GROUP and PARENT stand for places
	in   string
}{
	{"append", []string{"append", "NODE", "-"}, strings.Repeat("x", 9)},
	{"append fills", []string{"append", "REGULAR", "-"}, strings.Repeat("x", 3)},
	{"append to a shard", []string{"append", "SHARDS", "-"}, strings.Repeat("x", 12)},
	{"append of fill values", []string{"append", "NODE", "-"}, strings.Repeat("\x00", 9)},
	{"write", []string{"write", "NODE", "--select", "1:3", "--value", "7"}, ""},
	{"write fill values", []string{"write", "NODE", "--value", "0", "--yes"}, ""},
	{"write a stream", []string{"write", "NODE", "-"}, strings.Repeat("y", 15)},
	{"grow", []string{"resize", "NODE", "--shape", "20,3"}, ""},
	{"shrink", []string{"resize", "NODE", "--shape", "3,2", "--yes"}, ""},
	{"trim", []string{"resize", "NODE", "--shape", "4,3", "--shrink", "trim-exact", "--yes"}, ""},
	{"unlock", []string{"unlock", "REGULAR"}, ""},
	{"unlock --trim", []string{"unlock", "REGULAR", "--trim"}, ""},
	{"attributes", []string{"attrs", "NODE", "set", "units", `"K"`}, ""},
	{"unset", []string{"attrs", "NODE", "unset", "old"}, ""},
	{"remove an array", []string{"rm", "NODE", "--yes"}, ""},
	{"remove a group", []string{"rm", "GROUP", "--yes"}, ""},
	{"create", []string{"create", "GROUP/deep/er/new", "--shape", "4", "--dtype", "int8"}, ""},
	{"create elsewhere", []string{"create", "PARENT/new.zarr/x", "--shape", "4", "--dtype", "int8"}, ""},
	{"create a group", []string{"create", "GROUP/more", "--group"}, ""},
	{"create from a file", []string{"create", "GROUP/from", "--from", "FILE", "--chunks", "[2]"}, ""},
	{"overwrite", []string{"create", "NODE", "--overwrite", "--shape", "4", "--dtype", "int8"}, ""},
	{"two arrays", []string{"append", "GROUP", "a=-"}, strings.Repeat("x", 9)},
}

// dryRunPlace makes a group with arrays of several kinds, and returns the values for the
// placeholders in arguments.
func dryRunPlace(t *testing.T) *strings.Replacer {
	t.Helper()
	parent := t.TempDir()
	group := filepath.Join(parent, "g.zarr")
	must(t, "", "create", group, "--group")
	for name, more := range map[string][]string{
		"a": {"--chunks", "[[2,3],3]"}, "regular": {"--chunks", "[2,2]"}, "shards": {"--shards", "[4,3]", "--chunks", "[2,3]"},
	} {
		node := group + "/" + name
		args := []string{"create", node, "--shape", "5,3", "--dtype", "int8", "--attributes", `{"old": 1}`}
		must(t, "", append(args, more...)...)
		must(t, strings.Repeat("v", 15), "write", node, "-")
	}
	must(t, "", "consolidate", group)
	file := filepath.Join(parent, "f.npy")
	must(t, "", "export", group+"/a", "--select", ":,0", "-o", file)
	return strings.NewReplacer("NODE", group+"/a", "REGULAR", group+"/regular", "SHARDS", group+"/shards", "GROUP", group, "PARENT", parent, "FILE", file)
}

// contents returns the values below a directory, without temporary files.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var content []byte
			content, err = os.ReadFile(name)
			list[name] = string(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestDryRun compares, for every command that changes something, its plan with what then
// happens: requests and bytes counted by --stats, chunks in the directory, and the words
// that the command prints. The dry run itself must change nothing.
func TestDryRun(t *testing.T) {
	for _, c := range dryRunCases {
		t.Run(c.name, func(t *testing.T) {
			place := dryRunPlace(t)
			parent := place.Replace("PARENT")
			var args []string
			for _, a := range c.args {
				args = append(args, place.Replace(a))
			}
			before, was := treeOf(t, parent), contents(t, parent)
			text := must(t, c.in, append(args, "--dry-run")...)
			plan := decode(t, must(t, c.in, append(args, "--dry-run", "--json")...))
			if after := treeOf(t, parent); after != before {
				t.Fatalf("the dry run has changed something:\n%s\n%s", before, after)
			}
			if !strings.HasPrefix(text, "dry run, nothing was changed\n") {
				t.Error(text)
			}
			done := decode(t, mustStats(t, c.in, append(args, "--json")...))
			comparePlan(t, plan, done)
			compareTree(t, plan, was, contents(t, parent))
		})
	}
}

// mustStats is must with --stats where the command has it.
func mustStats(t *testing.T, in string, args ...string) string {
	t.Helper()
	if args[0] != "rm" && args[0] != "attrs" {
		args = append(args, "--stats")
	}
	return must(t, in, args...)
}

// comparePlan compares a plan with what the command printed.
func comparePlan(t *testing.T, plan, done map[string]any) {
	t.Helper()
	stats, ok := done["stats"].(map[string]any)
	if result, _ := plan["result"].(map[string]any); result != nil {
		said := maps.Clone(done)
		delete(said, "stats")
		if !reflect.DeepEqual(result, said) {
			t.Errorf("the plan says %v, the command %v", result, said)
		}
	}
	if !ok {
		return
	}
	for _, name := range []string{"requests", "bytes_read", "bytes_written_estimate", "bytes_decoded", "bytes_encoded", "bytes_copied"} {
		if !reflect.DeepEqual(plan[name], stats[name]) {
			t.Errorf("%s: %v planned, %v done", name, plan[name], stats[name])
		}
	}
	checkPlanNames(t, plan)
}

// checkPlanNames checks that a plan has all names that scripts read. A count is null if
// the command cannot know it before it runs.
func checkPlanNames(t *testing.T, plan map[string]any) {
	t.Helper()
	for _, name := range []string{
		"operation", "node", "target", "strategy", "guarantee", "stages", "fingerprint",
		"chunks_kept", "chunks_rewritten", "chunks_copied", "chunks_linked", "chunks_dropped", "bytes_read", "bytes_copied",
		"bytes_linked", "bytes_decoded", "bytes_encoded", "bytes_written_estimate", "requests", "peak_memory", "scratch",
	} {
		if _, has := plan[name]; !has {
			t.Errorf("the plan of %v has no %s", plan["operation"], name)
		}
	}
	if f, _ := plan["fingerprint"].(string); len(f) != 32 {
		t.Errorf("the fingerprint of %v is %q", plan["operation"], f)
	}
}

// compareTree compares a plan with the changes of the files. A value may be rewritten
// with the same content.
func compareTree(t *testing.T, plan map[string]any, was, is map[string]string) {
	t.Helper()
	count := map[string]float64{}
	for name, old := range was {
		now, stays := is[name]
		document := strings.Contains(filepath.Base(name), "zarr.json")
		switch {
		case !stays:
			count["bytes_dropped"] += float64(len(old))
			if !document {
				count["chunks_dropped"]++
			}
		case now != old && !document:
			count["chunks_rewritten"]++
		}
	}
	for name := range is {
		if _, known := was[name]; !known && !strings.Contains(filepath.Base(name), "zarr.json") {
			count["chunks_new"]++
		}
	}
	for _, what := range []string{"chunks_new", "chunks_dropped", "bytes_dropped", "chunks_rewritten"} {
		if plan[what] != count[what] {
			t.Errorf("%s: %v planned, %v in the directory", what, plan[what], count[what])
		}
	}
}

// TestDryRunOfWholeStores checks commands that count in their own words: the dry run
// changes nothing, counts what is then done, and its plan begins like all plans.
func TestDryRunOfWholeStores(t *testing.T) {
	for _, c := range []struct {
		name, strategy string
		args           []string
		want           map[string]any // in the plan
	}{
		{"copy", "copy-publish", []string{"copy", "GROUP", "PARENT/copy.zarr"}, map[string]any{"arrays": 3.0, "chunks_copied": 10.0, "chunks_dropped": 0.0}},
		{"copy --move", "", []string{"copy", "--move", "GROUP/a", "PARENT/copy.zarr"}, map[string]any{"arrays": 1.0, "chunks_copied": 2.0, "chunks_dropped": 2.0}},
		{"copy --sync", "copy-publish-delete", []string{"copy", "--sync", "GROUP", "PARENT/copy.zarr"}, map[string]any{"arrays": 3.0, "chunks_copied": 10.0, "chunks_dropped": 0.0}},
		{"convert", "copy-publish", []string{"convert", "GROUP/regular", "PARENT/copy.zarr", "--to", "2"}, map[string]any{"arrays": 1.0}},
		{"convert in place", "documents-only", []string{"convert", "GROUP/regular", "--to", "3"}, map[string]any{"chunks_new": 0.0, "chunks_rewritten": 0.0, "chunks_copied": 0.0}},
		{"compact", "replace-in-place", []string{"compact", "SHARDS", "--shards"}, map[string]any{"shards": 2.0}},
		{"consolidate", "stage-publish-reclaim", []string{"consolidate", "GROUP"}, map[string]any{"nodes": 3.0, "documents_written": 1.0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			place := dryRunPlace(t)
			var args []string
			for _, a := range c.args {
				args = append(args, place.Replace(a))
			}
			must(t, "", "write", place.Replace("SHARDS"), "--select", "1:3", "--value", "9")
			parent := place.Replace("PARENT")
			before := treeOf(t, parent)
			if text := must(t, "", append(args, "--dry-run")...); !strings.Contains(text, "nothing was changed") {
				t.Error(text)
			}
			plan := decode(t, must(t, "", append(args, "--dry-run", "--json")...))
			if after := treeOf(t, parent); after != before {
				t.Fatalf("the dry run has changed something:\n%s\n%s", before, after)
			}
			if plan["operation"] != args[0] || plan["dry_run"] != true || c.strategy != "" && plan["strategy"] != c.strategy || plan["guarantee"] == nil || plan["stages"] == nil {
				t.Errorf("the plan is %v", plan)
			}
			checkPlanNames(t, plan)
			if again := decode(t, must(t, "", append(args, "--dry-run", "--json")...)); again["fingerprint"] != plan["fingerprint"] {
				t.Errorf("the fingerprint is %v, and then %v", plan["fingerprint"], again["fingerprint"])
			}
			for name, want := range c.want {
				if plan[name] != want {
					t.Errorf("%s: %v planned, want %v", name, plan[name], want)
				}
			}
			done := decode(t, must(t, "", append(args, "--json")...))
			for name, is := range done {
				if planned, has := plan[name]; name != "dry_run" && name != "moved" && (!has || !reflect.DeepEqual(planned, is)) {
					t.Errorf("%s: %v planned, %v done", name, planned, is)
				}
			}
		})
	}
}

// TestResizeAsks checks that resize asks before it deletes elements.
func TestResizeAsks(t *testing.T) {
	node := newNode(t, "--shape", "4,3", "--dtype", "int8", "--chunks", "[2,3]")
	_, errs, status := execute(t, "", "resize", node, "--shape", "2,3")
	if status != 2 || !strings.Contains(errs, "deletes 6 elements of "+node) || !strings.Contains(errs, "--yes") {
		t.Errorf("status %d, %s", status, errs)
	}
	for _, shape := range []string{"4,3", "9,3"} {
		must(t, "", "resize", node, "--shape", shape)
	}
	must(t, "", "resize", node, "--shape", "2,3", "--yes")
	empty := newNode(t, "--shape", "4,0", "--dtype", "int8", "--chunks", "[2,3]")
	must(t, "", "resize", empty, "--shape", "2,0")
}

// TestWriteAsks checks that write asks before one value replaces all that is stored.
func TestWriteAsks(t *testing.T) {
	node := newNode(t, "--shape", "4,3", "--dtype", "int8", "--chunks", "[2,3]")
	must(t, "", "write", node, "--value", "7") // nothing is stored
	_, errs, status := execute(t, "", "write", node, "--value", "8")
	if status != 2 || !strings.Contains(errs, "replaces all stored values of "+node+", 12 elements") || !strings.Contains(errs, "--yes") {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, errs, status := execute(t, "", "write", node, "--value", "x"); status != 1 || strings.Contains(errs, "--yes") {
		t.Errorf("status %d, %s", status, errs) // it would fail in any case
	}
	if got := must(t, "", "export", node, "--select", "0,0", "--format", "json"); got != "7\n" {
		t.Error(got)
	}
	for _, how := range [][]string{{"--yes"}, {"--dry-run"}, {"--select", "0:1"}, {"--select", ""}} {
		must(t, "", append([]string{"write", node, "--value", "8"}, how...)...)
	}
	scalar := newNode(t, "--shape", "", "--dtype", "int8")
	for range 2 {
		must(t, "", "write", scalar, "--value", "8")
	}
}

// TestDryRunOfLargeChunk plans a write to a part of a chunk that a dry run does not read.
// The plan must be complete, except for the new length of the chunk.
func TestDryRunOfLargeChunk(t *testing.T) {
	for _, compressor := range []string{"zstd:1", "none"} {
		node := newNode(t, "--shape", "3000000", "--chunks", "2000000", "--dtype", "int8", "--compressor", compressor)
		must(t, "", "write", node, "--value", "7")
		args := []string{"write", node, "--select", "1999990:2000010", "--value", "8", "--json"}
		plan := decode(t, must(t, "", append(args, "--dry-run")...))
		done := decode(t, must(t, "", append(args, "--stats")...))
		if plan["chunks_rewritten"] != 2.0 || plan["chunks_new"] != 0.0 {
			t.Errorf("%s: the plan is %v", compressor, plan)
		}
		stats, _ := done["stats"].(map[string]any)
		for _, name := range []string{"bytes_read", "bytes_decoded", "bytes_encoded", "requests"} {
			if !reflect.DeepEqual(plan[name], stats[name]) {
				t.Errorf("%s: %s: %v planned, %v done", compressor, name, plan[name], stats[name])
			}
		}
	}
}
