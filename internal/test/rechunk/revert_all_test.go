// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// revertAll reverts the last operation on the arrays of a group, and returns the paths of
// those that it has changed.
func revertAll(ctx context.Context, s store.Store, among ...string) (paths []string, err error) {
	var arrays []*zarr.Array
	for _, name := range among {
		a, err := zarr.At(s, name).OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1})
		if err != nil {
			return nil, err
		}
		arrays = append(arrays, a)
	}
	reverted, err := rechunk.RevertAll(ctx, arrays)
	for _, a := range reverted {
		paths = append(paths, a.Path())
	}
	return paths, err
}

func TestRevertAll(t *testing.T) {
	s := memtest.New()
	timed(t, s, 3)
	c, err := zarr.At(s, "c").CreateArray(t.Context(), fixture.Edges(1, 2, 3), nil)
	if err == nil {
		_, err = rechunk.Do(t.Context(), c, rechunk.Compaction{UpTo: 9}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	every := []string{"a", "b", "c"}
	if _, err := revertAll(t.Context(), s, every...); !errors.Is(err, rechunk.ErrNoRevert) || !strings.Contains(err.Error(), "one by one") {
		t.Errorf("only one array was rechunked: %v", err)
	}
	for round, requests := range [][]rechunk.Request{dropping(1, 2), inserting(1)} {
		if _, err := all(t.Context(), s, nil, requests...); err != nil {
			t.Fatal(err)
		}
		paths, err := revertAll(t.Context(), s, every...)
		if err != nil || !slices.Equal(paths, names) {
			t.Fatalf("round %d: %q (%v)", round, paths, err)
		}
		if a, b := values(t, s, "a"), values(t, s, "b"); !slices.Equal(a, []int32{1, 2, 3}) || !slices.Equal(b, []int32{11, 12, 13}) {
			t.Fatalf("round %d: %v %v", round, a, b)
		}
		if _, err := revertAll(t.Context(), s, every...); !errors.Is(err, rechunk.ErrNoRevert) {
			t.Fatalf("round %d: a second time: %v", round, err)
		}
		vacuumAll(t, s)
	}
	if got := c.Grid().Chunks(); got[0] != 1 {
		t.Errorf("c has %v chunks", got)
	}

	// Of two operations, the last one counts. One that was done since is in the way, and
	// so is a write.
	if _, err := all(t.Context(), s, nil, dropping(0, 1)...); err != nil {
		t.Fatal(err)
	}
	a, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		_, err = rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 9}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := revertAll(t.Context(), s, every...); !errors.Is(err, rechunk.ErrNoRevert) || !strings.Contains(err.Error(), "revert a") {
		t.Errorf("an array was rechunked since: %v", err)
	}
	if err := rechunk.Revert(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(t.Context(), a, nil, []int32{7, 8}); err != nil {
		t.Fatal(err)
	}
	if _, err := revertAll(t.Context(), s, every...); !errors.Is(err, rechunk.ErrNoRevert) {
		t.Errorf("an array was written since: %v", err)
	}
	if b := values(t, s, "b"); !slices.Equal(b, []int32{12, 13}) {
		t.Errorf("%v", b)
	}
}

// TestRevertBatch reverts what several calls have changed that share a name.
func TestRevertBatch(t *testing.T) {
	s := memtest.New()
	timed(t, s, 3)
	for _, name := range names {
		a, err := zarr.At(s, name).OpenArray(t.Context(), &zarr.Options{Write: true})
		if err == nil {
			_, err = rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 9}, &rechunk.Options{Batch: "x"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if paths, err := revertAll(t.Context(), s, names...); err != nil || !slices.Equal(paths, names) {
		t.Fatalf("%q (%v)", paths, err)
	}
	a, err := zarr.At(s, "a").OpenArray(t.Context(), nil)
	if err != nil || a.Grid().Chunks()[0] != 3 {
		t.Errorf("%v chunks (%v)", a.Grid().Chunks(), err)
	}
}

// vacuumAll deletes all superseded grids.
func vacuumAll(t *testing.T, s store.Store) {
	t.Helper()
	for _, name := range names {
		a, err := zarr.At(s, name).OpenArray(t.Context(), &zarr.Options{Write: true})
		if err == nil {
			_, err = rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRevertAllCrash stops a revert of two arrays at every operation in every way. Once
// the next writer has opened them, both are reverted or neither is.
func TestRevertAllCrash(t *testing.T) {
	fixture.Sequential(t)
	for fate, end := range fates {
		t.Run(fate, func(t *testing.T) {
			t.Parallel()
			at := 0
			for revertCrashAt(t, at, end) {
				at++
			}
			if t.Logf("%d operations", at); at < 40 {
				t.Errorf("only %d operations", at)
			}
		})
	}
}

func revertCrashAt(t *testing.T, at int, end func(*stepping.Stepper) bool) bool {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	timed(t, inner, 3)
	other := &handle{inner} // calls for one store exclude each other
	if _, err := all(t.Context(), other, nil, dropping(1, 2)...); err != nil {
		t.Fatal(err)
	}
	stepper := stepping.NewStepper(inner)
	defer stepper.Close()
	stepper.Start(func(s store.Store) error {
		_, err := revertAll(t.Context(), &handle{s.(stepping.ObjectStore)}, names...)
		return err
	})
	for range at {
		if _, done := stepper.Step(0); done {
			return false
		}
	}
	if done := end(stepper); !done {
		stepper.Finish(func(int) int { return 0 }, 0)
	}
	if _, err := zarr.At(inner, "b").OpenArray(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	a, b := values(t, inner, "a"), values(t, inner, "b")
	switch {
	case slices.Equal(a, []int32{1, 2, 3}) && slices.Equal(b, []int32{11, 12, 13}):
	case !slices.Equal(a, []int32{1, 3}) || !slices.Equal(b, []int32{11, 13}):
		t.Fatalf("operation %d leaves %v and %v\n%s", at, a, b, stepper.Trace())
	default:
		if _, err := revertAll(t.Context(), other, names...); err != nil {
			t.Fatalf("again after operation %d: %v\n%s", at, err, stepper.Trace())
		}
		if a, b := values(t, inner, "a"), values(t, inner, "b"); len(a) != 3 || len(b) != 3 {
			t.Fatalf("operation %d, then again: %v and %v\n%s", at, a, b, stepper.Trace())
		}
	}
	vacuumAll(t, other)
	if a, b := values(t, inner, "a"), values(t, inner, "b"); !slices.Equal(a, []int32{1, 2, 3}) || !slices.Equal(b, []int32{11, 12, 13}) {
		t.Fatalf("operation %d, after a vacuum: %v and %v\n%s", at, a, b, stepper.Trace())
	}
	if is := keys(t, inner); strings.Contains(is, "__varve/grids") || strings.Contains(is, "__varve/together") {
		t.Fatalf("operation %d leaves %s\n%s", at, is, stepper.Trace())
	}
	return true
}
