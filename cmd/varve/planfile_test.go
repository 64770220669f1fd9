// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/rechunking"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
)

// refuses runs a command line that must fail with status 1 and these words.
func refuses(t *testing.T, words string, args ...string) {
	t.Helper()
	if _, errs, status := execute(t, "", args...); status != 1 || !strings.Contains(errs, words) {
		t.Errorf("varve %q: status %d, %s; want %q", args, status, errs, words)
	}
}

// TestRunInsert executes the plan of an insertion, in parts. It inserts only once, and
// only the files that it was made for.
func TestRunInsert(t *testing.T) {
	node := newNode(t, "--shape", "4", "--dtype", "int32", "--chunks", "[[2,2]]")
	must(t, numbers(0, 4), "write", node, "--format", "json")
	f, plan := files(t, "[10,11,12]", "[13]"), filepath.Join(t.TempDir(), "p.json")
	args := []string{"insert", node, "--at", "3", f[0], f[1]}
	if out := decode(t, must(t, "", append(args, "--dry-run", "--json")...)); out["operation"] != "insert" || out["changed"] != true || out["chunks_rewritten"] != 4.0 {
		t.Error(out)
	}
	must(t, "", append(args, "--plan", plan)...)
	if got := elementsAt(t, node, ""); got != "[0,1,2,3]" {
		t.Errorf("planning left %s", got)
	}
	must(t, "", "run", plan, "--stage", "0", "--task", "0/2")
	refuses(t, "not complete", "run", plan, "--publish")

	// A file of the same length and another time.
	info := must1(os.Stat(f[1]))
	overwrite(t, f[1], "[14]")
	if err := os.Chtimes(f[1], time.Time{}, info.ModTime().Add(time.Nanosecond*1000)); err != nil {
		t.Fatal(err)
	}
	refuses(t, "make the plan again", "run", plan, "--stage", "0", "--task", "1/2")
	overwrite(t, f[1], "[13]")
	if err := os.Chtimes(f[1], time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	must(t, "", "run", plan, "--stage", "0", "--task", "1/2")
	must(t, "", "run", plan, "--publish")
	if got, cut := elementsAt(t, node, ""), chunkShapes(t, node); got != "[0,1,2,10,11,12,13,3]" || cut != "[[2,1,3,[1,2]]]" {
		t.Errorf("%s in %s", got, cut)
	}
	refuses(t, "make the plan again", "run", plan)

	if err := os.Remove(f[1]); err != nil {
		t.Fatal(err)
	}
	refuses(t, "no such file", "run", plan)
	if _, errs, status := execute(t, "\x00\x00\x00\x00", "insert", node, "--at", "0", "--plan", plan); status != 2 || !strings.Contains(errs, "standard input") {
		t.Errorf("standard input: status %d, %s", status, errs)
	}
}

// TestRunInsertArray inserts the elements of another array, which must not change.
func TestRunInsertArray(t *testing.T) {
	node, other := newNode(t, "--shape", "4", "--dtype", "int32", "--chunks", "[[2,2]]"), newNode(t, "--shape", "3", "--dtype", "int32")
	plan := filepath.Join(t.TempDir(), "p.json")
	must(t, "[1,2,3]", "write", other, "--format", "json")
	must(t, "", "insert", node, "--at", "2", other, "--plan", plan)
	must(t, "[1,2,4]", "write", other, "--format", "json")
	refuses(t, "other elements", "run", plan)
	must(t, "[1,2,3]", "write", other, "--format", "json")
	must(t, "", "run", plan)
	if got := elementsAt(t, node, ""); got != "[0,0,1,2,3,0,0]" {
		t.Error(got)
	}
}

// TestRunTogether executes plans of several arrays that change in one transaction, from
// another folder.
func TestRunTogether(t *testing.T) {
	group := window(t)
	dir, name := filepath.Split(group)
	t.Chdir(dir)
	must(t, "", "drop", name, "--axis", "time", "--range", "10:40", "--plan", "drop.json")
	f := files(t, "[[7,8],[9,10]]", "[-2,-1]")
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	plan := filepath.Join(dir, "drop.json")
	refuses(t, "one process", "run", plan, "--stage", "0")
	refuses(t, "one process", "run", plan, "--publish")
	out := decode(t, must(t, "", "run", plan, "--json"))
	if arrays := out["arrays"].([]any); len(arrays) != 2 || arrays[0].(map[string]any)["changed"] != true {
		t.Error(out)
	}
	for name, want := range map[string]string{"time": "[[10,19,31]]", "t2m": "[[10,19,31],2]"} {
		if got := chunkShapes(t, group+"/"+name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	refuses(t, "make the plan again", "run", plan)

	insert := []string{"insert", group, "--axis", "time", "--at", "0", "t2m=" + f[0], "time=" + f[1]}
	if arrays := decode(t, must(t, "", append(insert, "--dry-run", "--json")...))["arrays"].([]any); len(arrays) != 2 || elementsAt(t, group+"/time", "0") != "0" {
		t.Errorf("%v", arrays)
	}
	must(t, "", append(insert, "--plan", plan)...)
	must(t, "", "run", plan)
	if a, b := elementsAt(t, group+"/time", "0:3"), elementsAt(t, group+"/t2m", "1:3"); a != "[-2,-1,0]" || b != "[[9,10],[0,1]]" {
		t.Errorf("%s %s", a, b)
	}
	refuses(t, "make the plan again", "run", plan)
}

// TestRunElsewhere executes a plan with relative locations from another folder.
func TestRunElsewhere(t *testing.T) {
	node := monthly(t)
	dir := filepath.Dir(filepath.Dir(node))
	want := must(t, "", "export", node, "--format", "json")
	t.Chdir(dir)
	out := decode(t, must(t, "", "rechunk", "a.zarr/x", "b.zarr", "--chunks", "7,7", "--plan", "p.json", "--json"))
	if out["node"] != "a.zarr/x" || out["target"] != "b.zarr" {
		t.Errorf("a plan shows other locations than were given: %v", out)
	}
	t.Chdir(t.TempDir())
	must(t, "", "run", filepath.Join(dir, "p.json"))
	if got := must(t, "", "export", filepath.Join(dir, "b.zarr"), "--format", "json"); got != want {
		t.Errorf("%.100s", got)
	}
}

// TestRunChanged executes plans of arrays that have changed since: that is said in one
// line, and refused with --exact.
func TestRunChanged(t *testing.T) {
	for name, change := range map[string]struct {
		words string
		args  []string
	}{
		"written": {"chunks were written", []string{"write", "", "--select", "0,0", "--value", "77"}},
		"grown":   {"metadata", []string{"resize", "", "--shape", "70,100", "--grow", "append-one"}},
	} {
		t.Run(name, func(t *testing.T) {
			node, plan := monthly(t), filepath.Join(t.TempDir(), "p.json")
			must(t, "", "rechunk", node, "--chunks", "12,12", "--plan", plan)
			must(t, "", "attrs", node, "set", "title", `"x"`) // no change that matters
			change.args[1] = node
			must(t, "", change.args...)
			want := must(t, "", "export", node, "--format", "json")
			refuses(t, change.words, "run", plan, "--exact")
			_, errs, status := execute(t, "", "run", plan)
			if lines := strings.Split(strings.TrimSpace(errs), "\n"); status != 0 || len(lines) != 1 || !strings.Contains(errs, change.words) {
				t.Errorf("status %d, %s", status, errs)
			}
			if got := must(t, "", "export", node, "--format", "json"); got != want {
				t.Errorf("%.100s, want %.100s", got, want)
			}
		})
	}
	// Links give chunks new versions, but the plan does not take that for a change.
	node, plan := monthly(t), filepath.Join(t.TempDir(), "p.json")
	must(t, "", "compact", node, "--to", "max:30", "--plan", plan)
	for _, args := range [][]string{{"--stage", "0", "--task", "0/2"}, {"--stage", "0", "--task", "1/2"}, {"--publish"}} {
		must(t, "", append([]string{"run", plan, "--exact"}, args...)...)
	}
	// A plan that is executed already.
	if _, errs, status := execute(t, "", "run", plan, "--exact"); status != 1 || !strings.Contains(errs, "metadata") {
		t.Errorf("a second time: status %d, %s", status, errs)
	}
}

// TestRunStages refuses a stage that no array of a plan has.
func TestRunStages(t *testing.T) {
	group := window(t)
	plan := filepath.Join(t.TempDir(), "p.json")
	must(t, "", "compact", group, "--axis", "time", "--to", "max:90", "--plan", plan)
	refuses(t, "no stage 99", "run", plan, "--stage", "99")
	refuses(t, "stage -1", "run", plan, "--stage", "-1")
	must(t, "", "run", plan, "--stage", "0")
	must(t, "", "run", plan, "--publish")
	if got := chunkShapes(t, group+"/t2m"); got != "[[90],2]" && got != "[90,2]" {
		t.Error(got)
	}
}

// TestMalformedPlans refuses files that are no plans, and says where.
func TestMalformedPlans(t *testing.T) {
	node, plan := monthly(t), filepath.Join(t.TempDir(), "p.json")
	must(t, "", "compact", node, "--to", "max:30", "--plan", plan)
	good := phrase.Compact([]byte(must1(os.ReadFile(plan))))
	request := `"request":{"axis":0,"up_to":30}`
	if !strings.Contains(good, request) {
		t.Fatal(good)
	}
	for was, c := range map[string]struct{ fresh, words string }{
		request:              {`"request":null`, "/arrays/0: there is no request"},
		request + ",":        {``, "/arrays/0: there is no request"},
		`"up_to":30`:         {`"upto":30`, "upto"},
		`"axis":0`:           {`"axis":0,"axis":1`, "axis"},
		`"memory":`:          {`"memory":"x","m":`, "memory"},
		`"varve_plan":1`:     {`"varve_plan":2`, "want 1"},
		`"operation":"comp`:  {`"operation":"cut","x":"`, "x"},
		`"operation":"compa`: {`"operation":"a`, `"act" is not known`},
		`"arrays":[`:         {`"arrays":[null,`, "/arrays/0: there is no plan"},
		`"arrays":`:          {`"arrays":[],"other":`, "other"},
		`{"varve_plan"`:      {`[{"varve_plan"`, "no plan"},
		`"node":`:            {`"node":"","x":`, "x"},
	} {
		bad := strings.Replace(good, was, c.fresh, 1)
		overwrite(t, plan, bad)
		refuses(t, c.words, "run", plan)
	}
	for operation, text := range map[string]string{"drop": `{"axis":0}`, "insert": `{"axis":0,"at":1}`} {
		bad := strings.Replace(strings.Replace(good, `"operation":"compact"`, `"operation":"`+operation+`"`, 1), request, `"request":`+text, 1)
		overwrite(t, plan, bad)
		refuses(t, "has no member", "run", plan)
	}
	bad := strings.Replace(strings.Replace(good, `"operation":"compact"`, `"operation":"insert"`, 1), request, `"request":{"axis":0,"at":0,"identity":"x"}`, 1)
	overwrite(t, plan, bad)
	refuses(t, "needs inputs", "run", plan)
	if got := chunkShapes(t, node); got != "[[10,20,30],25]" {
		t.Error(got)
	}
}

// TestPlanIsSmall plans for an array of many chunks of many lengths, none of which a plan
// lists: it stays far below 1 MB.
func TestPlanIsSmall(t *testing.T) {
	racing.Skip(t) // one goroutine plans
	node, file := filepath.Join(t.TempDir(), "a.zarr"), filepath.Join(t.TempDir(), "p.json")
	edges := make([]int64, 200_000)
	for i := range edges {
		edges[i] = 1 + int64(i*i%97)
	}
	cut := grid.Edges(edges...)
	shape := int64(0)
	for _, n := range edges {
		shape += n
	}
	if _, err := zarr.CreateArray(t.Context(), node, zarr.Spec{Shape: []int64{shape}, Type: dtype.Int8, Chunks: []grid.Cut{cut}}, nil); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"compact", node, "--to", "max:5000"}, {"rechunk", node, "--chunks", "999"}, {"drop", node, "--axis", "0", "--range", "5:70000"}} {
		must(t, "", append(args, "--plan", file)...)
		if info, err := os.Stat(file); err != nil || info.Size() > 100_000 {
			t.Errorf("%s: a plan of %d bytes (%v)", args[0], info.Size(), err)
		}
	}
}

// readStages returns the number of stages of a plan that have tasks.
func readStages(t *testing.T, plan string) int {
	t.Helper()
	var f rechunking.PlanFile
	if err := json.Unmarshal(must1(os.ReadFile(plan)), &f); err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, p := range f.Arrays {
		most = max(most, len(p.Stages)-1)
	}
	return most
}

// TestPlanReplaced refuses to write a plan over another file, and over the plan of
// another rechunk that has begun.
func TestPlanReplaced(t *testing.T) {
	node := newNode(t, "--shape", "8,8", "--dtype", "int8", "--chunks", "2,8")
	must(t, "", "write", node, "--value", "1", "--yes")
	dir := t.TempDir()
	plan, other := filepath.Join(dir, "p.json"), filepath.Join(dir, "notes.json")
	overwrite(t, other, `{"mine": true}`)
	overwrite(t, plan, "") // of mktemp
	refuses(t, "notes.json is a file, and no plan", "rechunk", node, "--chunks", "8,1", "--plan", other)
	for _, chunks := range []string{"8,4", "8,1", "8,1"} { // none has begun
		must(t, "", "rechunk", node, "--chunks", chunks, "--plan", plan)
	}
	must(t, "", "run", plan, "--stage", "0", "--task", "0/2")
	before := string(must1(os.ReadFile(plan)))
	refuses(t, "is the plan of a rechunk of "+node+" that has begun: finish it (varve run "+plan+"), give it up (varve vacuum "+node+" --give-up)", "rechunk", node, "--chunks", "8,2", "--plan", plan)
	if after := string(must1(os.ReadFile(plan))); after != before {
		t.Errorf("%s became %s", before, after)
	}
	must(t, "", "rechunk", node, "--chunks", "8,1", "--plan", plan) // the same again
	must(t, "", "vacuum", node, "--give-up", "--yes")
	must(t, "", "rechunk", node, "--chunks", "8,2", "--plan", plan)
	must(t, "", "run", plan)
	if cut := chunkShapes(t, node); cut != "every [8,2]" {
		t.Error(cut)
	}

	to := filepath.Join(dir, "new.zarr")
	must(t, "", "rechunk", node, to, "--chunks", "8,1", "--plan", plan)
	must(t, "", "run", plan, "--stage", "0", "--task", "0/2")
	refuses(t, "give it up (varve rm "+to+")", "rechunk", node, "--chunks", "8,4", "--plan", plan)
}
