// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// process opens the array as another process would.
func process(t *rapid.T, s store.Store) *zarr.Array {
	a, err := zarr.At(&client{s.(storetest.ObjectStore)}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestShares lets several processes execute a plan, in a drawn order and with changes of
// the array in between. A stage that is too early is refused, and so is publishing.
func TestShares(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		x := drawTransposed(t)
		s := storetest.Conditional(x.store.(*memstore.Store), storetest.Hooks{})
		x.array = process(t, s)
		opt := rechunk.Options{Memory: 4 * 4 * (83*x.thick + rapid.Int64Range(0, 160).Draw(t, "more elements"))}.PlanStages(50)
		if rapid.Bool().Draw(t, "into another array") {
			opt.Into = zarr.At(&client{s}, "b")
		}
		plan, err := rechunk.NewPlan(t.Context(), x.array, x.want, opt)
		if err != nil {
			t.Fatal(err)
		}
		run := func(share rechunk.Share) error {
			other := *opt
			if opt.Into != nil {
				other.Into = zarr.At(&client{s}, "b")
			}
			_, err := rechunk.Stage(t.Context(), process(t, s), x.want, share, &other)
			return err
		}
		of := rapid.Int64Range(1, 3).Draw(t, "processes")
		for stage := range len(plan.Stages) {
			for k := range of {
				if k == of-1 && of > 1 && rapid.Bool().Draw(t, "too early") {
					checkEarly(t, s, x, opt, plan, stage, of, run)
				}
				if err := run(rechunk.Share{Stage: stage, Task: k, Of: of}); err != nil {
					t.Fatal(err)
				}
			}
		}
		switch rapid.IntRange(0, 2).Draw(t, "change") {
		case 0:
			x.grow(t)
		case 1:
			x.write(t)
		}
		report, err := rechunk.Publish(t.Context(), process(t, s), x.want, opt)
		if err != nil || !report.Changed {
			t.Fatalf("%+v (%v)", report, err)
		}
		x.check(t, process(t, s))
		if opt.Into != nil {
			b, err := opt.Into.OpenArray(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			x.check(t, b)
		}
		if names := left(tt, s); len(names) > 0 {
			t.Fatalf("left over: %q", names)
		}
	})
}

// checkEarly publishes and executes the next stage before a stage is complete.
func checkEarly(t *rapid.T, s store.Store, x *transposed, opt *rechunk.Options, plan *rechunk.Plan, stage int, of int64, run func(rechunk.Share) error) {
	// The share that is left may have nothing to do for the next stage.
	missing, err := rechunk.Missing(t.Context(), process(t, s), x.want, stage, opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rechunk.Publish(t.Context(), process(t, s), x.want, opt); !errors.Is(err, rechunk.ErrUnfinished) || !strings.Contains(err.Error(), "task") {
		t.Fatalf("published after a part of stage %d: %v", stage, err)
	}
	if stage+1 < len(plan.Stages) && missing > 0 {
		if err := run(rechunk.Share{Stage: stage + 1, Of: of}); !errors.Is(err, rechunk.ErrUnfinished) {
			t.Fatalf("stage %d after a part of stage %d: %v", stage+1, stage, err)
		}
	}
}

// TestShareRuns checks that nothing is published while a share runs, and no share begins
// while something is published.
func TestShareRuns(t *testing.T) {
	for name, s := range map[string]storetest.ObjectStore{"locks": memstore.New(), "conditions": storetest.Conditional(memstore.New(), storetest.Hooks{})} {
		t.Run(name, func(t *testing.T) {
			a, request := rows(t, s)
			opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
			tried := 0
			opt.Progress = func(rechunk.Progress) {
				tried++
				if _, err := rechunk.Publish(t.Context(), again(t, s), request, opt); !errors.Is(err, rechunk.ErrClaimed) {
					t.Errorf("published during a share: %v", err)
				}
				if err := rechunk.Abandon(t.Context(), again(t, s), nil); !errors.Is(err, rechunk.ErrClaimed) {
					t.Errorf("abandoned during a share: %v", err)
				}
			}
			if _, err := rechunk.Stage(t.Context(), a, request, rechunk.Share{}, opt); err != nil || tried == 0 {
				t.Fatalf("%d tasks (%v)", tried, err)
			}
			tried = 0
			opt.Progress = func(rechunk.Progress) {
				tried++
				ctx, cancel := context.WithTimeout(t.Context(), 20_000_000)
				defer cancel()
				if _, err := rechunk.Stage(ctx, again(t, s), request, rechunk.Share{}, opt); err == nil {
					t.Error("a share began while all was done and published")
				}
			}
			if _, err := rechunk.Do(t.Context(), a, request, opt); err != nil || tried == 0 {
				t.Fatalf("%d tasks (%v)", tried, err)
			}
		})
	}
}

// TestFirstShares lets another process execute its share before every operation of the
// first share, in a store without locks. Neither fails, and their work is one.
func TestFirstShares(t *testing.T) {
	for _, into := range []string{"", "b"} {
		t.Run("into "+into, func(t *testing.T) {
			for at := int64(0); ; at++ {
				m := memstore.New()
				_, request := rows(t, m)
				options := func(s store.Store) *rechunk.Options {
					opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
					if into != "" {
						opt.Into = zarr.At(s, into)
					}
					return opt
				}
				quiet := storetest.Conditional(m, storetest.Hooks{})
				var n atomic.Int64 // operations may run at the same time
				var ran atomic.Bool
				s := storetest.Conditional(m, storetest.Hooks{Before: func(context.Context, storetest.Op) error {
					if n.Add(1) != at+1 {
						return nil
					}
					ran.Store(true)
					_, err := rechunk.Stage(t.Context(), again(t, quiet), request, rechunk.Share{Task: 1, Of: 2}, options(quiet))
					if err != nil {
						t.Errorf("before operation %d: the other share: %v", at, err)
					}
					return nil
				}})
				if _, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.Share{Of: 2}, options(s)); err != nil {
					t.Errorf("before operation %d: the share: %v", at, err)
				}
				if !ran.Load() { // there are no more operations
					break
				}
				last := len(must1(rechunk.NewPlan(t.Context(), again(t, quiet), request, options(quiet))).Stages) - 1
				for stage := 1; stage <= last; stage++ {
					if _, err := rechunk.Stage(t.Context(), again(t, quiet), request, rechunk.Share{Stage: stage}, options(quiet)); err != nil {
						t.Fatalf("before operation %d: stage %d: %v", at, stage, err)
					}
				}
				if _, err := rechunk.Publish(t.Context(), again(t, quiet), request, options(quiet)); err != nil {
					t.Fatalf("before operation %d: publishing: %v", at, err)
				}
			}
		})
	}
}

// TestSharesTwice lets two processes execute the same task at the same time. Before every
// operation of the one, elements of the array change, and the other executes the task and
// those before it. Whichever stores its chunks last, the result has the elements that the
// array has in the end.
func TestSharesTwice(t *testing.T) {
	for _, into := range []string{"", "b"} {
		for stage := range 2 {
			for at := int64(0); twiceAt(t, into, stage, at); at++ {
			}
		}
	}
}

// twiceAt returns false if the task has fewer operations.
func twiceAt(t *testing.T, into string, stage int, at int64) bool {
	m := memstore.New()
	_, request := rows(t, m)
	options := func(s store.Store) *rechunk.Options {
		opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
		if into != "" {
			opt.Into = zarr.At(s, into)
		}
		return opt
	}
	quiet := storetest.Conditional(m, storetest.Hooks{})
	upTo := func(last int) {
		for k := range last + 1 {
			if _, err := rechunk.Stage(t.Context(), again(t, quiet), request, rechunk.Share{Stage: k}, options(quiet)); err != nil {
				t.Errorf("into %q: before operation %d: stage %d: %v", into, at, k, err)
			}
		}
	}
	upTo(stage - 1)
	want := fixture.Numbers(100, 64)
	var n atomic.Int64 // operations may run at the same time
	var ran atomic.Bool
	var other sync.WaitGroup
	s := storetest.Conditional(m, storetest.Hooks{Before: func(context.Context, storetest.Op) error {
		if n.Add(1) != at+1 {
			return nil
		}
		ran.Store(true)
		over := make(chan struct{})
		other.Go(func() {
			defer close(over)
			if err := zarr.Write(t.Context(), again(t, quiet), nil, want); err != nil {
				t.Error(err)
			}
			upTo(stage)
		})
		// Within one process, a write of a chunk waits for another one.
		select {
		case <-over:
		case <-time.After(30 * time.Millisecond):
		}
		return nil
	}})
	_, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.Share{Stage: stage}, options(s))
	other.Wait()
	if err != nil && !errors.Is(err, rechunk.ErrUnfinished) && !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("into %q: before operation %d of stage %d: %v", into, at, stage, err)
	}
	if !ran.Load() { // there are no more operations
		return false
	}
	last := len(must1(rechunk.NewPlan(t.Context(), again(t, quiet), request, options(quiet))).Stages) - 1
	_, err = rechunk.Publish(t.Context(), again(t, quiet), request, options(quiet))
	for tries := 0; errors.Is(err, rechunk.ErrUnfinished) && tries < 2; tries++ {
		upTo(last)
		_, err = rechunk.Publish(t.Context(), again(t, quiet), request, options(quiet))
	}
	if err != nil {
		t.Fatalf("into %q: before operation %d of stage %d: publishing: %v", into, at, stage, err)
	}
	a := again(t, quiet)
	if into != "" {
		a = must1(zarr.At(quiet, into).OpenArray(t.Context(), nil))
	}
	if got, err := zarr.Read[int32](t.Context(), a, nil); err != nil || !slices.Equal(got.Data, want) {
		t.Fatalf("into %q: before operation %d of stage %d: %v (%v)", into, at, stage, got.Data, err)
	}
	return true
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestGrowthBetweenStages appends to an array after every stage of a plan. The scratch of
// blocks before the old end stays: only those that the new planes reach are made again.
// If it grows so much that a chunk needs other blocks, those are made again whose pieces
// are others.
func TestGrowthBetweenStages(t *testing.T) {
	for _, jump := range []int{0, 45} {
		t.Run(fmt.Sprint(jump), func(t *testing.T) { growBetweenStages(t, jump) })
	}
}

