// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/rechunk"
)

// TestMain is the worker if an engine of a test starts this program.
func TestMain(m *testing.M) {
	if isProcess(os.Args[1:]) {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// execute runs the command with flags of Beam that are not set.
func execute(t *testing.T, args ...string) (out, notes string, status int) {
	t.Helper()
	reset()
	t.Cleanup(reset)
	// Prism waits for ever for a worker that does not come.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var a, b bytes.Buffer
	status = run(ctx, args, &a, &b)
	return a.String(), b.String(), status
}

// reset sets the flags of Beam to their defaults.
func reset() {
	flag.VisitAll(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") && f.Value.String() != f.DefValue {
			_ = f.Value.Set(f.DefValue)
		}
	})
}

// planned makes an array of 24 thin chunks, and a plan that merges them by threes.
func planned(t *testing.T) (plan, node string) {
	t.Helper()
	dir := t.TempDir()
	node, plan = filepath.Join(dir, "a.zarr"), filepath.Join(dir, "p.json")
	request := rechunk.Compaction{Axis: 0, UpTo: 3}
	a, err := zarr.CreateArray(t.Context(), node, zarr.Spec{Shape: []int64{24, 8}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(slices.Repeat([]int64{1}, 24)...), grid.Every(8)}}, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, elements())
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := rechunk.NewPlan(t.Context(), a, request, &rechunk.Options{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	w := job.Work{Operation: p.Operation, Node: node, Changed: true, Memory: 1 << 20, Fingerprint: p.Fingerprint, Source: p.State}
	for _, s := range p.Stages {
		w.Stages = append(w.Stages, job.Stage{Name: s.Name, Tasks: s.Tasks})
	}
	w.Stages = append(w.Stages, job.Stage{Name: "publish", Tasks: 1})
	if w.Request, err = json.Marshal(request); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]any{"varve_plan": job.Version, "id": "x", "arrays": []*job.Work{&w}})
	if err == nil {
		err = os.WriteFile(plan, raw, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return plan, node
}

func elements() (list []int32) {
	for i := range int32(24 * 8) {
		list = append(list, i*i)
	}
	return list
}

// compacted checks the array of planned.
func compacted(t *testing.T, node string) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), node, nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil || !slices.Equal(block.Data, elements()) {
		t.Errorf("other elements (%v)", err)
	}
	if n := a.Grid().Chunks()[0]; n != 8 {
		t.Errorf("%d chunks", n)
	}
}

// TestPrism executes a plan in this process, and prints a report. A second time there is
// nothing to do.
func TestPrism(t *testing.T) {
	plan, node := planned(t)
	out, notes, status := execute(t, plan, "--tasks", "3", "--progress", "1ms")
	if status != 0 || !strings.Contains(out, "compact: published") || !strings.Contains(out, "tasks by 1 worker, 0 repeated") {
		t.Fatalf("%d: %s%s", status, out, notes)
	}
	compacted(t, node)
	left, err := os.ReadDir(filepath.Dir(plan))
	if err != nil || len(left) != 3 { // the array, the plan and its result
		t.Errorf("left: %v (%v)", left, err)
	}
	out, notes, status = execute(t, plan, "--json", "--keep")
	var r report
	if err := json.Unmarshal([]byte(out), &r); status != 0 || err != nil {
		t.Fatalf("%d: %v: %s%s", status, err, out, notes)
	}
	if r.Result.ID != "x" || !r.Result.Changed || r.Counters["tasks"] < 1 || r.Stages[0].Done < 1 {
		t.Errorf("report: %+v", r)
	}
	if _, err := os.Stat(plan + ".tasks"); err != nil {
		t.Error(err)
	}
}

// TestPool executes a plan with workers that a pool starts.
func TestPool(t *testing.T) {
	plan, node := planned(t)
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := at.Addr().String()
	at.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- servePool(ctx, address) }()
	out, notes, status := execute(t, plan, "--", "--environment_type=EXTERNAL", "--environment_config="+address)
	if status != 0 {
		t.Errorf("%d: %s%s", status, out, notes)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	compacted(t, node)
}

