// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// transposed is an array whose present chunks lie across the wanted ones, and what it
// holds.
type transposed struct {
	store store.Store
	array *zarr.Array
	shape []int64
	data  []int32
	want  rechunk.Rechunking
	thick int64 // the longest chunk across
	// rand makes what is written: writers run in goroutines, which rapid cannot draw in.
	rand *rand.Rand
}

// seeded returns a generator with a drawn seed.
func seeded(t *rapid.T) *rand.Rand { return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)) }

// drawTransposed draws an array of rank 2 with thin chunks along one axis, to be cut into
// thin chunks along the other one.
func drawTransposed(t *rapid.T) *transposed {
	x := &transposed{store: memtest.New(), rand: seeded(t)}
	x.shape = []int64{rapid.Int64Range(8, 80).Draw(t, "rows"), rapid.Int64Range(8, 80).Draw(t, "columns")}
	x.thick = rapid.Int64Range(1, 3).Draw(t, "thickness")
	thin := func(axis int, label string) []grid.Cut {
		cuts := []grid.Cut{grid.Every(80), grid.Every(80)}
		if rapid.Bool().Draw(t, label+" is regular") {
			cuts[axis] = grid.Every(rapid.Int64Range(1, x.thick).Draw(t, label))
			return cuts
		}
		var edges []int64
		for sum := int64(0); sum < x.shape[axis]; sum += edges[len(edges)-1] {
			edges = append(edges, rapid.Int64Range(1, x.thick).Draw(t, label))
		}
		cuts[axis] = grid.Edges(edges...)
		return cuts
	}
	axis := rapid.IntRange(0, 1).Draw(t, "axis")
	a, err := zarr.At(x.store, "a").CreateArray(t.Context(), zarr.Spec{
		Type: dtype.Int32, Shape: x.shape, Chunks: thin(axis, "from"), Codecs: fixture.Plain(), FillValue: zarr.FillJSON("7"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.array, x.want = a, rechunk.Rechunking{Chunks: thin(1-axis, "to")}
	x.data = slices.Repeat([]int32{7}, int(x.shape[0]*x.shape[1]))
	for range rapid.IntRange(0, 4).Draw(t, "writes") {
		x.write(t)
	}
	return x
}

// write writes a random box of random values.
func (x *transposed) write(t *rapid.T) {
	box := make(grid.Box, 2)
	for i, n := range x.shape {
		from := x.rand.Int64N(n)
		box[i] = grid.Interval{Start: from, Stop: from + 1 + x.rand.Int64N(n-from)}
	}
	n, _ := box.Len()
	values := make([]int32, n)
	for i := range values {
		values[i] = x.rand.Int32N(9)
	}
	if err := zarr.Write(t.Context(), x.array, selection.BoxOf(box), values); err != nil {
		t.Fatal(err)
	}
	for k, at := 0, make([]int64, 2); k < len(values); k++ {
		at[0], at[1] = box[0].Start+int64(k)/box[1].Len(), box[1].Start+int64(k)%box[1].Len()
		x.data[at[0]*x.shape[1]+at[1]] = values[k]
	}
}

// grow appends a row.
func (x *transposed) grow(t *rapid.T) {
	row := make([]int32, x.shape[1])
	for i := range row {
		row[i] = x.rand.Int32N(10)
	}
	if err := zarr.Append(t.Context(), x.array, 0, row, nil); err != nil {
		t.Fatal(err)
	}
	x.shape[0]++
	x.data = append(x.data, row...)
}

func (x *transposed) check(t *rapid.T, a *zarr.Array) {
	got, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil || !slices.Equal(got.Data, x.data) {
		t.Fatalf("%v (%v), want %v", got.Data, err, x.data)
	}
}

// left returns the keys that only an unfinished rechunk may have.
func left(t *testing.T, s store.Store) (names []string) {
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(e.Name, "/scratch/") || strings.Contains(e.Name, "unfinished") || strings.Contains(e.Name, "/regrid") {
			names = append(names, e.Name)
		}
	}
	return names
}

// seen counts what TestStages has met.
var seen struct{ scratch, stages, again int64 }

// TestStages rechunks arrays through scratch, while other writers write and append
// between any two tasks.
func TestStages(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		x := drawTransposed(t)
		opt := rechunk.Options{Memory: 4 * 4 * (83*x.thick + rapid.Int64Range(0, 160).Draw(t, "more elements"))}.PlanStages(rapid.SampledFrom([]int64{1, 50, 1000}).Draw(t, "request"))
		changes := rapid.IntRange(0, 3).Draw(t, "changes")
		opt.Progress = func(p rechunk.Progress) {
			seen.stages = max(seen.stages, int64(p.Stages))
			if changes == 0 || x.rand.IntN(6) > 0 {
				return
			}
			if changes--; x.rand.IntN(2) == 0 {
				x.grow(t)
			} else {
				x.write(t)
			}
		}
		report, err := rechunk.Do(t.Context(), x.array, x.want, opt)
		if err != nil {
			t.Fatal(err)
		}
		seen.scratch += report.Staged.Scratch
		seen.again += int64(report.Again)
		x.check(t, x.array)
		after, err := zarr.At(x.store, "a").OpenArray(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		x.check(t, after)
		if names := left(tt, x.store); len(names) > 0 {
			t.Fatalf("left over: %q", names)
		}
	})
	if tt.Failed() {
		return
	}
	if seen.scratch == 0 || seen.stages < 2 {
		tt.Errorf("stages were not tried: %+v", seen)
	}
}

// fates are what happens to the operation at which a client stops.
var fates = map[string]func(s *stepping.Stepper) (done bool){
	"stop before": func(s *stepping.Stepper) bool { s.Crash(0); return true },
	"stop after":  func(s *stepping.Stepper) bool { _, done := s.Lose(0); s.Crash(0); return done },
	"lost answer": func(s *stepping.Stepper) bool { _, done := s.Lose(0); return done },
	"error":       func(s *stepping.Stepper) bool { _, done := s.Refuse(0); return done },
}

// client is the store of one process.
type client struct{ stepping.ObjectStore }

// TestStagesCrash stops a rechunk through scratch at every operation in every way.
// The same request completes it, and leaves no scratch. Abandon leaves none, either.
func TestStagesCrash(t *testing.T) {
	for fate, end := range fates {
		for _, into := range []string{"", "b"} {
			t.Run(fate+" into "+into, func(t *testing.T) {
				t.Parallel()
				at := 0
				for crashAt(t, at, end, into) {
					at++
				}
				t.Logf("%d operations", at)
				if at < 50 {
					t.Errorf("only %d operations", at)
				}
			})
		}
	}
}

// rows makes the array "a" of 8 rows, and returns the request to cut it into columns.
func rows(t *testing.T, s store.Store) (*zarr.Array, rechunk.Request) {
	a, err := zarr.At(s, "a").CreateArray(t.Context(), zarr.Spec{
		Type: dtype.Int32, Shape: []int64{8, 8}, Chunks: []grid.Cut{grid.Every(1), grid.Every(8)}, Codecs: fixture.Plain(),
	}, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 64))
	}
	if err != nil {
		t.Fatal(err)
	}
	return a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(8), grid.Every(1)}}
}

