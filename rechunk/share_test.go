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
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// process opens the array as another process would.
func process(t *rapid.T, s store.Store) *zarr.Array {
	a, err := zarr.At(&client{s.(stepping.ObjectStore)}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
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
		s := stepping.Conditional(x.store.(memtest.Store), stepping.Hooks{})
		x.array = process(t, s)
		opt := rechunk.Options{Memory: 4 * 4 * (83*x.thick + rapid.Int64Range(0, 160).Draw(t, "more elements"))}.PlanStages(50)
		if rapid.Bool().Draw(t, "into another array") {
			opt.Into = zarr.At(&client{s}, "b")
		}
		plan, err := rechunk.NewPlan(t.Context(), x.array, x.want, opt)
		if err != nil {
			t.Fatal(err)
		}
		run := func(share rechunk.StageShare) error {
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
				if err := run(rechunk.StageShare{Stage: stage, Task: k, Of: of}); err != nil {
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
func checkEarly(t *rapid.T, s store.Store, x *transposed, opt *rechunk.Options, plan *rechunk.Plan, stage int, of int64, run func(rechunk.StageShare) error) {
	// The share that is left may have nothing to do for the next stage.
	missing, err := rechunk.Missing(t.Context(), process(t, s), x.want, stage, opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rechunk.Publish(t.Context(), process(t, s), x.want, opt); !errors.Is(err, rechunk.ErrUnfinished) || !strings.Contains(err.Error(), "task") {
		t.Fatalf("published after a part of stage %d: %v", stage, err)
	}
	if stage+1 < len(plan.Stages) && missing > 0 {
		if err := run(rechunk.StageShare{Stage: stage + 1, Of: of}); !errors.Is(err, rechunk.ErrUnfinished) {
			t.Fatalf("stage %d after a part of stage %d: %v", stage+1, stage, err)
		}
	}
}

// TestShareRuns checks that nothing is published while a share runs, and no share begins
// while something is published.
func TestShareRuns(t *testing.T) {
	for name, s := range map[string]stepping.ObjectStore{"locks": memtest.New(), "conditions": stepping.Conditional(memtest.New(), stepping.Hooks{})} {
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
			if _, err := rechunk.Stage(t.Context(), a, request, rechunk.StageShare{}, opt); err != nil || tried == 0 {
				t.Fatalf("%d tasks (%v)", tried, err)
			}
			tried = 0
			opt.Progress = func(rechunk.Progress) {
				tried++
				ctx, cancel := context.WithTimeout(t.Context(), 20_000_000)
				defer cancel()
				if _, err := rechunk.Stage(ctx, again(t, s), request, rechunk.StageShare{}, opt); err == nil {
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
				m := memtest.New()
				_, request := rows(t, m)
				options := func(s store.Store) *rechunk.Options {
					opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
					if into != "" {
						opt.Into = zarr.At(s, into)
					}
					return opt
				}
				quiet := stepping.Conditional(m, stepping.Hooks{})
				var n atomic.Int64 // operations may run at the same time
				var ran atomic.Bool
				s := stepping.Conditional(m, stepping.Hooks{Before: func(context.Context, stepping.Op) error {
					if n.Add(1) != at+1 {
						return nil
					}
					ran.Store(true)
					_, err := rechunk.Stage(t.Context(), again(t, quiet), request, rechunk.StageShare{Task: 1, Of: 2}, options(quiet))
					if err != nil {
						t.Errorf("before operation %d: the other share: %v", at, err)
					}
					return nil
				}})
				if _, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.StageShare{Of: 2}, options(s)); err != nil {
					t.Errorf("before operation %d: the share: %v", at, err)
				}
				if !ran.Load() { // there are no more operations
					break
				}
				last := len(must1(rechunk.NewPlan(t.Context(), again(t, quiet), request, options(quiet))).Stages) - 1
				for stage := 1; stage <= last; stage++ {
					if _, err := rechunk.Stage(t.Context(), again(t, quiet), request, rechunk.StageShare{Stage: stage}, options(quiet)); err != nil {
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
	m := memtest.New()
	_, request := rows(t, m)
	options := func(s store.Store) *rechunk.Options {
		opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
		if into != "" {
			opt.Into = zarr.At(s, into)
		}
		return opt
	}
	quiet := stepping.Conditional(m, stepping.Hooks{})
	upTo := func(last int) {
		for k := range last + 1 {
			if _, err := rechunk.Stage(t.Context(), again(t, quiet), request, rechunk.StageShare{Stage: k}, options(quiet)); err != nil {
				t.Errorf("into %q: before operation %d: stage %d: %v", into, at, k, err)
			}
		}
	}
	upTo(stage - 1)
	want := fixture.Numbers(100, 64)
	var n atomic.Int64 // operations may run at the same time
	var ran atomic.Bool
	var other sync.WaitGroup
	s := stepping.Conditional(m, stepping.Hooks{Before: func(context.Context, stepping.Op) error {
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
	_, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.StageShare{Stage: stage}, options(s))
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
	s := stepping.Conditional(memtest.New(), stepping.Hooks{})
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
		report, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.StageShare{Stage: k}, opt)
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
			if _, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.StageShare{Stage: k + 1}, opt); !errors.Is(err, rechunk.ErrUnfinished) {
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

// TestSharings lets several processes, which stay, execute the shares of a plan. Shares
// are offered again and in any order within a stage, processes end and begin, and the
// array changes. The result is that of one process.
func TestSharings(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		x := drawTransposed(t)
		s := stepping.Conditional(x.store.(memtest.Store), stepping.Hooks{})
		x.array = process(t, s)
		opt := rechunk.Options{Memory: 4 * 4 * (83*x.thick + rapid.Int64Range(0, 160).Draw(t, "more elements"))}.PlanStages(50)
		plan, err := rechunk.NewPlan(t.Context(), x.array, x.want, opt)
		if err != nil {
			t.Fatal(err)
		}
		begin := func() *rechunk.Sharing {
			p, err := rechunk.NewSharing(process(t, s), x.want, opt)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		workers := []*rechunk.Sharing{begin(), begin(), begin()}
		of := rapid.Int64Range(1, 6).Draw(t, "tasks")
		for stage := range len(plan.Stages) {
			left := rapid.Permutation(tasksTwice(of)).Draw(t, "tasks and repetitions")
			for _, k := range left {
				i := rapid.IntRange(0, len(workers)-1).Draw(t, "worker")
				switch rapid.IntRange(0, 5).Draw(t, "event") {
				case 0:
					if err := workers[i].Leave(); err != nil {
						t.Fatal(err)
					}
				case 1:
					if err := workers[i].Leave(); err != nil {
						t.Fatal(err)
					}
					workers[i] = begin()
				}
				if _, err := workers[i].Do(t.Context(), rechunk.StageShare{Stage: stage, Task: k, Of: of}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if rapid.Bool().Draw(t, "write") {
			x.write(t)
		}
		if _, err := rechunk.Publish(t.Context(), process(t, s), x.want, opt); !errors.Is(err, rechunk.ErrClaimed) && anyJoined(workers, err) {
			t.Fatalf("published beside processes that execute shares: %v", err)
		}
		for _, w := range workers {
			if err := w.Leave(); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if _, err := rechunk.Publish(t.Context(), process(t, s), x.want, opt); err != nil {
				t.Fatal(err)
			}
		}
		// After the publication there is nothing to do.
		report, err := workers[0].Do(t.Context(), rechunk.StageShare{Of: of})
		if err != nil || report.Staged != (rechunk.Counts{}) {
			t.Fatalf("%+v (%v)", report, err)
		}
		x.check(t, process(t, s))
		if names := left(tt, s); len(names) > 0 {
			t.Fatalf("left over: %q", names)
		}
	})
}

// anyJoined reports whether a publication that ended with err should have been refused.
func anyJoined(workers []*rechunk.Sharing, err error) bool {
	for _, w := range workers {
		if w.Joined() {
			return true
		}
	}
	return err != nil
}

// tasksTwice returns the numbers of tasks, each twice.
func tasksTwice(of int64) (list []int64) {
	for k := range of {
		list = append(list, k, k)
	}
	return list
}

// TestRepeatedShares offers all shares again to processes that have listed the store
// before others executed them, as engines do after a failure. Nothing is done again, and
// from the second one on a look at the marker of the share is enough.
func TestRepeatedShares(t *testing.T) {
	m := memtest.New()
	_, request := rows(t, m)
	opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
	var n atomic.Int64
	s := stepping.Conditional(m, stepping.Hooks{Before: func(context.Context, stepping.Op) error { n.Add(1); return nil }})
	late, first := sharing(t, s, request, opt), sharing(t, s, request, opt)
	plan := must1(rechunk.NewPlan(t.Context(), again(t, s), request, opt))
	if len(plan.Stages) < 2 {
		t.Fatalf("%d stages", len(plan.Stages))
	}
	const of = 4
	share(t, late, rechunk.StageShare{Of: of}) // lists stage 0
	for stage := range plan.Stages {
		for k := range int64(of) {
			share(t, first, rechunk.StageShare{Stage: stage, Task: k, Of: of})
		}
	}
	for stage := range plan.Stages {
		for k := range int64(of) {
			before := n.Load()
			if c := share(t, late, rechunk.StageShare{Stage: stage, Task: k, Of: of}); c != (rechunk.Counts{}) {
				t.Errorf("stage %d, task %d: done again: %+v", stage, k, c)
			}
			// The records, and in the first stage a look at each block.
			most := int64(1)
			if stage == 0 {
				most += (plan.Stages[0].Tasks + of - 1) / of
			}
			if requests := n.Load() - before; k > 1 && requests > most {
				t.Errorf("stage %d, task %d: %d requests for a share that is done", stage, k, requests)
			}
		}
	}
}

// TestLeaveAgain leaves again after an error: until then nobody can publish, in a store
// without locks.
func TestLeaveAgain(t *testing.T) {
	m := memtest.New()
	_, request := rows(t, m)
	opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
	failing := false
	s := stepping.Conditional(m, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if failing && strings.Contains(op.String(), "share.json") {
			return errors.New("no network")
		}
		return nil
	}})
	p := sharing(t, s, request, opt)
	for stage := range must1(rechunk.NewPlan(t.Context(), again(t, s), request, opt)).Stages {
		share(t, p, rechunk.StageShare{Stage: stage})
	}
	failing = true
	if err := p.Leave(); err == nil {
		t.Fatal("left without a network")
	}
	failing = false
	if _, err := rechunk.Publish(t.Context(), again(t, s), request, opt); !errors.Is(err, rechunk.ErrClaimed) {
		t.Errorf("published beside a process that may execute a share: %v", err)
	}
	if err := p.Leave(); err != nil {
		t.Fatal(err)
	}
	if _, err := rechunk.Publish(t.Context(), again(t, s), request, opt); err != nil {
		t.Error(err)
	}
}

// TestNeeded tells before and after a rechunk whether it would change the array.
func TestNeeded(t *testing.T) {
	m := memtest.New()
	a, request := rows(t, m)
	for _, want := range []bool{true, false} {
		if needed, err := fixture.Must(rechunk.Tasks(again(t, m), request, nil)).Needed(t.Context()); err != nil || needed != want {
			t.Errorf("needed: %v (%v), want %v", needed, err, want)
		}
		if _, err := rechunk.Do(t.Context(), a, request, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSharesStay checks that an array which grows along its first axis, while processes
// share its tasks, leaves the tasks of before in their shares.
func TestSharesStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		began := []int64{rapid.Int64Range(1, 40).Draw(t, "began 0"), rapid.Int64Range(1, 40).Draw(t, "began 1")}
		edge := rapid.Int64Range(1, 9).Draw(t, "edge")
		of := rapid.Int64Range(1, 50).Draw(t, "of")
		was := must1(grid.New(began, grid.Chunks(edge, edge)...))
		grown := slices.Clone(began)
		// The last block may become longer, and blocks follow.
		grown[rapid.IntRange(0, 1).Draw(t, "axis")] += rapid.Int64Range(0, 40).Draw(t, "more")
		is := must1(grid.New(grown, grid.Chunks(edge, edge)...))
		counts := make([]int, of)
		for i := range was.Axis(0).Chunks() {
			for j := range was.Axis(1).Chunks() {
				k := rechunk.ShareOf(was, began, []int64{i, j}, of)
				if now := rechunk.ShareOf(is, began, []int64{i, j}, of); now != k {
					t.Fatalf("block %d, %d went from share %d to %d", i, j, k, now)
				}
				counts[k]++
			}
		}
		if least, most := slices.Min(counts), slices.Max(counts); most-least > 1 {
			t.Fatalf("shares of %d to %d blocks", least, most)
		}
		for i := range is.Axis(0).Chunks() {
			for j := range is.Axis(1).Chunks() {
				if k := rechunk.ShareOf(is, began, []int64{i, j}, of); k < 0 || k >= of {
					t.Fatalf("share %d of %d", k, of)
				}
			}
		}
	})
}

func sharing(t *testing.T, s stepping.ObjectStore, r rechunk.Request, opt *rechunk.Options) *rechunk.Sharing {
	p, err := rechunk.NewSharing(again(t, s), r, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Leave() })
	return p
}

func share(t *testing.T, p *rechunk.Sharing, share rechunk.StageShare) rechunk.Counts {
	t.Helper()
	r, err := p.Do(t.Context(), share)
	if err != nil {
		t.Fatalf("%+v: %v", share, err)
	}
	return r.Staged
}
