// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/internal/test/filetest"
)

// TestIcechunkReportsCommit finds the commit of each command in its document, or null and
// a line that says so if nothing has changed.
func TestIcechunkReportsCommit(t *testing.T) {
	dir := folder(t)
	made := decode(t, must(t, "", fieldsIn(dir, "icechunk init DIR/repo --json")...))
	if made["branch"] != "main" {
		t.Error(made)
	}
	must(t, "", fieldsIn(dir, "create DIR/x.zarr --shape 3 --dtype int8")...)
	for _, c := range []struct {
		line    string
		commits bool
	}{
		{"create REPO@main/a --shape 3 --dtype int8 --chunks [[3]]", true},
		{"create REPO@main/g --group", true},
		{"write REPO@main/a --value 3 --yes", true},
		{"write REPO@main/a --value 3 --yes", false},
		{"append REPO@main/a --format json", true},
		{"compact REPO@main/a --to max:9", true},
		{"compact REPO@main/a --to max:9", false},
		{"rechunk REPO@main/a --chunks 2", true},
		{"attrs REPO@main/a set n 1", true},
		{"attrs REPO@main/a set n 1", false},
		{"attrs REPO@main/a unset n", true},
		{"attrs REPO@main/a set commit 1", true}, // the attribute is another member
		{"rm REPO@main/g --yes", true},
		{"icechunk import DIR/x.zarr REPO@main/x", true},
		{"copy REPO@main/x REPO@main/y", true},
		{"check REPO@main --repair", false},
	} {
		before := headOf(t, dir)
		document := decode(t, must(t, "[4]", append(fieldsIn(dir, c.line), "--json")...))
		head := headOf(t, dir)
		if (head != before) != c.commits {
			t.Errorf("%s: %s after %s", c.line, head, before)
		}
		if strings.Contains(c.line, "set commit") && document["attributes"].(map[string]any)["commit"] != 1.0 {
			t.Errorf("%s: %v", c.line, document)
		}
		commit, isObject := document["commit"].(map[string]any)
		null, named := document["commit"]
		switch {
		case !named || isObject != c.commits || !isObject && null != nil:
			t.Errorf("%s: %v", c.line, document)
		case isObject && (commit["snapshot"] != head || commit["branch"] != "main" || commit["repository"] != "file://"+dir+"/repo"):
			t.Errorf("%s: %v, want %s", c.line, commit, head)
		}
	}
	_, errs, status := execute(t, "", fieldsIn(dir, "attrs REPO@main/a set commit 1")...)
	if status != 0 || errs != "note: nothing has changed in the repository, so no commit was made\n" {
		t.Error(status, errs)
	}
	if document := decode(t, must(t, "", fieldsIn(dir, "attrs REPO@main/a --json")...)); len(document) != 1 || document["commit"] != 1.0 {
		t.Error(document)
	}
	if document := decode(t, must(t, "", fieldsIn(dir, "cat REPO@main/a --json")...)); document["commit"] != nil {
		t.Error(document)
	}
	last := headOf(t, dir)
	for _, kind := range []string{"branch", "tag"} {
		is := decode(t, must(t, "", fieldsIn(dir, "icechunk "+kind+" DIR/repo new --json")...))
		if is[kind] != "new" || is["done"] != "created" || is["snapshot"] != last {
			t.Error(is)
		}
	}
}