// again opens the array "a" as another process would.
func again(t *testing.T, s stepping.ObjectStore) *zarr.Array {
	a, err := zarr.At(&client{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Error(err)
	}
	return a
}

// renamed changes the attributes of an array.
func renamed(t *testing.T, a *zarr.Array, number int) {
	err := a.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return fmt.Appendf(nil, `{"n": %d}`, number), nil })
	if err != nil {
		t.Fatal(err)
	}
}

// crashAt stops a rechunk at its operation number at. It returns false if there are
// fewer. The result is a new array, or replaces the grid if into is empty.
func crashAt(t *testing.T, at int, end func(*stepping.Stepper) bool, into string) bool {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	want := fixture.Numbers(1, 64)
	_, request := rows(t, inner)
	do := func(s store.Store, takeOver bool) (*zarr.Array, *rechunk.Options, error) {
		a, err := zarr.At(&client{s.(stepping.ObjectStore)}, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
		opt := rechunk.Options{Memory: 4 * 4 * 16, TakeOver: takeOver}.PlanStages(1)
		if into != "" {
			opt.Into = zarr.At(&client{s.(stepping.ObjectStore)}, into)
		}
		return a, opt, err
	}
	run := func(s store.Store, takeOver bool) error {
		a, opt, err := do(s, takeOver)
		if err == nil {
			_, err = rechunk.Do(t.Context(), a, request, opt)
		}
		return err
	}
	reads := func(path string) {
		t.Helper()
		a, err := zarr.At(inner, path).OpenArray(t.Context(), nil)
		if errors.Is(err, fs.ErrNotExist) && path == "b" {
			return
		}
		if got, readErr := zarr.Read[int32](t.Context(), a, nil); err != nil || readErr != nil || !slices.Equal(got.Data, want) {
			t.Fatalf("after operation %d: %v (%v, %v)", at, got.Data, err, readErr)
		}
	}
	stepper := stepping.NewStepper(inner)
	defer stepper.Close()
	stepper.Start(func(s store.Store) error { return run(s, false) })
	for range at {
		if _, done := stepper.Step(0); done {
			return false
		}
	}
	if done := end(stepper); !done {
		stepper.Finish(func(int) int { return 0 }, 0)
	}
	reads("a")
	reads("b")
	if into == "" && slices.Contains(left(t, inner), "a/__varve/regrid.json") && at%3 == 0 {
		a, opt, err := do(inner, true)
		if err == nil {
			err = rechunk.Abandon(t.Context(), a, opt)
		}
		if err != nil {
			t.Fatalf("abandon after operation %d: %v", at, err)
		}
		if names := left(t, inner); len(names) > 0 {
			t.Fatalf("abandoned after operation %d, left over: %q", at, names)
		}
	}
	if into != "" {
		renamed(t, again(t, inner), at)
	}
	err := run(inner, true)
	if err != nil && (into == "" || !errors.Is(err, fs.ErrExist)) {
		t.Fatalf("again after operation %d: %v\n%s", at, err, stepper.Trace())
	}
	// Of attempts that were not published, no record stays.
	if names := slices.Collect(keysOf(t, inner)); into == "" {
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(name, "/grids/") || !strings.HasSuffix(name, ".json") })
		if len(names) != 1 {
			t.Fatalf("again after operation %d: the records %q", at, names)
		}
	}
	// The place is taken only by what the first process has completed.
	if names := left(t, inner); into != "" && len(names) > 0 {
		t.Fatalf("again after operation %d: %v, left over: %q", at, err, names)
	}
	reads("a")
	reads("b")
	for _, path := range []string{"a", into} {
		a, err := zarr.At(inner, path).OpenArray(t.Context(), &zarr.Options{Write: true})
		if path != "" && err == nil {
			_, err = rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1})
		}
		if path != "" && err != nil {
			t.Fatal(err)
		}
	}
	if names := left(t, inner); len(names) > 0 {
		t.Fatalf("operation %d leaves %q\n%s", at, names, stepper.Trace())
	}
	reads("a")
	reads("b")
	return true
}

