// SPDX-License-Identifier: Apache-2.0

package job_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/sharing"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/transfer"
)

// document is a plan as the command writes it.
type document map[string]any

// newArray makes an array of 24 by 6 numbers, and returns its location.
func newArray(t *testing.T) string {
	t.Helper()
	location := filepath.Join(t.TempDir(), "a.zarr")
	a, err := zarr.CreateArray(t.Context(), location, zarr.Spec{
		Shape: []int64{24, 6}, Type: dtype.Int32, Chunks: grid.Chunks(2, 6),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]int32, 24*6)
	for i := range values {
		values[i] = int32(i)
	}
	if err := errors.Join(zarr.Write(t.Context(), a, nil, values), a.Close()); err != nil {
		t.Fatal(err)
	}
	return location
}

// stages returns the stages of a plan in its JSON, the last of which publishes.
func stages(tasks ...int64) (list []job.Stage) {
	for _, n := range tasks {
		list = append(list, job.Stage{Name: "work", Tasks: n})
	}
	return append(list, job.Stage{Name: "publish", Tasks: 1})
}

// rechunking returns a plan that gives an array other chunks.
func rechunking(t *testing.T, location string) document {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), location, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	want := rechunk.Rechunking{Chunks: grid.Chunks(8, 2)}
	plan, err := rechunk.NewPlan(t.Context(), a, want, &rechunk.Options{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	request, err := json.Marshal(plan.Request)
	if err != nil {
		t.Fatal(err)
	}
	return document{"arrays": []document{{
		"operation": plan.Operation, "node": location, "changed": true, "stages": stages(plan.Stages[0].Tasks), "memory": plan.Memory,
		"fingerprint": plan.Fingerprint, "source": plan.State, "request": json.RawMessage(request),
	}}}
}

// write writes a plan to a file.
func (d document) write(t *testing.T) string {
	t.Helper()
	d["varve_plan"] = job.Version
	raw, err := json.Marshal(d)
	file := filepath.Join(t.TempDir(), "p.json")
	if err == nil {
		err = job.WriteFile(t.Context(), file, raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// worker opens a plan as another process would.
func worker(t *testing.T, file string) *job.Worker {
	t.Helper()
	p, err := job.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := job.NewWorker(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// elements returns the elements of an array.
func elements(t *testing.T, location string) []int32 {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), location, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	got, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got.Data
}

// TestCopyOptions sets the options of a copy one by one, and finds each in its request.
func TestCopyOptions(t *testing.T) {
	elsewhere := []string{"Options", "DryRun", "Share"} // not part of a plan
	for i := range reflect.TypeFor[transfer.SyncOptions]().NumField() {
		opt := new(transfer.SyncOptions)
		field, name := reflect.ValueOf(opt).Elem().Field(i), reflect.TypeFor[transfer.SyncOptions]().Field(i).Name
		if slices.Contains(elsewhere, name) {
			continue
		}
		switch field.Interface().(type) {
		case bool:
			field.SetBool(true)
		case string:
			field.SetString("x")
		case time.Time:
			field.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
		default:
			t.Fatalf("no value for %s, of type %v", name, field.Type())
		}
		text, err := json.Marshal(job.NewCopy(opt))
		var request job.Copy
		if err := errors.Join(err, json.Unmarshal(text, &request)); err != nil {
			t.Fatal(err)
		}
		if got := request.Options(); !reflect.DeepEqual(got, opt) {
			t.Errorf("%s: options are %+v in a plan, want %+v", name, got, opt)
		}
	}
}

// TestOperations executes a plan of each operation: too early, by two workers, and
// published twice.
func TestOperations(t *testing.T) {
	for name, plan := range map[string]func(from, to string) document{
		"rechunk": func(from, _ string) document { return rechunking(t, from) },
		"copy": func(from, to string) document {
			return document{"operation": "copy", "node": from, "target": to, "stages": stages(12), "request": job.Copy{Verify: true}}
		},
		"convert": func(from, to string) document {
			return document{"operation": "convert", "node": from, "target": to, "stages": stages(12), "request": job.Conversion{Format: 2, FillAll: true}}
		},
		"check": func(from, _ string) document {
			return document{"operation": "check", "node": from, "stages": stages(12), "request": job.Check{Checksums: true}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := newArray(t), filepath.Join(t.TempDir(), "b.zarr")
			want := elements(t, from)
			file := plan(from, to).write(t)
			first, second := worker(t, file), worker(t, file)
			if _, err := first.Publish(t.Context()); !errors.Is(err, sharing.ErrUnfinished) {
				t.Fatalf("published before any task: %v", err)
			}
			const of = 5
			for k := range int64(of) {
				w := []*job.Worker{first, second}[k%2]
				r, err := w.Do(t.Context(), job.Task{Number: k, Of: of})
				if err != nil {
					t.Fatal(err)
				}
				if r.Number != k || r.Attempts != 1 || len(r.Requests) == 0 {
					t.Errorf("%+v", r)
				}
				if k == 3 {
					if err := errors.Join(first.Leave(), second.Leave()); err != nil {
						t.Fatal(err)
					}
					if _, err := first.Publish(t.Context()); !errors.Is(err, sharing.ErrUnfinished) || !strings.Contains(err.Error(), "4/5") {
						t.Errorf("published without task 4: %v", err)
					}
				}
			}
			if err := errors.Join(first.Leave(), second.Leave()); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				result, err := second.Publish(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				checkResult(t, result, name)
			}
			if err := first.Forget(t.Context()); err != nil {
				t.Fatal(err)
			}
			at := from
			if name == "copy" || name == "convert" {
				at = to
			}
			if got := elements(t, at); !slices.Equal(got, want) {
				t.Errorf("got %v", got)
			}
			// The plan as a whole, by one process, finds that there is nothing to do.
			if _, err := worker(t, file).Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// checkResult checks that the result has what belongs to an operation.
func checkResult(t *testing.T, r *job.Result, operation string) {
	t.Helper()
	is := map[string]bool{"rechunk": len(r.Arrays) == 1, "copy": r.Copy != nil, "convert": r.Conversion != nil, "check": r.Check != nil}
	for name, has := range is {
		if has != (name == operation) {
			t.Errorf("%s: has a result of %s: %v", operation, name, has)
		}
	}
	if r.Check == nil {
		return
	}
	var lines strings.Builder
	if report, err := r.Check.Sums(t.Context(), &lines); err != nil || report.Values != 13 || strings.Count(lines.String(), "\n") != 13 {
		t.Errorf("%+v, %q (%v)", report, lines.String(), err)
	}
}

// TestFolder checks what is beside a plan, and that another plan at the same place does
// not take it for its own.
func TestFolder(t *testing.T) {
	from := newArray(t)
	plan := rechunking(t, from)
	file := plan.write(t)
	w := worker(t, file)
	if _, err := w.Do(t.Context(), job.Task{Of: 2}); err != nil {
		t.Fatal(err)
	}
	if s, err := w.Status(t.Context()); err != nil || s.Stages[0].Done != 1 || s.Stages[0].Of != 2 {
		t.Fatalf("%+v (%v)", s, err)
	}
	raw, err := json.Marshal(plan)
	if err == nil {
		err = job.WriteFile(t.Context(), file, []byte(strings.Replace(string(raw), "{", `{"id":"another",`, 1)))
	}
	if err != nil {
		t.Fatal(err)
	}
	if s, err := worker(t, file).Status(t.Context()); err != nil || s.Stages[0].Of != 0 {
		t.Errorf("another plan: %+v (%v)", s, err)
	}
	if err := w.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(file + ".tasks/*/*/*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
}

// TestParse refuses what is no plan, and says why.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                                  "cannot unmarshal",
		`{"varve_plan":1}`:                    "no arrays",
		`{"varve_plan":2,"operation":"copy"}`: "want 1",
		`{"varve_plan":1,"varve_plan":1}`:     "varve_plan",
		`{"varve_plan":1,"arrays":[null]}`:    "/arrays/0: there is no plan",
		`{"varve_plan":1,"operation":"copy","node":"a","request":{}}`:                                                "no target",
		`{"varve_plan":1,"operation":"convert","node":"a","target":"b","request":{"zarr_format":4}}`:                 "want 2 or 3",
		`{"varve_plan":1,"operation":"virtualize","target":"b.json","request":{"files":["x"]}}`:                      ".vz",
		`{"varve_plan":1,"operation":"virtualize","target":"b.vz","request":{}}`:                                     "needs files",
		`{"varve_plan":1,"operation":"sail","node":"a"}`:                                                             "not known",
		`{"varve_plan":1,"id":"../x","operation":"check","node":"a","request":{}}`:                                   "name of a folder",
		`{"varve_plan":1,"operation":"check","node":"a","arrays":[{"node":"a","operation":"compact"}],"request":{}}`: "both",
	} {
		if _, err := job.Parse([]byte(text)); !errors.Is(err, job.ErrPlan) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := job.Open(t.Context(), filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestTasks refuses tasks that a plan does not have.
func TestTasks(t *testing.T) {
	w := worker(t, rechunking(t, newArray(t)).write(t))
	for _, task := range []job.Task{{}, {Stage: 1, Of: 1}, {Stage: -1, Of: 1}, {Number: 2, Of: 2}, {Number: -1, Of: 2}, {Of: job.MostTasks + 1}} {
		if _, err := w.Do(t.Context(), task); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%+v: %v", task, err)
		}
	}
}

// FuzzParse parses anything, and executes nothing.
func FuzzParse(f *testing.F) {
	f.Add(`{"varve_plan":1,"operation":"check","node":"a","stages":[{"name":"check","tasks":3}],"request":{}}`)
	f.Add(`{"varve_plan":1,"arrays":[{"operation":"compact","node":"a","request":{"axis":0,"up_to":30},"stages":[]}]}`)
	f.Add(`{"varve_plan":1,"operation":"virtualize","target":"b.vz","request":{"files":["x"]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := job.Parse([]byte(text))
		if err != nil {
			return
		}
		for stage := range p.Stages() {
			_ = p.Tasks(stage)
		}
		if w, err := job.NewWorker(p, nil); err != nil {
			t.Errorf("parsed, and refused: %v", err)
		} else if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}
