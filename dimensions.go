// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"slices"
	"time"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// reshaping is an array whose extents are about to change.
type reshaping struct {
	array *Array
	after func(shape []int64) []int64
	alone bool // do not compare it with its siblings
}

// CheckDimensions returns an error that wraps [ErrInvalidArgument] if the array, with the
// given shape, would differ in length from other arrays of its group along a shared
// dimension whose length changes. [Append] and [Array.Resize] do not check this. Call
// CheckDimensions before them, or use [Group.Append], which calls it.
//
// It compares the arrays directly below the same group. If the group has no coordinate for
// a dimension, it also compares the coordinate in the nearest group above. It does not
// compare levels of a pyramid (attribute multiscales). Without consolidated metadata it
// reads the documents of the coordinates of these dimensions and of the first 1,000
// members.
func (a *Array) CheckDimensions(ctx context.Context, shape []int64) error {
	if len(shape) != a.Rank() {
		return a.fail("compare", fault.Argument("the shape %v has %d axes, the array has %d", shape, len(shape), a.Rank()))
	}
	after := func([]int64) []int64 { return shape }
	return checkShared(ctx, "check dimensions", []reshaping{{array: a, after: after}})
}

// agreementTries bounds how often differing lengths are read again while another writer
// appends.
const agreementTries = 20

// checkShared returns an error if arrays of one group would differ along a dimension
// after the changes.
func checkShared(ctx context.Context, op string, changes []reshaping) error {
	for _, c := range changes {
		if c.alone {
			continue
		}
		if err := c.check(ctx, changes); err != nil {
			return c.array.fail(op, err)
		}
	}
	return nil
}

// check compares one change with its siblings. A concurrent change of several arrays
// becomes visible array by array. So check reads differing lengths again until they no
// longer change.
func (c reshaping) check(ctx context.Context, changes []reshaping) error {
	names := c.changing()
	if len(names) == 0 || c.array.path.IsRoot() {
		return nil
	}
	siblings, err := c.array.siblings(ctx, names)
	if err != nil {
		return err
	}
	d := c.disagrees(changes, siblings)
	for range agreementTries {
		if d == nil {
			return nil
		}
		was := *d
		if err := pause(ctx); err != nil {
			return err
		}
		if siblings, err = c.array.again(ctx, changes, siblings, d.others); err != nil {
			return err
		}
		if d = c.disagrees(changes, siblings); d != nil && d.length == was.length && d.found == was.found {
			break
		}
	}
	if d == nil {
		return nil
	}
	return &grid.AxisError{Axis: d.axis, Err: d}
}

// pause waits a moment for another writer's change of several arrays to end.
func pause(ctx context.Context) error {
	select {
	case <-time.After(publish.LongestPause / 2):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// changing returns the names of the dimensions whose length changes.
func (c reshaping) changing() (names []string) {
	s := c.array.state.Load()
	was := s.Grid.Shape()
	is := c.after(slices.Clone(was))
	for i, name := range s.DimensionNames() {
		if name != "" && is[i] != was[i] {
			names = append(names, name)
		}
	}
	return names
}

// disagrees compares the array after the change with the siblings after theirs. It returns
// nil if all agree.
func (c reshaping) disagrees(changes []reshaping, siblings []extents) *disagreement {
	s := c.array.state.Load()
	was := s.Grid.Shape()
	is := c.after(slices.Clone(was))
	for axis, name := range s.DimensionNames() {
		if name == "" || is[axis] == was[axis] {
			continue
		}
		d := &disagreement{path: c.array.path, axis: axis, name: name, length: is[axis]}
		for _, o := range siblings {
			if i := slices.IndexFunc(changes, func(r reshaping) bool { return r.array.path == o.path }); i >= 0 {
				o.shape = changes[i].after(changes[i].array.Shape())
			}
			d.compare(o)
		}
		// A symbolic link to a changed array changes with it.
		d.others = slices.DeleteFunc(d.others, func(o extents) bool { return c.isOneOf(changes, o.path) })
		if len(d.others) > 0 {
			d.found = d.others[0].along(name)
			return d
		}
	}
	return nil
}

// isOneOf reports whether a path is a link to one of the changed arrays.
func (c reshaping) isOneOf(changes []reshaping, p store.Path) bool {
	named := slices.ContainsFunc(changes, func(r reshaping) bool { return r.array.path == p })
	return !named && slices.ContainsFunc(changes, func(r reshaping) bool {
		same, err := store.SameDirectory(c.array.hierarchy.store, r.array.path, p)
		return same && err == nil
	})
}

// again completes the transactions of crashed writers. Then it reads the lengths of the
// changing and of the differing arrays once more.
func (a *Array) again(ctx context.Context, changes []reshaping, siblings, differ []extents) ([]extents, error) {
	for _, c := range changes {
		if err := c.array.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	now := slices.DeleteFunc(siblings, func(e extents) bool {
		return slices.ContainsFunc(differ, func(d extents) bool { return d.path == e.path })
	})
	for _, d := range differ {
		// Opening completes a transaction of a crashed writer. Errors do not matter: the
		// document is read below.
		_, _ = a.hierarchy.at(d.path).OpenArray(ctx, &a.options)
	}
	return append(now, a.hierarchy.extentsOf(ctx, differ, a.options.Limits)...), ctx.Err()
}