// TestProcess executes a plan with this program as the process that is the worker.
func TestProcess(t *testing.T) {
	plan, node := planned(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, notes, status := execute(t, plan, "--json", "--keep", "--", "--environment_type=PROCESS", fmt.Sprintf("--environment_config={%q:%q}", "command", self))
	if status != 0 {
		t.Fatalf("%d: %s%s", status, out, notes)
	}
	compacted(t, node)
	if strings.Contains(out, fmt.Sprintf("process %d\"", os.Getpid())) {
		t.Error("this process was the worker")
	}
}

// TestUsage checks that wrong arguments fail before anything begins, and say why.
func TestUsage(t *testing.T) {
	plan, _ := planned(t)
	for text, args := range map[string][]string{
		"0 plans":                 {},
		"2 plans":                 {plan, plan},
		"not defined: -taskz":     {plan, "--taskz", "3"},
		"after --: flag provided": {plan, "--", "--no_such_flag"},
		`after --: "x" is no`:     {plan, "--", "x"},
		"takes no plan":           {plan, "--worker-pool", "1"},
		"below 0":                 {plan, "--tasks", "-1"},
		"no worker":               {plan, "--workers", "0"},
	} {
		if _, notes, status := execute(t, args...); status != misused || !strings.Contains(notes, text) {
			t.Errorf("%q: status %d, %s", args, status, notes)
		}
	}
	if _, notes, status := execute(t, "--help"); status != 0 || !strings.Contains(notes, "-worker-pool") {
		t.Errorf("status %d, %s", status, notes)
	}
	if _, notes, status := execute(t, plan+".none"); status != failed || !strings.Contains(notes, "p.json.none") {
		t.Errorf("status %d, %s", status, notes)
	}
}

// TestProbe checks that an endpoint where nothing listens fails at once.
func TestProbe(t *testing.T) {
	plan, _ := planned(t)
	_, notes, status := execute(t, plan, "--", "--runner=universal", "--endpoint=127.0.0.1:1")
	if status != failed || !strings.Contains(notes, "start the job server") {
		t.Errorf("status %d, %s", status, notes)
	}
}

// TestPrepare checks the flags that the command sets by itself.
func TestPrepare(t *testing.T) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		environment, binary string
		parallelism         int
	}{
		{"LOOPBACK", self, 5},
		{"PROCESS", self, 5},
		{"EXTERNAL", "", 5},
	} {
		reset()
		*jobopts.Endpoint, *jobopts.EnvironmentType = at.Addr().String(), c.environment
		undo, err := prepare(t.Context(), 5)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(*jobopts.WorkerBinary)
		if err != nil || *jobopts.Parallelism != c.parallelism || c.binary != "" && *jobopts.WorkerBinary != c.binary || c.binary == "" && info.Size() > 0 {
			t.Errorf("%s: parallelism %d, worker binary %q (%v)", c.environment, *jobopts.Parallelism, *jobopts.WorkerBinary, err)
		}
		undo()
	}
	reset()
	if _, err := prepare(t.Context(), 5); err != nil || *jobopts.WorkerBinary != "" {
		t.Errorf("a worker binary %q for workers in this process (%v)", *jobopts.WorkerBinary, err)
	}
}

// TestWorkerArguments checks how the command knows that an engine has started it.
func TestWorkerArguments(t *testing.T) {
	for _, c := range []struct {
		args            []string
		worker, process bool
	}{
		{[]string{"p.json", "--tasks", "4", "--", "--worker"}, false, false},
		{[]string{"--worker-pool", "15001"}, false, false},
		{[]string{"--worker=true", "--id=1-1", "--control_endpoint=x"}, true, false},
		{[]string{"--id=1-1", "--provision_endpoint=localhost:5"}, false, true},
	} {
		if w, p := isWorker(c.args), isProcess(c.args); w != c.worker || p != c.process {
			t.Errorf("%q: worker %v, process %v", c.args, w, p)
		}
	}
}

// TestBeside checks where the result is stored.
func TestBeside(t *testing.T) {
	for plan, want := range map[string]string{
		"dir/p.json":                             "dir/p.json.result",
		"s3://b/p.json":                          "s3://b/p.json.result",
		"s3://b/p.json?endpoint=http://x&a=b":    "s3://b/p.json.result?endpoint=http://x&a=b",
		"/a/what?.json":                          "/a/what?.json.result",
		"file:///a/p.json":                       "file:///a/p.json.result",
		"gs://bucket/deep/er/p.json?project=abc": "gs://bucket/deep/er/p.json.result?project=abc",
	} {
		if got := beside(plan, resultSuffix); got != want {
			t.Errorf("%s: %s, want %s", plan, got, want)
		}
	}
}

// TestTexts checks how numbers are printed.
func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		bytesText(5): "5 B", bytesText(1536): "1.5 KiB", bytesText(20 << 20): "20 MiB", bytesText(1 << 62): "4.0 EiB",
		secondsText(0.0204): "20ms", secondsText(75.04): "1m15s",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
