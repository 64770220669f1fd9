// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/internal/job"
)

// hierarchy makes a group with arrays of several kinds, and returns it.
func hierarchy(t *testing.T) string {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	must(t, "", "create", group+"/sub", "--group")
	for name, args := range map[string][]string{
		"months":     {"--shape", "90,7", "--dtype", "int32", "--chunks", "[[31,28,31],3]", "--codecs", `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]`},
		"sub/shards": {"--shape", "40,40", "--dtype", "uint16", "--shards", "20,20", "--chunks", "5,5"},
		"sub/one":    {"--shape", "3", "--dtype", "float64", "--chunks", "3"},
	} {
		must(t, "", append([]string{"create", group + "/" + name}, args...)...)
	}
	must(t, numbers(0, 630), "write", group+"/months", "--format", "json", "--select", "")
	must(t, numbers(0, 1600), "write", group+"/sub/shards", "--format", "json", "--select", "")
	must(t, "[1,2,3]", "write", group+"/sub/one", "--format", "json")
	return group
}

// runParts executes the tasks of a plan in random order, some of them twice.
func runParts(t *testing.T, plan string, of int) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, uint64(of)))
	list := random.Perm(of)
	for _, k := range append(list, list[:of/3]...) {
		must(t, "", "run", plan, "--task", fmt.Sprintf("%d/%d", k, of))
	}
}

