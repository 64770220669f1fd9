// SPDX-License-Identifier: Apache-2.0

// Package rechunk tests the rechunk of arrays against models, in crashes, beside other
// programs, and with readers of any age. [Run] lets the tests of a driver do a part of it
// on a real object store.
package rechunk

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// Run makes rechunks of every kind in empty object stores that open returns. It stops
// each at every step-th operation in every way, for steps from 16 on in one way, and
// plays it beside other clients in times random orders. It returns the number of stops
// and of orders.
func Run(t *testing.T, open func() stepping.ObjectStore, step, times int) (stops, orders int) {
	t.Helper()
	for name, c := range changes {
		for fate, end := range someFates(step) {
			t.Run(name+"/"+fate, func(t *testing.T) {
				for at := rand.IntN(step); c.crashAt(t, open(), at, end); at += step {
					stops++
				}
			})
		}
	}
	for name, m := range moves {
		for fate, end := range someFates(step) {
			t.Run(name+"/"+fate, func(t *testing.T) {
				for at := rand.IntN(step); moveCrashAt(t, open(), m, at, end); at += step {
					stops++
				}
			})
		}
	}
	together := moveScenes()
	maps.Copy(together, scenes)
	for name, s := range together {
		t.Run(name, func(t *testing.T) {
			for i := 0; i < times && !t.Failed(); i++ {
				if s.play(t, open(), 3, rand.IntN) != nil {
					orders++
				}
			}
		})
	}
	return stops, orders
}

// someFates returns all fates. For a step of 16 or more it draws one.
func someFates(step int) map[string]func(*stepping.Stepper) bool {
	if step < 16 {
		return fates
	}
	names := slices.Sorted(maps.Keys(fates))
	name := names[rand.IntN(len(names))]
	return map[string]func(*stepping.Stepper) bool{name: fates[name]}
}

// fates are what happens to the operation at which a client stops.
var fates = map[string]func(s *stepping.Stepper) (done bool){
	"stop before": func(s *stepping.Stepper) bool { s.Crash(0); return true },
	"stop after":  func(s *stepping.Stepper) bool { _, done := s.Lose(0); s.Crash(0); return done },
	"lost answer": func(s *stepping.Stepper) bool { _, done := s.Lose(0); return done },
	"error":       func(s *stepping.Stepper) bool { _, done := s.Refuse(0); return done },
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
	s.InnerChunks = grid.Chunks(1)
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
func (c change) crashAt(t *testing.T, empty stepping.ObjectStore, at int, end func(*stepping.Stepper) bool) bool {
	inner := &handle{empty}
	if err := c.prepare(t.Context(), inner); err != nil {
		t.Fatal(err)
	}
	stepper := stepping.NewStepper(inner)
	defer stepper.Close()
	o := &rechunk.Options{TakeOver: c.before != nil}
	stepper.Start(func(s store.Store) error { return c.run(t.Context(), &handle{s.(stepping.ObjectStore)}, o) })
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

// moveCrashAt is [change.crashAt] for a request that moves planes of an array of the
// elements 1 to 6.
func moveCrashAt(t *testing.T, inner stepping.ObjectStore, m move, at int, end func(*stepping.Stepper) bool) bool {
	a, err := zarr.At(inner, "a").CreateArray(t.Context(), m.spec, nil)
	was, want := fixture.Numbers(1, 6), m.want
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, was)
	}
	if err != nil {
		t.Fatal(err)
	}
	do := func(s store.Store, o *rechunk.Options) error {
		a, err := zarr.At(&handle{s.(stepping.ObjectStore)}, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
		if err == nil {
			_, err = rechunk.Do(t.Context(), a, m.request, o)
		}
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
	is := values(t, inner, "a")
	if !slices.Equal(is, was) && !slices.Equal(is, want) {
		t.Fatalf("operation %d leaves %v\n%s", at, is, stepper.Trace())
	}
	if isOpen(t, inner, "a") || slices.Equal(is, was) {
		if err := do(inner, &rechunk.Options{TakeOver: true}); err != nil {
			t.Fatalf("again after operation %d: %v\n%s", at, err, stepper.Trace())
		}
	}
	reads(t, inner, want...)
	if a, err = zarr.At(inner, "a").OpenArray(t.Context(), &zarr.Options{Write: true}); err == nil {
		_, err = rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1})
	}
	if err != nil {
		t.Fatalf("vacuum after operation %d: %v\n%s", at, err, stepper.Trace())
	}
	reads(t, inner, want...)
	left := slices.DeleteFunc(strings.Fields(keys(t, inner)), func(name string) bool { return strings.HasSuffix(name, "zarr.json") })
	if int64(len(left)) != a.Grid().Chunks()[0] {
		t.Fatalf("operation %d leaves %v\n%s", at, left, stepper.Trace())
	}
	return true
}