func growBetweenStages(t *testing.T, jump int) {
	const n = 64
	s := storetest.Conditional(memstore.New(), storetest.Hooks{})
	a, err := zarr.At(s, "a").CreateArray(t.Context(), zarr.Spec{
		Type: dtype.Int32, Shape: []int64{n, n}, Chunks: []grid.Cut{grid.Every(1), grid.Every(n)}, Codecs: fixture.Plain(),
	}, nil)
	want := fixture.Numbers(1, n*n)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, want)
	}
	if err != nil {
		t.Fatal(err)
	}
	request := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(10 * n), grid.Every(1)}}
	// A task has 2 of 64 rows, or of the wanted columns.
	opt := rechunk.Options{Memory: 4 * 4 * (3*n + 60)}.PlanStages(1000)
	plan, err := rechunk.NewPlan(t.Context(), a, request, opt)
	if err != nil || len(plan.Stages) < 3 {
		t.Fatalf("%+v (%v)", plan, err)
	}
	stage := func(k int) int64 {
		t.Helper()
		report, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.Share{Stage: k}, opt)
		if err != nil {
			t.Fatal(err)
		}
		return report.Staged.Scratch
	}
	grow := func() {
		t.Helper()
		row := fixture.Numbers(int32(len(want)), n)
		if err := zarr.Append(t.Context(), again(t, s), 0, row, nil); err != nil {
			t.Fatal(err)
		}
		want = append(want, row...)
	}
	last := len(plan.Stages) - 1
	first := make([]int64, last)
	for k := range last {
		first[k] = stage(k)
		for range 3 {
			grow()
			if _, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.Share{Stage: k + 1}, opt); !errors.Is(err, rechunk.ErrUnfinished) {
				t.Fatalf("stage %d after an append: %v", k+1, err)
			}
			for j := range k + 1 {
				// In C order the blocks of the last rows: a part of one row of blocks.
				if made := stage(j); made == 0 || made > max(2, first[j]/4) {
					t.Errorf("%d of %d objects of stage %d were made again after an append", made, first[j], j)
				}
				if made := stage(j); made != 0 {
					t.Errorf("%d objects of stage %d were made again for nothing", made, j)
				}
			}
		}
	}
	for range jump {
		grow()
	}
	if jump == 0 {
		stage(last)
	}
	end := rechunk.Publish
	if jump > 0 {
		end = rechunk.Do
	}
	report, err := end(t.Context(), again(t, s), request, opt)
	if err != nil || !report.Changed || report.Staged.Scratch != 0 && jump == 0 {
		t.Fatalf("%+v (%v)", report, err)
	}
	got, err := zarr.Read[int32](t.Context(), again(t, s), nil)
	if err != nil || !slices.Equal(got.Data, want) {
		t.Fatalf("other elements (%v)", err)
	}
	if names := left(t, s); len(names) > 0 {
		t.Fatalf("left over: %q", names)
	}
}
