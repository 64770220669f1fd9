// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
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
	x := &transposed{store: memstore.New(), rand: seeded(t)}
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
	if err := zarr.Write(t.Context(), x.array, box, values); err != nil {
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
	for e, err := range store.List(t.Context(), s, store.Path{}, true) {
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
var fates = map[string]func(s *storetest.Stepper) (done bool){
	"stop before": func(s *storetest.Stepper) bool { s.Crash(0); return true },
	"stop after":  func(s *storetest.Stepper) bool { _, done := s.Lose(0); s.Crash(0); return done },
	"lost answer": func(s *storetest.Stepper) bool { _, done := s.Lose(0); return done },
	"error":       func(s *storetest.Stepper) bool { _, done := s.Refuse(0); return done },
}

// client is the store of one process.
type client struct{ storetest.ObjectStore }

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
func again(t *testing.T, s storetest.ObjectStore) *zarr.Array {
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
func crashAt(t *testing.T, at int, end func(*storetest.Stepper) bool, into string) bool {
	inner := storetest.Conditional(memstore.New(), storetest.Hooks{})
	want := fixture.Numbers(1, 64)
	_, request := rows(t, inner)
	do := func(s store.Store, takeOver bool) (*zarr.Array, *rechunk.Options, error) {
		a, err := zarr.At(&client{s.(storetest.ObjectStore)}, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
		opt := rechunk.Options{Memory: 4 * 4 * 16, TakeOver: takeOver}.PlanStages(1)
		if into != "" {
			opt.Into = zarr.At(&client{s.(storetest.ObjectStore)}, into)
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
	stepper := storetest.NewStepper(inner)
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
