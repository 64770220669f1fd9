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
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/storetest"
)

// fates are what happens to the operation at which a client stops.
var fates = map[string]func(s *storetest.Stepper) (done bool){
	"stop before": func(s *storetest.Stepper) bool { s.Crash(0); return true },
	"stop after":  func(s *storetest.Stepper) bool { _, done := s.Lose(0); s.Crash(0); return done },
	"lost answer": func(s *storetest.Stepper) bool { _, done := s.Lose(0); return done },
	"error":       func(s *storetest.Stepper) bool { _, done := s.Refuse(0); return done },
}

// change is an operation on an array of the elements 1 to 5 that may stop anywhere.
type change struct {
	spec   zarr.Spec
	before func(ctx context.Context, a *zarr.Array) error // what was done before, or nil
	do     func(ctx context.Context, a *zarr.Array, o *rechunk.Options) error
	steps  int // of it in a store with conditional writes, at least
}

// requesting is the change that a request makes.
func requesting(spec zarr.Spec, q rechunk.Request) change {
	return change{spec, nil, func(ctx context.Context, a *zarr.Array, o *rechunk.Options) error {
		_, err := rechunk.Do(ctx, a, q, o)
		return err
	}, 30}
}

// changes are operations of every kind.
var changes = map[string]change{
	"compact":    requesting(fixture.Edges(1, 1, 1, 1, 1), rechunk.Compaction{UpTo: 2}),
	"regularize": requesting(fixture.Edges(1, 1, 1, 1, 1), rechunk.Regularization{Chunk: []int64{3}}),
	"relabel": {fixture.Within(fixture.Edges(2, 2, 2), 5), nil, func(ctx context.Context, a *zarr.Array, o *rechunk.Options) error {
		_, err := rechunk.Do(ctx, a, rechunk.Regularization{Chunk: []int64{2}}, o)
		return err
	}, 6},
	"rechunk": requesting(fixture.Edges(1, 1, 1, 1, 1), rechunk.Rechunking{Chunks: rechunk.Cuts(fixture.Edges(1, 1, 3).Chunks), Codecs: fixture.Plain()}),
	"pack":    requesting(fixture.Edges(1, 1, 1, 1, 1), rechunk.Rechunking{Chunks: rechunk.Cuts(fixture.Edges(2, 3).Chunks), Inner: rechunk.Cuts(fixture.Every(5, 1).Chunks)}),
	"unpack":  requesting(shards(2, 3), rechunk.Rechunking{Unpack: true}),
	"revert":  {fixture.Edges(1, 1, 1, 1, 1), compacting, func(ctx context.Context, a *zarr.Array, _ *rechunk.Options) error { return rechunk.Revert(ctx, a) }, 15},
	"vacuum": {fixture.Edges(1, 1, 1, 1, 1), compacting, func(ctx context.Context, a *zarr.Array, _ *rechunk.Options) error {
		_, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1})
		return err
	}, 15},
	"compact again": {fixture.Edges(1, 1, 1, 1, 1), compacting, func(ctx context.Context, a *zarr.Array, o *rechunk.Options) error {
		_, err := rechunk.Do(ctx, a, rechunk.Compaction{UpTo: 4}, o)
		return err
	}, 30},
	"abandon": {fixture.Edges(1, 1, 1, 1, 1), interrupted, rechunk.Abandon, 15},
}

// shards returns the spec of shards with inner chunks of one element.
func shards(n ...int64) zarr.Spec {
	s := fixture.Edges(n...)
	s.InnerChunks = []grid.Cut{grid.Every(1)}
	return s
}

// interrupted begins a rechunk and gives up once a chunk is staged.
func interrupted(ctx context.Context, a *zarr.Array) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := rechunk.Do(ctx, a, rechunk.Compaction{UpTo: 2}, &rechunk.Options{Memory: 1 << 8, Progress: func(rechunk.Progress) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		return errors.Join(errors.New("the rechunk was not interrupted"), err)
	}
	return nil
}

// prepare makes the array of a change.
func (c change) prepare(ctx context.Context, s store.Store) error {
	a, err := zarr.At(s, "a").CreateArray(ctx, c.spec, nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 5))
	}
	if err == nil && c.before != nil {
		err = c.before(ctx, a)
	}
	return err
}

// run opens the array and makes the change.
func (c change) run(ctx context.Context, s store.Store, o *rechunk.Options) error {
	a, err := zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1})
	if err != nil {
		return err
	}
	return c.do(ctx, a, o)
}

func (c change) inspect(ctx context.Context, s store.Store) (*rechunk.Inspection, error) {
	a, err := zarr.At(s, "a").OpenArray(ctx, nil)
	if err != nil {
		return nil, err
	}
	return rechunk.Inspect(ctx, a)
}

// again makes the change once more, and a vacuum. Then nothing is left that the document
// does not describe.
func (c change) again(t *testing.T, s store.Store) (left []string, err error) {
	t.Helper()
	want := fixture.Numbers(1, 5)
	reads(t, s, want...)
	if i, err := c.inspect(t.Context(), s); err != nil || i.Replaced != nil {
		t.Errorf("taken for the change of another program: %+v (%v)", i, err)
	}
	// A revert that was made cannot be made again.
	if err := c.run(t.Context(), s, &rechunk.Options{TakeOver: true}); err != nil && !errors.Is(err, rechunk.ErrNoRevert) {
		return nil, err
	}
	reads(t, s, want...)
	a, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		_, err = rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1})
	}
	if err != nil {
		return nil, err
	}
	reads(t, s, want...)
	left = strings.Fields(keys(t, s))
	keys := a.Spec().KeyEncoding
	for index := range grid.BoxOf(a.Grid().Chunks()).Indices() {
		name := "a/" + string(keys.AppendKey(nil, index))
		if !slices.Contains(left, name) {
			t.Errorf("%s is not stored", name)
		}
		left = slices.DeleteFunc(left, func(is string) bool { return is == name })
	}
	return slices.DeleteFunc(left, func(name string) bool { return name == "zarr.json" || name == "a/zarr.json" }), nil
}

// crashAt stops a change in an empty store at its operation number at. It returns false
// if there are fewer.
func (c change) crashAt(t *testing.T, empty storetest.ObjectStore, at int, end func(*storetest.Stepper) bool) bool {
	inner := &handle{empty}
	if err := c.prepare(t.Context(), inner); err != nil {
		t.Fatal(err)
	}
	stepper := storetest.NewStepper(inner)
	defer stepper.Close()
	o := &rechunk.Options{TakeOver: c.before != nil}
	stepper.Start(func(s store.Store) error { return c.run(t.Context(), &handle{s.(storetest.ObjectStore)}, o) })
	for range at {
		if _, done := stepper.Step(0); done {
			return false
		}
	}
	if done := end(stepper); !done {
		stepper.Finish(func(int) int { return 0 }, 0)
	}
	left, err := c.again(t, inner)
	if err != nil || len(left) > 0 {
		t.Fatalf("operation %d leaves %v (%v)\n%s", at, left, err, stepper.Trace())
	}
	return true
}