// moving drops or inserts planes of the array.
func moving(r rechunk.Request) client {
	return func(ctx context.Context, a *zarr.Array) error {
		_, err := rechunk.Do(ctx, a, r, nil)
		return err
	}
}

// move is a request that moves planes of an array of the elements 1 to 6, and the
// elements afterwards.
type move struct {
	spec    zarr.Spec
	request rechunk.Request
	want    []int32
}

// moves are requests of both kinds.
var moves = map[string]move{
	"drop":                      {fixture.Edges(2, 2, 2), rechunk.Removal{Range: grid.Interval{Start: 1, Stop: 4}}, []int32{1, 5, 6}},
	"drop from a regular array": {fixture.Every(6, 4), rechunk.Removal{Range: grid.Interval{Start: 1, Stop: 4}}, []int32{1, 5, 6}},
	"insert":                    {fixture.Edges(2, 2, 2), rechunk.Insertion{At: 3, From: given([]int64{2}, []int32{8, 9})}, []int32{1, 2, 3, 8, 9, 4, 5, 6}},
}

// moveScenes are removals and insertions beside other clients. What was appended stays. A
// value that was written is at the plane that had the place when it was written.
func moveScenes() map[string]scene {
	dropping := moving(rechunk.Removal{Range: grid.Interval{Start: 1, Stop: 2}})
	inserting := moving(rechunk.Insertion{At: 1, From: given([]int64{1}, []int32{9}), Identity: "nine"})
	return map[string]scene{
		"append": {n: 4, clients: []client{dropping, appending(5)}, oneOf: func(done []bool) [][]int32 {
			if !done[0] || !done[1] {
				return nil // both always succeed
			}
			return [][]int32{{1, 3, 4, 5}}
		}},
		"append to a regular array": {n: 4, regular: true, clients: []client{dropping, appending(5)}, oneOf: func(done []bool) [][]int32 {
			if !done[0] || !done[1] {
				return nil
			}
			return [][]int32{{1, 3, 4, 5}}
		}},
		"append to an insertion": {n: 3, clients: []client{inserting, appending(5)}, oneOf: func(done []bool) [][]int32 {
			if !done[0] || !done[1] {
				return nil
			}
			return [][]int32{{1, 9, 2, 3, 5}}
		}},
		"region": {n: 4, clients: []client{dropping, writing(2, 99)}, oneOf: func(done []bool) [][]int32 {
			if !done[0] {
				return nil // a lone removal never fails
			}
			list := [][]int32{{1, 99, 4}}
			if done[1] {
				return append(list, []int32{1, 3, 99})
			}
			return append(list, []int32{1, 3, 4})
		}},
		"region before an insertion": {n: 3, clients: []client{inserting, writing(0, 99)}, oneOf: func(done []bool) [][]int32 {
			list := [][]int32{{99, 9, 2, 3}}
			if !done[1] {
				list = append(list, []int32{1, 9, 2, 3})
			}
			return list
		}},
		"two removals": {n: 3, clients: []client{dropping, moving(rechunk.Removal{Range: grid.Interval{Stop: 1}})}, oneOf: func(done []bool) [][]int32 {
			switch {
			case done[0] && done[1]:
				return [][]int32{{2}, {3}}
			case done[0]:
				return [][]int32{{1, 3}}
			}
			return [][]int32{{2, 3}}
		}},
		"compaction": {n: 4, clients: []client{dropping, compacting}, oneOf: func(done []bool) [][]int32 {
			if done[0] {
				return [][]int32{{1, 3, 4}}
			}
			return [][]int32{{1, 2, 3, 4}}
		}},
	}
}

// named is the store of one client, in which all keys are below a name of its own. So
// clients of one process share no lock of it, as clients of several processes do not.
type named struct {
	stepping.ObjectStore
	name string
}

func (n *named) path(p store.Path) store.Path {
	return n.key(p.MustKey("-")).Dir()
}

func (n *named) key(k store.Key) store.Key {
	return store.MustKey(strings.TrimPrefix(k.String(), n.name+"/"))
}

func (n *named) Get(ctx context.Context, k store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return n.ObjectStore.Get(ctx, n.key(k), q, dst)
}

func (n *named) Stat(ctx context.Context, k store.Key) (store.Info, error) {
	return n.ObjectStore.Stat(ctx, n.key(k))
}

func (n *named) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	c.Key = n.key(c.Key)
	return n.ObjectStore.Write(ctx, c, d)
}

func (n *named) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return n.ObjectStore.List(ctx, n.path(dir), how)
}
