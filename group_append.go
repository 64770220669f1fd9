// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"slices"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/dimension"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodelock"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/store"
)

// Addition is an append to one array of a group, as a part of [Group.Append].
type Addition struct {
	Path string // of the array, relative to the group
	Axis int
	Data []byte // elements in C order and the byte order of the host, as for [Array.AppendBytes]
	Type dtype.Type
	// From is a source of the elements, in place of Data, as in [Array.AppendFrom].
	From *Source
	// Segments are arrays whose elements are appended one after the other, in place of
	// Data, as in [Array.Stitch].
	Segments []*Array
	// Options are the options of the append. Nil is the zero AppendOptions.
	Options *AppendOptions
	// Alone permits the array to differ in length afterwards from the other arrays of its
	// group that have the dimension.
	Alone bool

	values func(*Array) (element.Buffer, error) // in place of Data; converts Go values to elements of the array
}

// Add returns the addition of src to the array at a path below the group.
func Add[T dtype.Element](path string, axis int, src []T, opt *AppendOptions) Addition {
	return Addition{Path: path, Axis: axis, Options: opt, values: func(a *Array) (element.Buffer, error) { return elementsOf(a, src) }}
}

// Append appends to several arrays in one transaction, such as all variables along a
// dimension and its coordinate. After a crash at any time, either all arrays have grown
// or none has, once the next writer has completed or undone the transaction. Each array
// grows as with [Append]. Readers that use the consolidated metadata of the group see all
// arrays grow at once; other readers may see one array grow before another.
//
// Arrays directly below one group that share a dimension name must agree along it
// afterwards, including arrays that do not grow ([Array.CheckDimensions]). Otherwise the
// error wraps [ErrInvalidArgument], unless Alone is set.
//
// If an Addition has Data but no Type, Data has the type of the array.
func (g *Group) Append(ctx context.Context, additions ...Addition) error {
	if err := g.writable(); err != nil {
		return g.fail("append", err)
	}
	arrays, err := g.openEach(ctx, additions)
	if err != nil {
		return err
	}
	if err := checkDistinct(arrays); err != nil {
		return err
	}
	return g.fail("append", g.append(ctx, arrays, additions))
}

// openEach opens the arrays of additions, several at once in a store without locks, where
// each takes round trips.
func (g *Group) openEach(ctx context.Context, additions []Addition) ([]*Array, error) {
	arrays := make([]*Array, len(additions))
	group, ctx := parallel.New(ctx)
	group.SetLimit(mostOpened)
	if _, locks := store.As[store.Locker](g.hierarchy.store); locks {
		group.SetLimit(1)
	}
	for i, add := range additions {
		group.Go(func() (err error) {
			// Opening for writing completes a transaction that a crashed writer left.
			arrays[i], err = g.At(add.Path).OpenArray(ctx, nil)
			return err
		})
	}
	return arrays, group.Wait(nil)
}

// mostOpened is the number of arrays that one call opens at once.
const mostOpened = 16

// checkDistinct returns an error if two additions name the same array, perhaps through a
// link. The call would wait forever for a lock that it holds itself.
func checkDistinct(arrays []*Array) error {
	known := make([]store.Identity, len(arrays))
	first := map[store.Path]int{}
	for i, a := range arrays {
		id, err := store.Identify(a.hierarchy.store, a.path)
		if err != nil {
			return a.fail("append", err)
		}
		known[i] = id
		at, twice := first[a.path]
		if !twice && id != nil {
			at = slices.IndexFunc(known[:i], id.Same)
			twice = at >= 0
		}
		if twice {
			return a.fail("append", fault.Argument("the array is named twice, the first time as %q", "/"+arrays[at].Path()))
		}
		first[a.path] = i
	}
	return nil
}

// of returns the elements of the addition.
func (d Addition) of(a *Array) (snapshot.Gain, error) {
	switch {
	case d.From != nil && d.values != nil, d.Segments != nil && (d.From != nil || d.values != nil || d.Data != nil):
		return snapshot.Gain{}, snapshot.ErrBothGiven
	case d.Segments != nil:
		return a.segmented(d.Segments), nil
	case d.values != nil:
		e, err := d.values(a)
		return snapshot.Gain{Buffer: e}, err
	case d.Type.IsZero():
		d.Type = a.Type()
	}
	return snapshot.Gain{Buffer: element.Buffer{Type: d.Type, Data: d.Data}, From: (*snapshot.Source)(d.From)}, nil
}