// stored returns the values below a folder, but for what Varve keeps for itself.
func stored(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := must1(filepath.Rel(dir, path))
		if !strings.Contains(name, "__varve") {
			files[name] = string(must1(os.ReadFile(path)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestSharedCopies copies and converts in parts. The result is that of one process. An
// early publication is refused, and a second one does nothing.
func TestSharedCopies(t *testing.T) {
	for name, args := range map[string][]string{"copy": {"--sync"}, "convert": {"--to", "2"}} {
		t.Run(name, func(t *testing.T) {
			group := hierarchy(t)
			if name == "convert" { // format 2 has no rectilinear grids
				group += "/sub"
			}
			dir := t.TempDir()
			alone, shared, plan := filepath.Join(dir, "alone.zarr"), filepath.Join(dir, "shared.zarr"), filepath.Join(dir, "p.json")
			must(t, "", append([]string{name, group, alone}, args...)...)
			must(t, "", append([]string{name, group, shared, "--plan", plan}, args...)...)
			if _, err := os.Stat(shared); err == nil {
				t.Error("planning has made the destination")
			}
			refuses(t, "no task", "run", plan, "--publish")
			must(t, "", "run", plan, "--task", "2/5")
			refuses(t, "lacks task 0/5", "run", plan, "--publish")
			if _, errs, status := execute(t, "", "info", shared); status == 0 {
				t.Errorf("an incomplete copy can be opened: %s", errs)
			}
			runParts(t, plan, 5)
			must(t, "", "run", plan, "--publish")
			if a, b := stored(t, alone), stored(t, shared); !maps.Equal(a, b) || len(a) < 5 {
				t.Errorf("stored %v, want %v", slices.Sorted(maps.Keys(b)), slices.Sorted(maps.Keys(a)))
			}
			must(t, "", "run", plan, "--publish")
			must(t, "", "run", plan, "--task", "3/5") // late
			must(t, "", "equal", group, shared)
			if a, b := stored(t, alone), stored(t, shared); !maps.Equal(a, b) {
				t.Error("a late task has changed the copy")
			}
		})
	}
}

// TestSharedCheck checks a group with damage in parts, by fixed tasks and by processes
// that take them. Findings, status and checksums are those of one process.
func TestSharedCheck(t *testing.T) {
	group := hierarchy(t)
	for _, damaged := range []bool{false, true} {
		if damaged {
			flip(t, filepath.Join(group, "months", "c", "1", "2"))
			flip(t, filepath.Join(group, "sub", "shards", "c", "1", "0"))
		}
		dir := t.TempDir()
		plan, list, found := filepath.Join(dir, "p.json"), filepath.Join(dir, "alone.sha256"), filepath.Join(dir, "shared.sha256")
		want, _, wantStatus := execute(t, "", "check", group, "--json", "--write-checksums", list)
		must(t, "", "check", group, "--write-checksums", found, "--plan", plan)
		refuses(t, "no task", "run", plan, "--publish")
		if damaged {
			must(t, "", "run", plan, "--take") // without a number, as many tasks as there are
		} else {
			runParts(t, plan, 4)
		}
		got, errs, status := execute(t, "", "run", plan, "--publish", "--json")
		if status != wantStatus || (status == 1) != damaged {
			t.Fatalf("status %d, want %d: %s", status, wantStatus, errs)
		}
		if got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if !damaged && string(must1(os.ReadFile(found))) != string(must1(os.ReadFile(list))) {
			t.Error("the lists of checksums differ")
		}
		if damaged { // the verdict can be asked for again
			if again, _, status := execute(t, "", "run", plan, "--publish", "--json"); status != 1 || again != got {
				t.Errorf("again: status %d, %s", status, again)
			}
		} else if names := must1(os.ReadDir(dir)); slices.ContainsFunc(names, func(e os.DirEntry) bool { return e.Name() == "p.json.tasks" }) && len(must1(os.ReadDir(plan+".tasks"))) > 0 {
			t.Error("records are left beside the plan")
		}
	}
}

// flip changes a byte in the middle of a file.
func flip(t *testing.T, file string) {
	t.Helper()
	data := must1(os.ReadFile(file))
	data[len(data)/2] ^= 0x55
	overwrite(t, file, string(data))
}

// TestSharedScan scans files in parts.
func TestSharedScan(t *testing.T) {
	dir := t.TempDir()
	for _, name := range must1(filepath.Glob("../../virtual/testdata/yearly_one_chunk_*.nc")) {
		overwrite(t, filepath.Join(dir, filepath.Base(name)), string(must1(os.ReadFile(name))))
	}
	alone, shared, plan := filepath.Join(dir, "alone.vz"), filepath.Join(dir, "shared.vz"), filepath.Join(dir, "p.json")
	files := filepath.Join(dir, "*.nc")
	must(t, "", "virtualize", files, "--concat", "time", "-o", alone)
	must(t, "", "virtualize", files, "--concat", "time", "-o", shared, "--plan", plan)
	runParts(t, plan, 3)
	if out := must(t, "", "run", plan, "--publish"); strings.Contains(out, "stopped") || !strings.Contains(out, "files added") {
		t.Errorf("no command was stopped: %s", out)
	}
	must(t, "", "equal", alone, shared)
	if a, b := stored(t, alone), stored(t, shared); len(a) != len(b) {
		t.Errorf("stored %v, want %v", slices.Sorted(maps.Keys(b)), slices.Sorted(maps.Keys(a)))
	}
	must(t, "", "run", plan, "--publish")
	for name, args := range map[string][]string{"references": {"-o", "x.json"}, "parquet": {"-o", "x.parq"}} {
		if _, errs, status := execute(t, "", append([]string{"virtualize", files, "--concat", "time", "--plan", plan}, args...)...); status != 2 || !strings.Contains(errs, "make a manifest") {
			t.Errorf("%s: status %d, %s", name, status, errs)
		}
	}
}

// TestStatus says how far the tasks of a plan are.
func TestStatus(t *testing.T) {
	node, plan := monthly(t), filepath.Join(t.TempDir(), "p.json")
	must(t, "", "rechunk", node, "--chunks", "12,12", "--plan", plan)
	if out := must(t, "", "run", plan, "--status"); !strings.Contains(out, "no task has begun") {
		t.Errorf("before any task: %q", out)
	}
	must(t, "", "run", plan, "--task", "0/4")
	must(t, "", "run", plan, "--task", "3/4")
	must(t, "", "run", plan, "--task", "3/4")
	if out := must(t, "", "run", plan, "--status"); !strings.Contains(out, "2 of 4 tasks done, 1 repeated by 3 workers") && !strings.Contains(out, "2 of 4 tasks done, 1 repeated by 2 workers") && !strings.Contains(out, "2 of 4 tasks done, 1 repeated by 1 worker") {
		t.Error(out)
	}
	var s job.Status
	if err := json.Unmarshal([]byte(must(t, "", "run", plan, "--status", "--json")), &s); err != nil || len(s.Stages) != 1 {
		t.Fatal(s, err)
	}
	if one := s.Stages[0]; one.Done != 2 || one.Of != 4 || one.Repeated != 1 || one.Read == 0 || one.Requests["get"] == 0 || len(one.Slowest) != 2 {
		t.Errorf("%+v", one)
	}
	must(t, "", "run", plan, "--task", "1/4")
	must(t, "", "run", plan, "--task", "2/4")
	if out := must(t, "", "run", plan, "--publish"); !strings.Contains(out, "4 of 4 tasks done") || !strings.Contains(out, "slowest") {
		t.Error(out)
	}
}

// TestRunUsage refuses flags that contradict each other.
func TestRunUsage(t *testing.T) {
	node, plan := monthly(t), filepath.Join(t.TempDir(), "p.json")
	must(t, "", "rechunk", node, "--chunks", "12,12", "--plan", plan)
	for words, args := range map[string][]string{
		"exclude each other": {"--take", "4", "--publish"},
		"exclude":            {"--status", "--task", "0/1"},
		"at least 1 task":    {"--take", "0"},
		"5":                  {"--take", "4", "5"},
		"--lease":            {"--lease", "5s"},
		"at least 1s":        {"--take", "4", "--lease", "1ms"},
	} {
		if _, errs, status := execute(t, "", append([]string{"run", plan}, args...)...); status != 2 || !strings.Contains(errs, words) {
			t.Errorf("%q: status %d, %s; want %q", args, status, errs, words)
		}
	}
	for words, args := range map[string][]string{
		"--plan needs --sync":                    {"copy", node, "x.zarr", "--plan", plan},
		"documents":                              {"convert", node, "--to", "2", "--plan", plan},
		"--plan and --sample exclude each other": {"check", node, "--sample", "1%", "--plan", plan},
	} {
		if _, errs, status := execute(t, "", args...); status != 2 || !strings.Contains(errs, words) {
			t.Errorf("%q: status %d, %s; want %q", args, status, errs, words)
		}
	}
}

// TestSyncPrices says what a mirror costs: the requests that a dry run predicts, and the
// bytes, by the prices of a file.
func TestSyncPrices(t *testing.T) {
	group, dir := hierarchy(t), t.TempDir()
	file := filepath.Join(dir, "prices.json")
	overwrite(t, file, `{"currency":"USD","per_1000_requests":{"get":1000,"put":1000,"list":1000},"per_gib_read":1073741824}`)
	out := decode(t, must(t, "", "copy", group, filepath.Join(dir, "m.zarr"), "--sync", "--dry-run", "--prices", file, "--json"))
	requests, cost := out["requests"].(map[string]any), out["cost"].(map[string]any)
	values, documents := out["chunks_copied"].(float64), out["documents_written"].(float64)
	if requests["get"] != values || requests["put"] != values+documents || requests["list"] != 2.0 || values < 5 {
		t.Errorf("%v", out)
	}
	if want := 2*values + documents + 2; cost["requests"] != want || cost["total"] != want+out["bytes_read"].(float64) {
		t.Errorf("%v, want %v for requests", cost, want)
	}
	if text := must(t, "", "copy", group, filepath.Join(dir, "m.zarr"), "--sync", "--dry-run", "--prices", file); !strings.Contains(text, "USD") {
		t.Error(text)
	}
	if _, errs, status := execute(t, "", "copy", group, filepath.Join(dir, "m.zarr"), "--prices", file); status != 2 || !strings.Contains(errs, "needs --sync") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// planJobs makes two equal arrays. It rechunks the first, and plans the same for the
// second.
func planJobs(t *testing.T, dir, alone, shared, plan string) {
	t.Helper()
	values := make([]byte, 480*480)
	for i := range values {
		values[i] = byte(i * i >> 7)
	}
	overwrite(t, filepath.Join(dir, "values.raw"), string(values))
	args := []string{"--chunks", "480,12", "--memory", "100kB"}
	for _, node := range []string{alone, shared} {
		must(t, "", "create", node, "--shape", "480,480", "--dtype", "uint8", "--chunks", "12,480")
		must(t, "", "write", node, filepath.Join(dir, "values.raw"))
	}
	must(t, "", append([]string{"rechunk", alone}, args...)...)
	must(t, "", append([]string{"rechunk", shared, "--plan", plan}, args...)...)
}

// TestTakeChanged lets the array change between two stages: processes that take tasks
// begin again with the first stage. The result has the new elements.
func TestTakeChanged(t *testing.T) {
	for name, change := range map[string][]string{
		"written": {"write", "", "--select", "100:110", "--value", "7"},
		"grown":   {"resize", "", "--shape", "492,480"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			node, plan := filepath.Join(dir, "shared.zarr"), filepath.Join(dir, "p.json")
			planJobs(t, dir, filepath.Join(dir, "alone.zarr"), node, plan)
			for k := range 7 {
				must(t, "", "run", plan, "--task", fmt.Sprintf("%d/7", k))
			}
			change[1] = node
			must(t, "", change...)
			want := must(t, "", "export", node, "--format", "json")
			for _, how := range [][]string{{"--take", "7"}, {"--publish"}} {
				// A note says that the array has changed.
				if _, errs, status := execute(t, "", append([]string{"run", plan}, how...)...); status != 0 {
					t.Fatalf("%s: status %d, %s", how, status, errs)
				}
			}
			if got := must(t, "", "export", node, "--format", "json"); got != want {
				t.Error("other elements")
			}
		})
	}
}

// TestPlanLocations checks what plans keep of locations: local names as they are, options
// of object stores, and no credentials.
func TestPlanLocations(t *testing.T) {
	c := newRoot()
	c.SetContext(t.Context())
	c.SetErr(io.Discard)
	for location, want := range map[string]string{
		"/data/in?2.zarr":        "/data/in?2.zarr",
		"file:///data/in?2.zarr": "file:///data/in?2.zarr",
		"s3://b/x?endpoint=http://h:9000&profile=p&server_side_encryption=aws:kms&access_key_id=A&aws_secret_access_key=B&session_token=C": "s3://b/x?endpoint=http%3A%2F%2Fh%3A9000&profile=p&server_side_encryption=aws%3Akms",
		"s3://b/x?endpoint=http://u:p@h":              "s3://b/x",
		"s3://b/x?endpoint=http://h/?sig=S":           "s3://b/x",
		"gs://b/x?token=anon":                         "gs://b/x?token=anon",
		"gs://b/x?token=ya29":                         "gs://b/x",
		"gs://b/x?service_account=k@p.json":           "gs://b/x?service_account=k%40p.json",
		"az://a/c/x?account_key=K&account_name=a":     "az://a/c/x?account_name=a",
		"az://a/c/x?sas_token=K&skip_signature=false": "az://a/c/x?skip_signature=false",
		"https://u:p@h/x?sig=S":                       "https://h/x",
		"https://h/x":                                 "https://h/x",
	} {
		if got := planfile.Location(c, location); got != want {
			t.Errorf("%s: %s, want %s", location, got, want)
		}
	}
}

// TestPublishedTarget publishes a new array twice, and executes a task late: both find
// that there is nothing to do.
func TestPublishedTarget(t *testing.T) {
	node, dir := monthly(t), t.TempDir()
	target, plan := filepath.Join(dir, "b.zarr"), filepath.Join(dir, "p.json")
	must(t, "", "rechunk", node, target, "--chunks", "12,12", "--plan", plan)
	must(t, "", "run", plan, "--take", "5")
	if out := must(t, "", "run", plan, "--publish"); !strings.Contains(out, "published") {
		t.Error(out)
	}
	want := stored(t, target)
	for _, how := range [][]string{{"--publish"}, {"--take", "5"}, {"--task", "0/2"}, nil} {
		must(t, "", append([]string{"run", plan}, how...)...)
	}
	if !maps.Equal(want, stored(t, target)) {
		t.Error("the array has changed")
	}
	must(t, "", "equal", node, target)
	// Another array at the place is in the way.
	must(t, "", "rechunk", node, filepath.Join(dir, "c.zarr"), "--chunks", "12,12", "--plan", plan)
	must(t, "", "create", filepath.Join(dir, "c.zarr"), "--shape", "5", "--dtype", "int8")
	refuses(t, "something already", "run", plan, "--take", "5")
}
