// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// names are the arrays of a group that share the dimension time. b has the elements of a
// and 10 more.
var names = []string{"a", "b"}

// timed stores the arrays, of n elements in chunks of one.
func timed(t *testing.T, s store.Store, n int32) {
	t.Helper()
	for i, name := range names {
		spec := fixture.Edges(slices.Repeat([]int64{1}, int(n))...)
		spec.DimensionNames = []string{"time"}
		a, err := zarr.At(s, name).CreateArray(t.Context(), spec, nil)
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1+10*int32(i), n))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// all rechunks the arrays of a group with one request for each.
func all(ctx context.Context, s store.Store, o *rechunk.Options, requests ...rechunk.Request) ([]*rechunk.Report, error) {
	var parts []rechunk.Part
	for i, r := range requests {
		a, err := zarr.At(s, names[i]).OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1})
		if err != nil {
			return nil, err
		}
		parts = append(parts, rechunk.Part{Array: a, Request: r})
	}
	return rechunk.DoAll(ctx, parts, o)
}

// dropping are requests that drop one range of all arrays.
func dropping(from, to int64) []rechunk.Request {
	r := rechunk.Removal{Range: grid.Interval{Start: from, Stop: to}}
	return []rechunk.Request{r, r}
}

// inserting are requests that insert one element into every array.
func inserting(at int64) (list []rechunk.Request) {
	for i := range names {
		list = append(list, rechunk.Insertion{At: at, From: given([]int64{1}, []int32{int32(90 + i)})})
	}
	return list
}

func TestDropTogether(t *testing.T) {
	s := memtest.New()
	timed(t, s, 4)
	one, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	// The other array would differ.
	before := keys(t, s)
	if _, err := rechunk.DoAll(t.Context(), []rechunk.Part{{Array: one, Request: dropping(0, 1)[0]}}, nil); !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), "time") {
		t.Errorf("one of two arrays: %v", err)
	}
	if _, err := rechunk.DoAll(t.Context(), []rechunk.Part{{Array: one, Request: dropping(0, 1)[0]}, {Array: one, Request: dropping(0, 1)[0]}}, nil); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("one array twice: %v", err)
	}
	if is := keys(t, s); is != before {
		t.Errorf("left %s", is)
	}
	for _, requests := range [][]rechunk.Request{dropping(1, 3), inserting(2)} {
		reports, err := all(t.Context(), s, nil, requests...)
		if err != nil || !reports[0].Changed || !reports[1].Changed {
			t.Fatalf("%v", err)
		}
	}
	if a, b := values(t, s, "a"), values(t, s, "b"); !slices.Equal(a, []int32{1, 4, 90}) || !slices.Equal(b, []int32{11, 14, 91}) {
		t.Errorf("%v %v", a, b)
	}
	if isOpen(t, s, "a") || isOpen(t, s, "b") || strings.Contains(keys(t, s), "__varve/together") {
		t.Errorf("left %s", keys(t, s))
	}
	if _, err := rechunk.Vacuum(t.Context(), one, &rechunk.VacuumOptions{Grace: -1}); err != nil {
		t.Fatal(err)
	}
	alone := []rechunk.Part{{Array: one, Request: dropping(0, 1)[0], Alone: true}}
	if _, err := rechunk.DoAll(t.Context(), alone, nil); !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("an array that was opened before others moved its elements: %v", err)
	}
	if err := one.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := rechunk.DoAll(t.Context(), alone, nil); err != nil {
		t.Errorf("alone: %v", err)
	}
	if a := values(t, s, "a"); !slices.Equal(a, []int32{4, 90}) {
		t.Errorf("%v", a)
	}
}

// TestTogetherCrash stops a removal from two arrays, and an insertion, at every operation
// in every way. Once the next writer has opened them, both have changed or neither has.
func TestTogetherCrash(t *testing.T) {
	fixture.Sequential(t)
	for name, c := range map[string]struct {
		requests func() []rechunk.Request
		want     [][]int32
	}{
		"drop":   {func() []rechunk.Request { return dropping(1, 2) }, [][]int32{{1, 3}, {11, 13}}},
		"insert": {func() []rechunk.Request { return inserting(1) }, [][]int32{{1, 90, 2, 3}, {11, 91, 12, 13}}},
	} {
		for fate, end := range fates {
			t.Run(name+"/"+fate, func(t *testing.T) {
				t.Parallel()
				at := 0
				for togetherCrashAt(t, c.requests(), c.want, at, end, false) {
					at++
				}
				t.Logf("%d operations", at)
				if at < 80 {
					t.Errorf("only %d operations", at)
				}
			})
		}
	}
}

// TestTogetherCrashThenWrite is TestTogetherCrash with a writer that has opened an array
// before, and writes to it after the crash. What it was told is written stays.
func TestTogetherCrashThenWrite(t *testing.T) {
	fixture.Sequential(t)
	at := 0
	for togetherCrashAt(t, dropping(1, 2), [][]int32{{1, 3}, {11, 13}}, at, fates["stop after"], true) {
		at++
	}
}