func (g *Group) append(ctx context.Context, arrays []*Array, additions []Addition) error {
	// Lock before the shapes are compared, so that no other call of this process changes
	// them until the transaction ends.
	leave, err := enterAll(ctx, arrays)
	if err != nil {
		return err
	}
	defer leave()
	// Compare shapes before anything else, as Array.Append does.
	for i, add := range additions {
		if err := arrays[i].state.Load().Expect(add.Options.orZero().Expect); err != nil {
			return arrays[i].fail("append", err)
		}
	}
	for i, add := range additions {
		if add.Segments == nil {
			continue
		}
		if err := arrays[i].prepareSegments(ctx, add.Segments); err != nil {
			return arrays[i].fail("stitch", err)
		}
	}
	changes, err := checkDimensions(arrays, additions)
	if err == nil {
		err = checkShared(ctx, "append", arrays, changes)
	}
	if err != nil {
		return err
	}
	parts := make([]publish.Participant, len(arrays))
	for i, a := range arrays {
		plan, err := a.addition(ctx, additions[i])
		if err != nil {
			return a.fail("append", err)
		}
		parts[i] = publish.Participant{Node: a.publisher(), Plan: plan}
	}
	return publish.Retry(ctx, func() error {
		err := publish.UpdateAll(ctx, parts, tree.Refresh(g.options.Limits.metadata()))
		if !errors.Is(err, publish.ErrPending) {
			return err
		}
		// A crashed writer left a transaction. Complete it for every array, then let
		// Retry try again, because ErrPending is a conflict.
		for _, a := range arrays {
			if err := a.finishOthers(ctx); err != nil {
				return err
			}
		}
		return err
	})
}

// checkDimensions returns how the arrays change. It returns an error if arrays that share
// a dimension agree along it now but would not agree after the additions.
func checkDimensions(arrays []*Array, additions []Addition) ([]dimension.Change, error) {
	type length struct {
		path      string
		was, more int64
	}
	seen := map[string]length{}
	changes := make([]dimension.Change, len(arrays))
	for i, a := range arrays {
		axis, more, err := additions[i].along(a)
		if err != nil {
			return nil, a.fail("append", err)
		}
		changes[i] = a.reshaping(func(shape []int64) []int64 {
			shape[axis] += more
			return shape
		})
		changes[i].Alone = additions[i].Alone
		names, s := a.DimensionNames(), a.state.Load()
		if names == nil || names[axis] == "" || additions[i].Alone {
			continue
		}
		// Arrays that disagree already are left to checkShared.
		is, other := length{a.Path(), s.Grid.Axis(axis).Extent(), more}, seen[names[axis]]
		if other.path != "" && other.was == is.was && other.more != is.more {
			err := fault.Argument("%d elements along %q, %q gets %d: give both the same", more, names[axis], other.path, other.more)
			return nil, a.fail("append", &grid.AxisError{Axis: axis, Err: err})
		}
		seen[names[axis]] = is
	}
	return changes, nil
}

// along returns the axis along which an array grows, and the number of new planes.
func (d Addition) along(a *Array) (axis int, planes int64, err error) {
	if axis, err = a.axis(d.Axis); err != nil {
		return 0, 0, err
	}
	e, err := d.of(a)
	if err != nil {
		return 0, 0, err
	}
	planes, err = e.Along(a.state.Load(), axis, d.Options.orZero().Planes)
	return axis, planes, err
}

// addition returns the plan for one array.
func (a *Array) addition(ctx context.Context, add Addition) (func(publish.Document) (*publish.Change, error), error) {
	axis, err := a.axis(add.Axis)
	if err != nil {
		return nil, err
	}
	e, err := add.of(a)
	if err != nil {
		return nil, a.fail("append", err)
	}
	grow := func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		return a.grow(old, func(s *snapshot.Array) (*snapshot.Reshape, error) { return appended(s, axis, e, add.Options.orZero()) })
	}
	plan := a.planned(ctx, grow)
	return func(d publish.Document) (*publish.Change, error) {
		c, err := plan(d)
		return c, a.fail("append", err)
	}, nil
}

// enterAll takes the exclusive lock of every array. It locks in the order of paths,
// because two calls with different orders would deadlock.
func enterAll(ctx context.Context, arrays []*Array) (leave func(), err error) {
	sorted := slices.SortedFunc(slices.Values(arrays), func(a, b *Array) int { return strings.Compare(a.Path(), b.Path()) })
	var held []*nodelock.Held
	leave = func() {
		for _, h := range held {
			h.Release()
		}
	}
	for _, a := range sorted {
		h, err := a.lock().Exclude(ctx)
		if err != nil {
			leave()
			return nil, err
		}
		held = append(held, h)
	}
	return leave, nil
}