// headOf returns the snapshot of the branch main of the repository in a folder.
func headOf(t *testing.T, dir string) string {
	t.Helper()
	var list struct {
		Branches []struct{ Name, Snapshot string }
	}
	if err := json.Unmarshal([]byte(must(t, "", "icechunk", "branch", dir+"/repo", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	for _, b := range list.Branches {
		if b.Name == "main" {
			return b.Snapshot
		}
	}
	return ""
}

// TestIcechunkMessages reads what mistakes are answered, with the exit status.
func TestIcechunkMessages(t *testing.T) {
	dir, main := repositoryWithArray(t)
	must(t, "", "icechunk", "tag", dir, "v1")
	do(t, "[4]", "append", main+"/a", "--format", "json")
	local := folder(t) + "/a.zarr"
	must(t, "", "copy", main+"/a", local)
	for _, c := range []struct {
		line   string
		status int
		text   string
	}{
		{"icechunk", 2, "ACTION is missing: the actions are init, log, branch, tag, container, check, "},
		{"icechunk " + dir, 2, "ACTION is missing before " + dir},
		{"icechunk lgo " + dir, 2, `there is no action "lgo" (did you mean log?)`},
		{"icechunk log", 2, "REPOSITORY is missing"},
		{"icechunk init " + dir, 1, "init " + dir + ": a repository exists already: choose another place"},
		{"icechunk branch " + dir + " main", 1, "branch " + dir + `: the branch "main" exists already: reset it, or choose another name`},
		{"icechunk tag " + dir + " v1", 1, "tag " + dir + `: the tag "v1" exists already, and never changes: choose another name`},
		{"icechunk log " + dir + "2", 1, "log " + dir + "2: "},
		{"revert " + main + "/a", 1, "varve icechunk branch REPOSITORY NAME --reset SNAPSHOT"},
		{"write M/a --value 3 --message=", 2, "-m is the message of a commit, and this one is empty"},
		{"write " + local + " --value 3 -m x", 2, "this command makes none"},
		{"cat M/a -m x", 2, "this command makes none"},
		{"icechunk tag " + dir + " v2 -m x", 2, "this command makes none"},
		{"compact M/a --to 3 --plan " + local + ".json -m plan", 2, "--plan makes no commit: give -m, --metadata and --amend to varve run"},
		{"cat icechunk+" + dir + "@v1/a", 1, `"v1" is no branch, snapshot or time (did you mean tag:v1?); the branches: main; the tags (tag:NAME): v1`},
		{"cat icechunk+" + dir + "@2001-01-01/a", 1, "no snapshot is as old as 2001-01-01: the oldest of the branch main is "},
		{"icechunk export " + dir + "@main " + local + "3", 1, "is a repository: did you mean icechunk+file://" + dir + "@main?"},
		{"icechunk import " + local + " " + dir + "@dev", 1, "is a repository: did you mean icechunk+file://" + dir + "@dev?"},
		{"icechunk init " + dir + "@dev", 1, "is a repository: did you mean icechunk+file://" + dir + "@dev?"},
		{"icechunk import " + local + " " + dir, 1, "icechunk+file://" + dir + "@main/a.zarr puts it into the group"},
		{"append icechunk+" + dir + "/zzz b.npy", 1, "write @main before the path of a node, as in repo@main/zzz\n"},
		{"append icechunk+" + dir + "@2999-01-01/b b.npy", 1, `"2999-01-01" is a tag, a snapshot or a time, which never changes: write to a branch`},
		{"append icechunk+" + dir + "@dev/b b.npy", 1, `branch "dev"; the branches: main; the tags (tag:NAME): v1` + "\n"},
		{"append M/b b.npy", 1, "varve create " + main + "/b --from b.npy makes it of the first file"},
		{"append " + dir + "/b b.npy", 1, "is a repository of Icechunk (did you mean icechunk+file://" + dir + "@main/b?)\n"},
		{"copy M/a " + local + "2 -m x", 0, "note: no branch was changed, so no commit has the message of -m\n"},
		{"icechunk diff " + dir + " tag:v1 main", 1, "tag:v1 and main of " + dir + " differ"},
		{"rechunk M/a M/f --chunks 2 --follow", 1, "has no place for what a follower has read"},
		{"cat M/a --amend", 2, "this command makes none"},
		{"help icechunk none", 2, "there is no command or topic"},
	} {
		_, errs, status := execute(t, "", strings.Fields(strings.ReplaceAll(c.line, "M/", main+"/"))...)
		if status != c.status || !strings.Contains(errs, c.text) {
			t.Errorf("%s: status %d, %s, want %d, %s", c.line, status, errs, c.status, c.text)
		}
	}
	_, errs, _ := execute(t, "", "icechunk", "tag", dir, "v1", "--json")
	if e := decode(t, errs)["error"].(map[string]any); e["op"] != "tag" || e["path"] != dir || e["kind"] != "exists" {
		t.Error(e)
	}
	for _, action := range []string{"init", "log", "branch", "tag", "gc"} {
		if text := must(t, "", "help", "icechunk", action); !strings.Contains(text, "varve icechunk") {
			t.Error(text)
		}
	}
	if text := must(t, "", "help", "flags"); !strings.Contains(text, "-m, --message TEXT") {
		t.Error(text)
	}
	if text := must(t, "", "help", "terms"); !strings.Contains(text, "icechunk+file://") {
		t.Error(text)
	}
	if text, _, _ := execute(t, "", "copy", main+"/a", main+"/c"); !strings.Contains(text, "copied as references to the same chunks") {
		t.Error(text)
	}
	if text := must(t, "", "copy", main+"/a", local+"3"); strings.Contains(text, "references") {
		t.Error(text)
	}
}

// TestIcechunkDiffAfterAppend compares the elements that are in both snapshots, and
// counts requests. Equal snapshots are told of, with status 0.
func TestIcechunkDiffAfterAppend(t *testing.T) {
	dir, main := repositoryWithArray(t)
	must(t, "", "icechunk", "tag", dir, "v1")
	do(t, "[4]", "append", main+"/a", "--format", "json")
	compared := func(want string) {
		t.Helper()
		got, errs, status := execute(t, "", "icechunk", "diff", dir, "tag:v1", "main", "--values", "--stats")
		if status != 1 || !strings.Contains(got, want) || strings.Contains(got, "storage only") || strings.Contains(errs, "requests     0") {
			t.Errorf("status %d, %s%s", status, got, errs)
		}
	}
	compared("elements        a  those in both are equal\n")
	compared("  chunk_grid.configuration.chunk_shapes: [[3]], now [[3,1]]\n")
	compared("  shape: [3], now [4]\n")
	do(t, "", "write", main+"/a", "--value", "9", "--select", "1")
	compared("a  element [1] differs: 2 and 9\n")
	if got := must(t, "", "icechunk", "diff", dir, "main", "main"); !strings.Contains(got, "main and main have the same nodes and chunks") {
		t.Error(got)
	}
}

// TestIcechunkPlan executes a plan that writes into a repository in one process, and
// refuses its parts before anything is stored.
func TestIcechunkPlan(t *testing.T) {
	dir, main := repositoryWithArray(t)
	out := folder(t)
	for i, line := range []string{"rechunk M/a --chunks 2", "rechunk M/a M/new --chunks 2", "compact M/a --to max:9"} {
		plan := out + "/p.json"
		must(t, "", append(strings.Fields(strings.ReplaceAll(line, "M/", main+"/")), "--plan", plan)...)
		parts := map[string]string{}
		for _, flags := range []string{"--take", "--take 3", "--publish", "--stage 0 --task 0/2", "--script slurm", "--runner beam"} {
			parts["run "+plan+" "+flags] = "runs in one process, which makes one commit: varve run " + plan
		}
		refusesAll(t, dir, parts)
		if i < 2 {
			do(t, "", "run", plan, "-m", "a plan")
		}
	}
	if log := must(t, "", "icechunk", "log", dir); strings.Count(log, "  a plan\n") != 2 {
		t.Error(log)
	}
	must(t, "", "rechunk", main+"/a", out+"/b.zarr", "--chunks", "2", "--plan", out+"/q.json")
	must(t, "", "run", out+"/q.json", "--take")
	must(t, "", "run", out+"/q.json", "--publish")
	must(t, "", "equal", main+"/a", out+"/b.zarr")
}

// TestIcechunkOverwrites replaces nodes by imports and by other references, each in one
// commit. The notes name absolute folders.
func TestIcechunkOverwrites(t *testing.T) {
	dir := folder(t)
	files := filepath.ToSlash(filetest.Copied(t, "../../virtual/testdata/monthly_one_chunk_0[12].nc"))
	fields := func(line string) []string { return fieldsIn(dir, strings.ReplaceAll(line, "FILES", files)) }
	must(t, "", fields("icechunk init DIR/repo")...)
	t.Chdir(files)
	note := "to read the chunks, give every command --allow " + files + "; readers in Python need varve icechunk container file://" + dir + "/repo " + files + ", once"
	made := decode(t, must(t, "", fields("virtualize monthly_one_chunk_01.nc -o REPO@main/v --json")...))
	if text := made["notes"].([]any)[0]; text != note {
		t.Error(text)
	}
	must(t, "", fields("virtualize monthly_one_chunk_01.nc monthly_one_chunk_02.nc --concat time -o months.vz")...)
	made = decode(t, must(t, "", fields("icechunk import --reference months.vz REPO@main/w --json")...))
	if text := made["notes"].([]any)[0]; text != note {
		t.Error(text)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(files+"/monthly_one_chunk_01.nc", later, later); err != nil {
		t.Fatal(err)
	}
	if _, errs, _ := execute(t, "", fields("export REPO@main/v/t --format json --allow FILES")...); !strings.Contains(errs, "--overwrite") {
		t.Error(errs)
	}
	refusesAll(t, dir, map[string]string{
		strings.Join(fields("virtualize monthly_one_chunk_01.nc -o REPO@main/v"), " "):             "--overwrite replaces it in one commit",
		strings.Join(fields("virtualize monthly_one_chunk_01.nc -o REPO@main/v --overwrite"), " "): "give --yes",
		strings.Join(fields("virtualize monthly_one_chunk_01.nc -o x.vz --overwrite"), " "):        "--append brings a manifest",
		strings.Join(fields("icechunk import monthly_one_chunk_01.nc REPO@main/v"), " "):           "--overwrite",
	})
	before := treeOf(t, dir)
	must(t, "", fields("virtualize monthly_one_chunk_01.nc -o REPO@main/v --overwrite --dry-run")...)
	if treeOf(t, dir) != before {
		t.Error("a dry run has changed something")
	}
	commits := strings.Count(must(t, "", fields("icechunk log DIR/repo")...), "\n")
	for i, line := range []string{
		"virtualize monthly_one_chunk_01.nc -o REPO@main/v --overwrite --yes",
		"icechunk import --reference monthly_one_chunk_01.nc REPO@main/v --overwrite --yes",
		"icechunk import monthly_one_chunk_01.nc REPO@main/v --overwrite --yes",
	} {
		do(t, "", fields(line)...)
		must(t, "", fields("equal REPO@main/v monthly_one_chunk_01.nc --allow FILES")...)
		if n := strings.Count(must(t, "", fields("icechunk log DIR/repo")...), "\n"); n != commits+i+1 {
			t.Errorf("%s: %d commits after %d", line, n, commits)
		}
	}
}

// TestIcechunkDocument runs the first commands of the document about repositories.
func TestIcechunkDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/icechunk.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t)
	_, block, _ := strings.Cut(string(text), "```console\n")
	block, _, _ = strings.Cut(block, "```")
	for name, days := range map[string]string{"january.npy": "31", "february.npy": "28"} {
		must(t, "", "create", dir+"/"+name+".zarr", "--shape", days, "--dtype", "float32")
		must(t, "", "write", dir+"/"+name+".zarr", "--value", days)
		must(t, "", "export", dir+"/"+name+".zarr", "-o", dir+"/"+name)
	}
	t.Chdir(dir)
	for line := range strings.Lines(strings.ReplaceAll(block, "/data/", dir+"/")) {
		line, isCommand := strings.CutPrefix(strings.TrimSpace(line), "$ varve ")
		words := strings.Split(strings.ReplaceAll(line, "'", ""), `"`) // a message has spaces
		args := strings.Fields(words[0])
		if len(words) > 1 {
			args = append(args, words[1])
		}
		want := 0
		if strings.HasPrefix(line, "icechunk diff") {
			want = 1
		}
		if _, errs, status := execute(t, "", args...); !isCommand || status != want || strings.Contains(errs, "no commit") {
			t.Errorf("%s: status %d, %s", line, status, errs)
		}
	}
	must(t, "", "equal", "icechunk+file://"+dir+"/station@tag:v1/t2m", dir+"/january.npy.zarr")
	if log := must(t, "", "icechunk", "log", dir+"/station"); !strings.Contains(log, "  one chunk for each year\n") {
		t.Error(log)
	}
}