func togetherCrashAt(t *testing.T, requests []rechunk.Request, want [][]int32, at int, end func(*stepping.Stepper) bool, write bool) bool {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	timed(t, inner, 3)
	was := [][]int32{{1, 2, 3}, {11, 12, 13}}
	writer, err := zarr.At(&handle{inner}, "b").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	do := func(s store.Store, o *rechunk.Options) error {
		_, err := all(t.Context(), &handle{s.(stepping.ObjectStore)}, o, requests...)
		return err
	}
	stepper := stepping.NewStepper(inner)
	defer stepper.Close()
	stepper.Start(func(s store.Store) error { return do(s, nil) })
	for range at {
		if _, done := stepper.Step(0); done {
			return false
		}
	}
	if done := end(stepper); !done {
		stepper.Finish(func(int) int { return 0 }, 0)
	}
	if write {
		switch err := writing(0, 99)(t.Context(), writer); {
		case err == nil:
			want = [][]int32{want[0], slices.Clone(want[1])}
			was[1][0], want[1][0] = 99, 99
		case !errors.Is(err, zarr.ErrConflict):
			t.Fatalf("write after operation %d: %v\n%s", at, err, stepper.Trace())
		case values(t, inner, "b")[0] == 99: // it is taken nevertheless
			want = [][]int32{want[0], slices.Clone(want[1])}
			want[1][0] = 99
		}
	}
	// Opening for writing is what the next writer does first.
	if _, err := zarr.At(inner, "b").OpenArray(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	is := [][]int32{values(t, inner, "a"), values(t, inner, "b")}
	equal := func(a, b [][]int32) bool { return slices.EqualFunc(a, b, slices.Equal[[]int32]) }
	if !equal(is, was) && !equal(is, want) {
		t.Fatalf("operation %d leaves %v\n%s", at, is, stepper.Trace())
	}
	if isOpen(t, inner, "a") || isOpen(t, inner, "b") || equal(is, was) {
		if err := do(inner, &rechunk.Options{TakeOver: true}); err != nil {
			t.Fatalf("again after operation %d: %v\n%s", at, err, stepper.Trace())
		}
	}
	for i, name := range names {
		if is := values(t, inner, name); !slices.Equal(is, want[i]) {
			t.Fatalf("operation %d, then again: %s is %v, want %v\n%s", at, name, is, want[i], stepper.Trace())
		}
		a, err := zarr.At(inner, name).OpenArray(t.Context(), &zarr.Options{Write: true})
		if err == nil {
			_, err = rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1})
		}
		if is := values(t, inner, name); err != nil || !slices.Equal(is, want[i]) {
			t.Fatalf("vacuum after operation %d: %v %v\n%s", at, is, err, stepper.Trace())
		}
	}
	// An aborted journal stays, so that a writer that was slow cannot store its own.
	left := slices.DeleteFunc(strings.Fields(keys(t, inner)), func(name string) bool {
		return strings.HasSuffix(name, "zarr.json") || strings.Contains(name, "/__varve/together-")
	})
	if len(left) != len(want[0])+len(want[1]) {
		t.Fatalf("operation %d leaves %v\n%s", at, left, stepper.Trace())
	}
	return true
}

// playTogether runs clients on the arrays of a group with a choice of the order of their
// operations, and returns the elements of the arrays and which clients succeeded.
func playTogether(t *testing.T, interrupts int, choose func(n int) int, clients ...func(ctx context.Context, s store.Store) error) (is [][]int32, done []bool, trace stepping.Trace) {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	timed(t, inner, 2)
	ctx, cancel := context.WithTimeout(t.Context(), stallTime)
	defer cancel()
	stepper := stepping.NewStepper(inner)
	defer stepper.Close()
	for _, c := range clients {
		stepper.Start(func(s store.Store) error { return c(ctx, &handle{s.(stepping.ObjectStore)}) })
	}
	stepper.Finish(choose, interrupts)
	if ctx.Err() != nil {
		return nil, nil, nil // see stallTime
	}
	for i := range clients {
		err := stepper.Err(i)
		if done = append(done, err == nil); err != nil && !errors.Is(err, zarr.ErrConflict) {
			t.Fatalf("client %d: %v\n%s", i, err, stepper.Trace())
		}
	}
	// A writer that lost a race may have left a transaction to the next one.
	if _, err := zarr.At(inner, "b").OpenArray(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	return [][]int32{values(t, inner, "a"), values(t, inner, "b")}, done, stepper.Trace()
}

// TestTogetherInterleavings enumerates the orders of the operations of a removal from two
// arrays and of other writers, with up to two interrupts.
func TestTogetherInterleavings(t *testing.T) {
	fixture.Sequential(t)
	remover := func(ctx context.Context, s store.Store) error {
		_, err := all(ctx, s, nil, dropping(1, 2)...)
		return err
	}
	for name, c := range map[string]struct {
		other      func(ctx context.Context, s store.Store) error
		right      func(is [][]int32, done []bool) bool
		interrupts int
	}{
		// The element is before the range, so it stays where it is.
		"region": {func(ctx context.Context, s store.Store) error {
			b, err := zarr.At(s, "b").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1})
			if err != nil {
				return err
			}
			return writing(0, 99)(ctx, b)
		}, func(is [][]int32, done []bool) bool {
			return done[0] && slices.Equal(is[0], []int32{1}) && (slices.Equal(is[1], []int32{99}) || !done[1] && slices.Equal(is[1], []int32{11}))
		}, 2},
		"append": {func(ctx context.Context, s store.Store) error {
			g, err := zarr.At(s, "").OpenGroup(ctx, &zarr.Options{Write: true, Concurrency: 1})
			if err != nil {
				return err
			}
			return g.Append(ctx, zarr.Add("a", 0, []int32{7}, nil), zarr.Add("b", 0, []int32{8}, nil))
		}, func(is [][]int32, done []bool) bool {
			return done[0] && done[1] && slices.Equal(is[0], []int32{1, 7}) && slices.Equal(is[1], []int32{11, 8})
		}, fixture.Soaked(t, 1, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := stepping.Explore(func(choose func(n int) int) bool {
				is, done, trace := playTogether(t, c.interrupts, choose, remover, c.other)
				if trace != nil && !c.right(is, done) {
					t.Errorf("%v, done %v\n%s", is, done, trace)
				}
				return !t.Failed()
			})
			t.Logf("%d runs", runs)
		})
	}
}
