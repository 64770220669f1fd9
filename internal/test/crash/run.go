// SPDX-License-Identifier: Apache-2.0

// Package crash stops the machine, or fails a request, before every operation of every
// kind of change. The next program must find the old state or the new one. [Run] lets the
// tests of a driver do a part of it on a real object store.
package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
)

// Run interrupts changes of arrays and of shards at every step-th operation, in empty
// object stores that open returns: the writer crashes before or after the operation,
// loses its answer, or gets an error. With steps from 16 on, each change is interrupted
// in one way only. Readers must find the old array or the new one, whole, and the next
// writer must be able to grow it. It returns the number of interruptions.
func Run(t *testing.T, open func() stepping.ObjectStore, step int64) (points int) {
	t.Helper()
	points = interruptAll(t, crashCases, open, step)
	return points + interruptAll(t, shardCases("rewrite", codec.Rewrite), open, step)
}

// crashCase is a change of an array in a group, and the states that readers may find
// during it.
type crashCase struct {
	name   string
	spec   zarr.Spec // of the array before; no array if it has no type
	run    func(ctx context.Context, h *zarr.Location) error
	expect func(old fixture.State) []fixture.State // the states after it in order; the last one is the result
	loose  bool                                    // each chunk may be old or new
	gone   bool                                    // the array may be absent during the change
	again  bool                                    // it can be repeated, and an error leaves its outcome unknown
}

// expectOne expects one of the states that the array may have; if the call has returned,
// the last one.
func (c *crashCase) expectOne(t *testing.T, got, old fixture.State, done bool, label string) {
	t.Helper()
	states := append([]fixture.State{old}, c.expect(old)...)
	last := states[len(states)-1]
	if c.gone {
		states = append(states, fixture.State{})
	}
	switch {
	case done && !got.Equal(last):
		t.Fatalf("%s: %v after success, want %v", label, got, last)
	case c.loose && got.IsMixOf(old, last), slices.ContainsFunc(states, got.Equal):
	default:
		t.Fatalf("%s: found %v, want one of %v", label, got, states)
	}
}

func openArray(ctx context.Context, h *zarr.Location) (*zarr.Array, error) {
	return h.At("g/a").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1})
}

func change(do func(ctx context.Context, a *zarr.Array) error) func(context.Context, *zarr.Location) error {
	return func(ctx context.Context, h *zarr.Location) error {
		a, err := openArray(ctx, h)
		if err != nil {
			return err
		}
		return do(ctx, a)
	}
}

