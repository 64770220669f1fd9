// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
)

// TestScratchOfErasedChunk erases a chunk of the source after its scratch was made. The
// scratch is still stored, but nothing may read it.
func TestScratchOfErasedChunk(t *testing.T) {
	s := storetest.Conditional(memstore.New(), storetest.Hooks{})
	_, request := rows(t, s)
	opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
	stage := func(n int) {
		t.Helper()
		if _, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.Share{Stage: n}, opt); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := rechunk.NewPlan(t.Context(), again(t, s), request, opt)
	if err != nil || len(plan.Stages) < 2 {
		t.Fatalf("%+v (%v)", plan, err)
	}
	stage(0)
	if err := zarr.Write(t.Context(), again(t, s), grid.Box{{Start: 0, Stop: 4}, {Start: 0, Stop: 8}}, make([]int32, 32)); err != nil {
		t.Fatal(err)
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
	inner := memstore.New()
	s := storetest.Conditional(inner, storetest.Hooks{})
	_, request := rows(t, s)
	opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
	isObject := func(op storetest.Op) bool {
		key := op.Key.String()
		return strings.Contains(key, "/scratch/") && strings.HasSuffix(key, "/c/0/0")
	}
	stores, goOn, done := make(chan bool), make(chan bool), make(chan error, 1)
	first := sync.OnceFunc(func() { close(stores); <-goOn })
	slow := storetest.Conditional(inner, storetest.Hooks{Before: func(_ context.Context, op storetest.Op) error {
		if op.Name == "Put" && isObject(op) {
			first()
		}
		return nil
	}})
	stage := func(s storetest.ObjectStore, n int) error {
		_, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.Share{Stage: n}, opt)
		return err
	}
	go func() { done <- stage(slow, 0) }()
	<-stores
	fresh := fixture.Numbers(100, 8) // no fill values, of which no object is made
	if err := zarr.Write(t.Context(), again(t, s), grid.Box{{Start: 0, Stop: 1}, {Start: 0, Stop: 8}}, fresh); err != nil {
		t.Fatal(err)
	}
	overtaken := sync.OnceFunc(func() {
		close(goOn)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	made := false
	quick := storetest.Conditional(inner, storetest.Hooks{After: func(op storetest.Op, err error) error {
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
			inner := memstore.New()
			plain := storetest.Conditional(inner, storetest.Hooks{})
			_, request := rows(t, plain)
			opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
			claims := 0
			begun, end := make(chan bool), make(chan bool)
			done := make(chan error, 1)
			sharing := *opt
			once := sync.OnceFunc(func() { close(begun); <-end })
			sharing.Progress = func(rechunk.Progress) { once() }
			s := storetest.Conditional(inner, storetest.Hooks{After: func(op storetest.Op, err error) error {
				if op.Name == "Get" && strings.HasSuffix(op.Key.String(), "__varve/regrid.json") {
					if claims++; claims == 1 {
						go func() {
							_, err := rechunk.Stage(t.Context(), again(t, plain), request, rechunk.Share{}, &sharing)
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
		s := memstore.New()
		a, request := rows(t, s)
		opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
		if into != "" {
			opt.Into = zarr.At(s, into)
		}
		if _, err := rechunk.Publish(t.Context(), a, request, opt); !errors.Is(err, rechunk.ErrUnfinished) {
			t.Errorf("published without a stage: %v", err)
		}
		if _, err := rechunk.Stage(t.Context(), a, request, rechunk.Share{Stage: 9}, opt); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("stage 9: %v", err)
		}
		if names := left(t, s); len(names) > 0 {
			t.Errorf("left over: %q", names)
		}
	}
}

// TestPlanLooksAtDestination plans a new array where something is.
func TestPlanLooksAtDestination(t *testing.T) {
	s := memstore.New()
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
		raw, err := rechunk.MarshalRequest(r)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := rechunk.ParseRequest(operation, raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if again, err := rechunk.MarshalRequest(parsed); err != nil || string(again) != string(raw) {
			t.Errorf("%s becomes %s (%v)", raw, again, err)
		}
	}
}