// TestScratchOfErasedChunk erases a chunk of the source after its scratch was made. The
// scratch is still stored, but nothing may read it.
func TestScratchOfErasedChunk(t *testing.T) {
	s := stepping.Conditional(memtest.New(), stepping.Hooks{})
	_, request := rows(t, s)
	opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
	stage := func(n int) {
		t.Helper()
		if _, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.StageShare{Stage: n}, opt); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := rechunk.NewPlan(t.Context(), again(t, s), request, opt)
	if err != nil || len(plan.Stages) < 2 {
		t.Fatalf("%+v (%v)", plan, err)
	}
	stage(0)
	// Varve overwrites chunks in a store without locks. Other programs delete them.
	for row := range 4 {
		key := store.MustKey(fmt.Sprintf("a/c/%d/0", row))
		if _, err := store.Write(t.Context(), s, store.Delete(key), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	stage(0)
	stage(1)
	if _, err := rechunk.Publish(t.Context(), again(t, s), request, opt); err != nil {
		t.Fatal(err)
	}
	want := append(make([]int32, 32), fixture.Numbers(33, 32)...)
	got, err := zarr.Read[int32](t.Context(), again(t, s), nil)
	if err != nil || !slices.Equal(got.Data, want) {
		t.Fatalf("%v (%v), want %v", got.Data, err, want)
	}
}

// TestTwoProcessesMakeOneObject lets a slow process, which has read the source before a
// write, replace an object of another process that has read it afterwards, before that
// one looks at the version of its object.
func TestTwoProcessesMakeOneObject(t *testing.T) {
	inner := memtest.New()
	s := stepping.Conditional(inner, stepping.Hooks{})
	_, request := rows(t, s)
	opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
	isObject := func(op stepping.Op) bool {
		key := op.Key.String()
		return strings.Contains(key, "/scratch/") && strings.HasSuffix(key, "/c/0/0")
	}
	stores, goOn, done := make(chan bool), make(chan bool), make(chan error, 1)
	first := sync.OnceFunc(func() { close(stores); <-goOn })
	slow := stepping.Conditional(inner, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Name == "Put" && isObject(op) {
			first()
		}
		return nil
	}})
	stage := func(s stepping.ObjectStore, n int) error {
		_, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.StageShare{Stage: n}, opt)
		return err
	}
	go func() { done <- stage(slow, 0) }()
	<-stores
	fresh := fixture.Numbers(100, 8) // no fill values, of which no object is made
	if err := zarr.Write(t.Context(), again(t, s), selection.BoxOf(grid.Box{{Start: 0, Stop: 1}, {Start: 0, Stop: 8}}), fresh); err != nil {
		t.Fatal(err)
	}
	overtaken := sync.OnceFunc(func() {
		close(goOn)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	made := false
	quick := stepping.Conditional(inner, stepping.Hooks{After: func(op stepping.Op, err error) error {
		if op.Name == "Put" && isObject(op) {
			made = true
			overtaken()
		}
		return err
	}})
	err := stage(quick, 0)
	if overtaken(); !made {
		t.Error("the quick process has not made the object")
	}
	for n := 0; n < 2; n++ {
		if again := stage(s, n); again != nil {
			t.Fatal(again, err)
		}
	}
	if _, err := rechunk.Publish(t.Context(), again(t, s), request, opt); err != nil {
		t.Fatal(err)
	}
	want := append(fresh, fixture.Numbers(9, 56)...)
	got, err := zarr.Read[int32](t.Context(), again(t, s), nil)
	if err != nil || !slices.Equal(got.Data, want) {
		t.Fatalf("%v (%v), want %v", got.Data, err, want)
	}
}

// TestClaimAppears begins a share between the steps of a process that works alone.
func TestClaimAppears(t *testing.T) {
	for _, what := range []string{"do", "abandon"} {
		t.Run(what, func(t *testing.T) {
			inner := memtest.New()
			plain := stepping.Conditional(inner, stepping.Hooks{})
			_, request := rows(t, plain)
			opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
			claims := 0
			begun, end := make(chan bool), make(chan bool)
			done := make(chan error, 1)
			sharing := *opt
			once := sync.OnceFunc(func() { close(begun); <-end })
			sharing.Progress = func(rechunk.Progress) { once() }
			s := stepping.Conditional(inner, stepping.Hooks{After: func(op stepping.Op, err error) error {
				if op.Name == "Get" && strings.HasSuffix(op.Key.String(), "__varve/regrid.json") {
					if claims++; claims == 1 {
						go func() {
							_, err := rechunk.Stage(t.Context(), again(t, plain), request, rechunk.StageShare{}, &sharing)
							done <- err
						}()
						<-begun
					}
				}
				return err
			}})
			var err error
			if what == "do" {
				_, err = rechunk.Do(t.Context(), again(t, s), request, opt)
			} else {
				err = rechunk.Abandon(t.Context(), again(t, s), nil)
			}
			if !errors.Is(err, rechunk.ErrClaimed) {
				t.Errorf("%s during a share: %v", what, err)
			}
			close(end)
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRefusedLeavesNothing publishes what has no stage, and executes a stage that no plan
// has. Neither leaves a claim, which would block other rechunks.
func TestRefusedLeavesNothing(t *testing.T) {
	for _, into := range []string{"", "b"} {
		s := memtest.New()
		a, request := rows(t, s)
		opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
		if into != "" {
			opt.Into = zarr.At(s, into)
		}
		if _, err := rechunk.Publish(t.Context(), a, request, opt); !errors.Is(err, rechunk.ErrUnfinished) {
			t.Errorf("published without a stage: %v", err)
		}
		if _, err := rechunk.Stage(t.Context(), a, request, rechunk.StageShare{Stage: 9}, opt); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("stage 9: %v", err)
		}
		if names := left(t, s); len(names) > 0 {
			t.Errorf("left over: %q", names)
		}
	}
}

// TestPlanLooksAtDestination plans a new array where something is.
func TestPlanLooksAtDestination(t *testing.T) {
	s := memtest.New()
	a, request := rows(t, s)
	if _, err := zarr.At(s, "g").CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{"g": fs.ErrExist, "a/b": zarr.ErrInvalidArgument} {
		if _, err := rechunk.NewPlan(t.Context(), a, request, &rechunk.Options{Into: zarr.At(s, path)}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

// TestRequestsSurvive encodes requests and decodes them again.
func TestRequestsSurvive(t *testing.T) {
	for operation, r := range map[string]rechunk.Request{
		"compact":    rechunk.Compaction{Axis: 1, UpTo: 7},
		"regularize": rechunk.Regularization{},
		"rechunk": rechunk.Rechunking{
			Chunks: rechunk.Cuts{grid.Every(4), grid.Edges(1, 2, 5)}, Inner: rechunk.Cuts{grid.Every(2), grid.Every(1)}, Codecs: fixture.Plain(),
		},
	} {
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := rechunk.ParseRequest(operation, raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if again, err := json.Marshal(parsed); err != nil || string(again) != string(raw) {
			t.Errorf("%s becomes %s (%v)", raw, again, err)
		}
	}
}
