// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
)

// TestSharings lets several processes, which stay, execute the shares of a plan. Shares
// are offered again and in any order within a stage, processes end and begin, and the
// array changes. The result is that of one process.
func TestSharings(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		x := drawTransposed(t)
		s := storetest.Conditional(x.store.(*memstore.Store), storetest.Hooks{})
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
				if _, err := workers[i].Do(t.Context(), rechunk.Share{Stage: stage, Task: k, Of: of}); err != nil {
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
		report, err := workers[0].Do(t.Context(), rechunk.Share{Of: of})
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
	m := memstore.New()
	_, request := rows(t, m)
	opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
	var n atomic.Int64
	s := storetest.Conditional(m, storetest.Hooks{Before: func(context.Context, storetest.Op) error { n.Add(1); return nil }})
	late, first := sharing(t, s, request, opt), sharing(t, s, request, opt)
	plan := must1(rechunk.NewPlan(t.Context(), again(t, s), request, opt))
	if len(plan.Stages) < 2 {
		t.Fatalf("%d stages", len(plan.Stages))
	}
	const of = 4
	share(t, late, rechunk.Share{Of: of}) // lists stage 0
	for stage := range plan.Stages {
		for k := range int64(of) {
			share(t, first, rechunk.Share{Stage: stage, Task: k, Of: of})
		}
	}
	for stage := range plan.Stages {
		for k := range int64(of) {
			before := n.Load()
			if c := share(t, late, rechunk.Share{Stage: stage, Task: k, Of: of}); c != (rechunk.Counts{}) {
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
	m := memstore.New()
	_, request := rows(t, m)
	opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
	failing := false
	s := storetest.Conditional(m, storetest.Hooks{Before: func(_ context.Context, op storetest.Op) error {
		if failing && strings.Contains(op.String(), "share.json") {
			return errors.New("no network")
		}
		return nil
	}})
	p := sharing(t, s, request, opt)
	for stage := range must1(rechunk.NewPlan(t.Context(), again(t, s), request, opt)).Stages {
		share(t, p, rechunk.Share{Stage: stage})
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
	m := memstore.New()
	a, request := rows(t, m)
	for _, want := range []bool{true, false} {
		if needed, err := rechunk.Needed(t.Context(), again(t, m), request, nil); err != nil || needed != want {
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
		was := must1(grid.Regular(began, []int64{edge, edge}))
		grown := slices.Clone(began)
		// The last block may become longer, and blocks follow.
		grown[rapid.IntRange(0, 1).Draw(t, "axis")] += rapid.Int64Range(0, 40).Draw(t, "more")
		is := must1(grid.Regular(grown, []int64{edge, edge}))
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

func sharing(t *testing.T, s storetest.ObjectStore, r rechunk.Request, opt *rechunk.Options) *rechunk.Sharing {
	p, err := rechunk.NewSharing(again(t, s), r, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Leave() })
	return p
}

func share(t *testing.T, p *rechunk.Sharing, share rechunk.Share) rechunk.Counts {
	t.Helper()
	r, err := p.Do(t.Context(), share)
	if err != nil {
		t.Fatalf("%+v: %v", share, err)
	}
	return r.Staged
}