// inTurn returns a change that makes several changes in order.
func inTurn(changes ...func(ctx context.Context, a *zarr.Array) error) func(context.Context, *zarr.Location) error {
	return change(func(ctx context.Context, a *zarr.Array) error {
		for _, do := range changes {
			if err := do(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
}

func resize(n int64) func(context.Context, *zarr.Location) error {
	return change(fixture.Resizing(nil, n))
}

func appendTo(data []int32) func(context.Context, *zarr.Location) error {
	return change(fixture.Appending(data, grid.AppendOne()))
}

// appendFrom appends elements from a source, one chunk at a time.
func appendFrom(data []int32) func(context.Context, *zarr.Location) error {
	return func(ctx context.Context, h *zarr.Location) error {
		a, err := h.At("g/a").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1, Budget: 1})
		if err != nil {
			return err
		}
		return a.AppendFrom(ctx, 0, zarr.SourceAt(bytes.NewReader(fixture.Int32Bytes(data)), int64(len(data))), nil)
	}
}

// stitch appends segments. The first chunk of all segments but the first is not stored.
func stitch(specs ...zarr.Spec) func(context.Context, *zarr.Location) error {
	return change(func(ctx context.Context, a *zarr.Array) error {
		var segments []*zarr.Array
		for i, spec := range specs {
			segment, err := zarr.At(memtest.New(), "").CreateArray(ctx, spec, nil)
			if err == nil {
				err = zarr.Write(ctx, segment, nil, fixture.Numbers(1, int32(spec.Shape[0])))
			}
			if err == nil && i > 0 {
				err = zarr.Fill(ctx, segment, selection.Box{{0, 1}}, int32(0))
			}
			if err != nil {
				return err
			}
			segments = append(segments, segment)
		}
		return a.Stitch(ctx, 0, segments, nil)
	})
}

// becomes expects another shape, and another grid unless grid is "".
func becomes(grid string, shape ...int64) func(fixture.State) []fixture.State {
	return func(old fixture.State) []fixture.State { return []fixture.State{old.Resized(shape...).Cut(grid)} }
}

// appended expects data after the old elements, and another grid unless grid is "".
func appended(data []int32, grid string) func(fixture.State) []fixture.State {
	return func(old fixture.State) []fixture.State {
		return []fixture.State{{Shape: []int64{old.Shape[0] + int64(len(data))}, Data: slices.Concat(old.Data, data), Grid: grid}}
	}
}

// holds expects the given elements in an array of one axis.
func holds(data ...int32) func(fixture.State) []fixture.State {
	return func(fixture.State) []fixture.State {
		return []fixture.State{{Shape: []int64{int64(len(data))}, Data: data}}
	}
}

// crashCases are changes of every kind.
var crashCases = slices.Concat(crashCreations, crashGrowths, crashShrinks, crashUnlocks)

var crashCreations = []crashCase{
	{name: "create", run: func(ctx context.Context, h *zarr.Location) error {
		_, err := h.At("g/a").CreateArray(ctx, fixture.Edges(1, 2, 3), nil)
		return err
	}, expect: func(fixture.State) []fixture.State {
		return []fixture.State{{Shape: []int64{6}, Data: make([]int32, 6)}}
	}},
	{name: "write", spec: fixture.Edges(1, 2, 3), loose: true, run: change(func(ctx context.Context, a *zarr.Array) error {
		return zarr.Write(ctx, a, selection.Box{{0, 5}}, fixture.Numbers(101, 5))
	}), expect: holds(101, 102, 103, 104, 105, 6)},
	{name: "overwrite", spec: fixture.Edges(1, 2, 3), gone: true, run: func(ctx context.Context, h *zarr.Location) error {
		_, err := h.At("g/a").CreateArray(ctx, fixture.Every(5, 4), &zarr.CreateOptions{Overwrite: true})
		return err
	}, expect: func(fixture.State) []fixture.State {
		return []fixture.State{{Shape: []int64{5}, Data: make([]int32, 5)}}
	}},
	{name: "delete", spec: fixture.Edges(1, 2, 3), run: func(ctx context.Context, h *zarr.Location) error {
		return h.At("g").Delete(ctx, &zarr.Options{Write: true})
	}, expect: func(fixture.State) []fixture.State { return []fixture.State{{}} }},
	{name: "attributes", spec: fixture.Every(6, 4), run: change(func(ctx context.Context, a *zarr.Array) error {
		return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"units": "K"}`), nil })
	}), expect: func(old fixture.State) []fixture.State { return []fixture.State{old} }},
}

var crashGrowths = []crashCase{
	{name: "stitch chunks", spec: fixture.Edges(1, 2, 3), run: stitch(fixture.Edges(2, 1), fixture.Edges(1, 1)),
		expect: appended([]int32{1, 2, 3, 0, 2}, fixture.List("[1, 2, 3, 2, [1, 3]]"))},
	{name: "stitch to a part of a chunk", spec: fixture.Every(6, 4), run: stitch(fixture.Every(3, 4)), expect: appended([]int32{1, 2, 3}, "")},
	{name: "append to edges", spec: fixture.Edges(1, 2, 3), run: appendTo(fixture.Numbers(7, 4)), expect: appended(fixture.Numbers(7, 4), fixture.List("[1, 2, 3, 4]"))},
	{name: "append fill value", spec: fixture.Edges(1, 2, 3), run: appendTo(make([]int32, 2)), expect: appended(make([]int32, 2), "")},
	{name: "append to regular chunks", spec: fixture.Every(6, 4), run: appendTo(fixture.Numbers(7, 7)), expect: appended(fixture.Numbers(7, 7), "")},
	{name: "append to edges that reach beyond", spec: fixture.Within(fixture.Edges(1, 4, 2), 3), run: appendTo(fixture.Numbers(4, 6)),
		expect: appended(fixture.Numbers(4, 6), fixture.List("[1, 4, [2, 2]]"))},
	{name: "append and repeat the last edge", spec: fixture.Edges(1, 2, 3), run: change(fixture.Appending(fixture.Numbers(7, 4), grid.RepeatLast())),
		expect: appended(fixture.Numbers(7, 4), fixture.List("[1, 2, [3, 3]]"))},
	{name: "append edges of one length", spec: fixture.Within(fixture.Edges(1, 4), 4), run: change(fixture.Appending(fixture.Numbers(5, 6), grid.Fixed(2))),
		expect: appended(fixture.Numbers(5, 6), fixture.List("[1, 4, [2, 3]]"))},
	{name: "append a pattern", spec: fixture.Edges(1, 2), run: change(fixture.Appending(fixture.Numbers(4, 7), grid.Pattern(2, 1, 1))),
		expect: appended(fixture.Numbers(4, 7), fixture.List("[1, [2, 2], [1, 2], 2, 1]"))},
	{name: "append to a plan", spec: fixture.Edges(1, 2), run: change(fixture.Appending(fixture.Numbers(4, 4), grid.Preplanned(grid.Run{Length: 3, Count: 4}))),
		expect: appended(fixture.Numbers(4, 4), fixture.List("[1, 2, [3, 4]]"))},
	{name: "append by months", spec: fixture.Edges(28), run: change(fixture.Appending(fixture.Numbers(29, 40), fixture.Months())),
		expect: appended(fixture.Numbers(29, 40), fixture.List("[28, 31, 30]"))},
	{name: "append within a month, and on", spec: fixture.Within(fixture.Edges(28), 20), run: inTurn(fixture.Appending(fixture.Numbers(21, 3), fixture.Months()), fixture.Appending(fixture.Numbers(24, 9), fixture.Months())),
		expect: func(old fixture.State) []fixture.State {
			some := fixture.State{Shape: []int64{23}, Data: fixture.Numbers(1, 23), Grid: fixture.List("[28]")}
			return []fixture.State{some, {Shape: []int64{32}, Data: fixture.Numbers(1, 32), Grid: fixture.List("[28, 31]")}}
		}},
	{name: "append from a source in boxes", spec: fixture.Within(fixture.Edges(1, 4, 2), 3), run: appendFrom(fixture.Numbers(4, 9)),
		expect: appended(fixture.Numbers(4, 9), fixture.List("[1, 4, 2, 5]"))},
	{name: "append from a source to regular chunks", spec: fixture.Every(6, 4), run: appendFrom(fixture.Numbers(7, 7)), expect: appended(fixture.Numbers(7, 7), "")},
	{name: "grow", spec: fixture.Every(6, 4), run: resize(11), expect: becomes("", 11)},
	{name: "grow edges", spec: fixture.Edges(1, 2, 3), run: resize(9), expect: becomes(fixture.List("[1, 2, [3, 2]]"), 9)},
	{name: "grow by a pattern", spec: fixture.Within(fixture.Edges(1, 4), 3), run: change(fixture.Resizing(&zarr.ResizeOptions{Grow: []grid.Growth{grid.Pattern(2, 3)}}, 9)),
		expect: becomes(fixture.List("[1, 4, 2, 3]"), 9)},
	{name: "grow over what an append left", spec: fixture.Edges(1, 2), run: inTurn(
		fixture.Appending(fixture.Numbers(4, 5), grid.Fixed(2)), fixture.Resizing(nil, 3), fixture.Resizing(nil, 7)),
		expect: func(old fixture.State) []fixture.State {
			more := appended(fixture.Numbers(4, 5), "")(old)[0]
			return []fixture.State{more, old.Resized(3), old.Resized(7)}
		}},
}

var crashShrinks = []crashCase{
	{name: "shrink", spec: fixture.Edges(1, 2, 3), run: resize(2), expect: becomes(fixture.List("[1, 2, 3]"), 2)},
	{name: "shrink regular chunks", spec: fixture.Every(9, 4), run: resize(3), expect: becomes("", 3)},
	{name: "shrink to nothing", spec: fixture.Every(9, 4), run: resize(0), expect: becomes("", 0)},
	{name: "trim edges", spec: fixture.Edges(1, 4, 2, 3), run: change(fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimEdges}, 3)),
		expect: becomes(fixture.List("[1, 4]"), 3)},
	{name: "trim edges and stay", spec: fixture.Within(fixture.Edges(1, 4, 2, 3), 5), run: change(fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimEdges}, 5)),
		expect: becomes(fixture.List("[1, 4]"), 5)},
	{name: "trim exactly", spec: fixture.Edges(1, 4, 2, 3), run: change(fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 3)),
		expect: becomes(fixture.List("[1, 2]"), 3)},
	{name: "trim exactly, raw", spec: fixture.Raw(fixture.Edges(1, 4, 2)), run: change(fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 2)),
		expect: becomes(fixture.List("[[1, 2]]"), 2)},
	{name: "trim exactly to nothing", spec: fixture.Edges(3, 2), run: change(fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 0)),
		expect: becomes("", 0)},
	{name: "trim exactly and stay", spec: fixture.Within(fixture.Edges(1, 4, 2), 4), run: change(fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 4)),
		expect: becomes(fixture.List("[1, 3]"), 4)},
	{name: "trim a plane exactly", spec: fixture.Plane(), run: change(fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 4, 4)),
		expect: becomes(fixture.List("[[2, 2]], [3, 1]"), 4, 4)},
	{name: "trim one axis and grow the other", spec: fixture.Plane(), run: change(fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 3, 7)),
		expect: becomes(fixture.List("[2, 1], [[3, 2], 1]"), 3, 7)},
	{name: "trim exactly and append", spec: fixture.Edges(1, 4), run: inTurn(
		fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 3), fixture.Appending(fixture.Numbers(50, 2), grid.AppendOne())),
		expect: func(old fixture.State) []fixture.State {
			return []fixture.State{old.Resized(3), {Shape: []int64{5}, Data: []int32{1, 2, 3, 50, 51}, Grid: fixture.List("[1, [2, 2]]")}}
		}},
	{name: "trim exactly, drop and append again", spec: fixture.Edges(1, 4), run: inTurn(
		fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 3), fixture.Resizing(&zarr.ResizeOptions{Shrink: grid.TrimEdges}, 1),
		fixture.Appending(fixture.Numbers(50, 2), grid.AppendOne())),
		expect: func(old fixture.State) []fixture.State {
			return []fixture.State{old.Resized(3), old.Resized(1), {Shape: []int64{3}, Data: []int32{1, 50, 51}, Grid: fixture.List("[1, 2]")}}
		}},
	{name: "shrink and keep what is stale", spec: fixture.Edges(1, 2, 3), run: change(fixture.Resizing(&zarr.ResizeOptions{KeepStale: true}, 2)),
		expect: becomes("", 2)},
	{name: "old values come back", spec: fixture.Edges(1, 2, 3), run: inTurn(
		fixture.Resizing(&zarr.ResizeOptions{KeepStale: true}, 2), fixture.Resizing(&zarr.ResizeOptions{KeepStale: true}, 6)),
		expect: func(old fixture.State) []fixture.State {
			return []fixture.State{old.Resized(2), {Shape: []int64{6}, Data: []int32{1, 2, 3, 0, 0, 0}}}
		}},
	{name: "shrink and grow", spec: fixture.Edges(1, 2, 3), run: inTurn(fixture.Resizing(nil, 5), fixture.Appending(fixture.Numbers(50, 1), grid.AppendOne())),
		expect: func(old fixture.State) []fixture.State {
			return []fixture.State{old.Resized(5), {Shape: []int64{6}, Data: []int32{1, 2, 3, 4, 5, 50}}}
		}},
}

var crashUnlocks = []crashCase{
	{name: "unlock", spec: fixture.Every(6, 4), run: change(fixture.Unlocking(nil)), expect: becomes(fixture.List("[[4, 2]]"), 6)},
	{name: "unlock and append", spec: fixture.Every(6, 4), run: inTurn(fixture.Unlocking(nil), fixture.Appending(fixture.Numbers(7, 4), grid.AppendOne())),
		expect: func(old fixture.State) []fixture.State {
			return []fixture.State{old.Cut(fixture.List("[[4, 2]]")), appended(fixture.Numbers(7, 4), fixture.List("[[4, 2], 2]"))(old)[0]}
		}},
	{name: "unlock and trim", spec: fixture.Every(6, 4), run: change(fixture.Unlocking(&zarr.RectilinearOptions{Trim: true})), expect: becomes(fixture.List("[4, 2]"), 6)},
	{name: "unlock and trim, raw", spec: fixture.Raw(fixture.Every(9, 4)), run: change(fixture.Unlocking(&zarr.RectilinearOptions{Trim: true})),
		expect: becomes(fixture.List("[[4, 2], 1]"), 9)},
	{name: "unlock an axis of a plane and trim it", spec: zarr.Spec{
		Shape: []int64{5, 3}, Type: dtype.Int32, Chunks: grid.Chunks(3, 2),
	}, run: change(fixture.Unlocking(&zarr.RectilinearOptions{Axes: []int{0}, Trim: true})), expect: becomes(fixture.List("[3, 2], 2"), 5, 3)},
}

// interruption interrupts a writer at its operation n: the writer crashes before or
// after it, or loses the answer and continues.
type interruption struct {
	name      string
	done      bool // the operation succeeds
	forGood   bool // the writer crashes there
	operation atomic.Int64
	n         int64
}

func (i *interruption) hooks() stepping.Hooks {
	return stepping.Hooks{
		Before: func(context.Context, stepping.Op) error {
			if at := i.operation.Add(1) - 1; at == i.n && !i.done || at > i.n && i.forGood {
				return fixture.ErrNoAnswer
			}
			return nil
		},
		After: func(_ stepping.Op, err error) error {
			if i.operation.Load()-1 == i.n && i.done {
				return fixture.ErrNoAnswer
			}
			return err
		},
	}
}

// happened reports whether the writer reached the operation.
func (i *interruption) happened() bool { return i.operation.Load() > i.n }

// interruptAll interrupts changes in every way, in stores that open returns: at every
// operation, or at every step-th one, the first of which is drawn. With the largest steps
// each change is interrupted in one way only, which is drawn. It returns the number of
// interruptions.
func interruptAll(t *testing.T, cases []crashCase, open func() stepping.ObjectStore, step int64) (points int) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			kinds := []*interruption{
				{name: "dies before", forGood: true}, {name: "dies after", done: true, forGood: true}, {name: "hears nothing of", done: true}, {name: "cannot do"},
			}
			if step >= fewKinds {
				k := rand.IntN(len(kinds))
				kinds = kinds[k : k+1]
			}
			for _, kind := range kinds {
				for n := rand.Int64N(step); ; n += step {
					i := &interruption{name: kind.name, done: kind.done, forGood: kind.forGood, n: n}
					if !c.interrupt(t, open(), i) {
						break
					}
					points++
				}
			}
		})
	}
	return points
}

// fewKinds is the step from which on only one way to interrupt is tried. Each takes at
// least one run without an interruption, to find the end.
const fewKinds = 16

// interrupt runs a change with an interruption, and checks the array. It returns false
// if the change ended before that operation.
func (c *crashCase) interrupt(t *testing.T, s stepping.ObjectStore, i *interruption) bool {
	t.Helper()
	ctx, quiet := context.Background(), zarr.At(s, "")
	old := c.prepareIn(t, quiet)
	early, err := quiet.At("g/a").OpenArray(ctx, nil)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	err = c.run(ctx, zarr.At(stepping.Conditional(s, i.hooks()), ""))
	label := fmt.Sprintf("%s operation %d (%v)", i.name, i.n, err)
	if err != nil && !i.happened() {
		t.Fatalf("%s: %v", label, err)
	}
	late, openErr := quiet.At("g/a").OpenArray(ctx, nil)
	if openErr != nil && !errors.Is(openErr, fs.ErrNotExist) {
		t.Fatalf("%s: %v", label, openErr)
	}
	got := fixture.LookAgain(t, late, label)
	c.expectOne(t, got, old, err == nil, label)
	unsure := errors.Is(err, zarr.ErrIncomplete) || errors.Is(err, zarr.ErrOutcomeUnknown)
	removed := got.Shape == nil // a repeated removal does no harm
	if err != nil && !unsure && !removed && !i.forGood && !c.loose && !c.gone && !c.again && len(c.expect(old)) == 1 && !got.Equal(old) {
		t.Fatalf("%s: found %v after the change failed", label, got)
	}
	if early != nil {
		c.expectOne(t, fixture.LookAgain(t, early, label).Cut(""), old, false, label+", reader from before")
	}
	if late != nil {
		growOn(t, quiet, got, label)
	}
	return i.happened()
}

// prepareIn creates the array of the case, with the numbers from 1 on.
func (c *crashCase) prepareIn(t *testing.T, h *zarr.Location) fixture.State {
	t.Helper()
	ctx := context.Background()
	if c.spec.Type.IsZero() {
		if _, err := h.At("").CreateGroup(ctx, nil, nil); err != nil {
			t.Fatal(err)
		}
		return fixture.State{}
	}
	a, err := h.At("g/a").CreateArray(ctx, c.spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := fixture.Numbers(1, int32(fixture.Count(c.spec.Shape)))
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		t.Fatal(err)
	}
	return fixture.State{Shape: c.spec.Shape, Data: data, Grid: string(a.Grid().AppendConfiguration(nil))}
}

// growOn grows the array over all leftovers, first without elements and then by an
// append.
func growOn(t *testing.T, h *zarr.Location, got fixture.State, label string) {
	t.Helper()
	ctx := context.Background()
	a, err := openArray(ctx, h)
	if err != nil {
		t.Fatalf("%s: opening for writing afterwards: %v", label, err)
	}
	shape := slices.Clone(got.Shape)
	shape[0] += 20
	want := got.Resized(shape...)
	if err := a.Resize(ctx, shape, nil); err != nil {
		t.Fatalf("%s: growing afterwards: %v", label, err)
	}
	if grown := fixture.LookAgain(t, a, label); !grown.Equal(want) {
		t.Fatalf("%s: grew to %v, want %v", label, grown, want)
	}
	shape[0]++
	want = want.Resized(shape...)
	row := fixture.Numbers(900, int32(fixture.Count(shape[1:])))
	copy(want.Data[len(want.Data)-len(row):], row)
	if err := zarr.Append(ctx, a, 0, row, nil); err != nil {
		t.Fatalf("%s: appending afterwards: %v", label, err)
	}
	if grown := fixture.LookAgain(t, a, label); !grown.Equal(want) {
		t.Fatalf("%s: grew to %v, want %v", label, grown, want)
	}
}
