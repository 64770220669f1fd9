// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// single returns a plan of one operation with a stage of so many tasks.
func single(operation, node, target string, tasks int64, request any) map[string]any {
	stages := []job.Stage{{Name: "work", Tasks: tasks}, {Name: "publish", Tasks: 1}}
	plan := map[string]any{"operation": operation, "node": node, "stages": stages, "request": request}
	if target != "" {
		plan["target"] = target
	}
	return plan
}

// group makes a group with two arrays.
func (p *place) group(t *testing.T, name string) (location string) {
	t.Helper()
	location = p.at + "/" + name
	g, err := zarr.CreateGroup(t.Context(), location, nil, nil)
	if err == nil {
		err = g.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"a", "b"} {
		x, err := zarr.CreateArray(t.Context(), location+"/"+a, zarr.Spec{Shape: []int64{40, 40}, Type: dtype.Int32, Chunks: grid.Chunks(10, 8)}, nil)
		if err == nil {
			err = zarr.Write(t.Context(), x, nil, make([]int32, 1600))
		}
		if err == nil {
			err = zarr.Write(t.Context(), x, nil, counting(1600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return location
}

func counting(n int32) (list []int32) {
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

// TestCopies copies a group, and converts it to the other format. The result is that of
// one process. The pipeline fails once after the publication, and runs again.
func TestCopies(t *testing.T) {
	for operation, request := range map[string]any{"copy": job.Copy{Verify: true}, "convert": job.Conversion{Format: 2}} {
		t.Run(operation, func(t *testing.T) {
			p := newPlace(t)
			group := namedPlace(t, "-source").group(t, "g.zarr")
			result := p.at + "/result.json"
			alone := p.put(t, single(operation, group, p.at+"/alone", 40, request))
			w := must(job.NewWorker(must(job.Open(t.Context(), alone)), nil))
			if _, err := w.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			plan := p.put(t, single(operation, group, p.at+"/shared", 40, request))
			failWith(t, func(step string, _ job.Task) error {
				if step == "published" {
					return errTest
				}
				return nil
			})
			if _, err := run(t, plan, Options{Tasks: 5, Result: result}); err == nil {
				t.Error("the pipeline has not failed")
			}
			failWith(t, func(string, job.Task) error { return nil })
			counters := mustRun(t, plan, Options{Tasks: 5, Result: result})
			if counters["tasks"] != 5 || counters["bytes_written"] > 5*1024 {
				t.Errorf("counters: %v", counters)
			}
			p.same(t, "alone", "shared")
			s := must(ReadSummary(t.Context(), result))
			if s.Operation != operation || s.Copy == nil && s.Conversion == nil {
				t.Errorf("summary: %+v", s)
			}
		})
	}
}

// TestCheck checks a group with a damaged chunk. What is wrong is the result, not a
// failure.
func TestCheck(t *testing.T) {
	p := newPlace(t)
	group := p.group(t, "g.zarr")
	damaged := store.MustKey("g.zarr/b/c/1/1")
	if _, err := store.Write(t.Context(), p.memory, store.Put(damaged, []byte("damaged")), store.Flush); err != nil {
		t.Fatal(err)
	}
	plan := p.put(t, single("check", group, "", 40, job.Check{}))
	result := p.at + "/result.json"
	mustRun(t, plan, Options{Tasks: 6, Result: result})
	s := must(ReadSummary(t.Context(), result))
	if s.Check == nil || s.Check.All != 1 || len(s.Check.Findings) != 1 || s.Check.Chunks != 40 {
		t.Fatalf("summary: %+v", s.Check)
	}
	if f := s.Check.Findings[0]; f.Path != "b" || !strings.HasSuffix(f.Key, "c/1/1") || f.Message == "" {
		t.Errorf("found %+v", f)
	}
	// Another check replaces the result.
	if _, err := store.Write(t.Context(), p.memory, store.Delete(damaged), store.Sync); err != nil {
		t.Fatal(err)
	}
	mustRun(t, plan, Options{Tasks: 6, Result: result})
	if s := must(ReadSummary(t.Context(), result)); s.Check.All != 0 || s.Check.Chunks != 39 {
		t.Errorf("summary: %+v", s.Check)
	}
}

// TestScan scans files in tasks.
func TestScan(t *testing.T) {
	dir := t.TempDir()
	names := must(filepath.Glob("../../virtual/testdata/epochs_days_*.nc"))
	var files []string
	for _, name := range names {
		to := filepath.Join(dir, filepath.Base(name))
		files = append(files, to)
		if err := os.WriteFile(to, must(os.ReadFile(name)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p := newPlace(t)
	target := filepath.Join(dir, "all.vz")
	plan := p.put(t, single("virtualize", "", target, int64(len(files)), job.Scan{Files: files, Concat: "time"}))
	result := p.at + "/result.json"
	mustRun(t, plan, Options{Result: result})
	s := must(ReadSummary(t.Context(), result))
	if m := s.Manifest; m == nil || m.Files != len(files) || m.Kept != len(files) || !s.Changed {
		t.Errorf("summary: %+v", s.Manifest)
	}
	first := manifest(t, target)
	if len(first) == 0 {
		t.Error("there is no manifest")
	}
	mustRun(t, plan, Options{Result: result})
	if !maps.Equal(first, manifest(t, target)) {
		t.Error("the second pipeline has changed the manifest")
	}
}

// manifest returns the files of a manifest. Scans of tasks that came too late may be
// left.
func manifest(t *testing.T, dir string) map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(filepath.Dir(path)) != "scan" {
			files[path] = string(must(os.ReadFile(path)))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

// TestFinishBundle checks that others can publish as soon as a bundle has ended.
func TestFinishBundle(t *testing.T) {
	p := newPlace(t)
	p.array(t, "a", 8)
	plan := p.plan(t, wanted{"a", rechunk.Compaction{Axis: 0, UpTo: 2}, 1 << 20})
	x := must(job.Open(t.Context(), plan))
	f := taskFn{Spec: newSpec(plan, x.ID, Options{}), Of: 1}
	if _, err := f.ProcessElement(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	f.FinishBundle(t.Context())
	other := must(job.NewWorker(x, nil))
	defer other.Close()
	if _, err := other.Publish(t.Context()); err != nil {
		t.Error(err)
	}
	f.Spec.dismiss(t.Context())
}

// TestIdle checks that a worker which the engine has given up between two tasks lets
// others publish after a while.
func TestIdle(t *testing.T) {
	was := mostIdle
	mostIdle = 50 * time.Millisecond
	t.Cleanup(func() { mostIdle = was })
	p := newPlace(t)
	p.array(t, "a", 8)
	plan := p.plan(t, wanted{"a", rechunk.Compaction{Axis: 0, UpTo: 2}, 1 << 20})
	x := must(job.Open(t.Context(), plan))
	f := taskFn{Spec: newSpec(plan, x.ID, Options{}), Of: 1}
	if _, err := f.ProcessElement(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	other := must(job.NewWorker(x, nil))
	defer other.Close()
	if _, err := other.Publish(t.Context()); !errors.Is(err, rechunk.ErrClaimed) {
		t.Errorf("published beside a worker: %v", err)
	}
	s := newSpec(plan, x.ID, Options{Patience: 5 * time.Second})
	err := s.try(t.Context(), "publishing", func() error { _, err := other.Publish(t.Context()); return err })
	if err != nil {
		t.Error(err)
	}
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.workers[f.Spec] != nil {
		t.Error("the worker is still open")
	}
}

// TestLost lets the store lose the answers of writes that took effect.
func TestLost(t *testing.T) {
	p := newPlace(t)
	p.array(t, "alone", rows)
	p.array(t, "shared", rows)
	plan := p.plan(t, rechunked("shared"))
	n := 0
	p.lose = func(op stepping.Op) error {
		if n++; n%211 == 0 && strings.HasPrefix(op.Name, "Put") && !isShare(op) {
			return errTest
		}
		return nil
	}
	counters := mustRun(t, plan, Options{Attempts: 10})
	p.lose = nil
	t.Logf("counters: %v", counters)
	p.alone(t, rechunked("alone"))
	p.same(t, "alone", "shared")
}
