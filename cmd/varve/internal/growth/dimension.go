// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
)

// dimension is the name of the dimension that a time coordinate describes.
type dimension struct {
	name string
	sure bool // the array has this name of its dimension; otherwise it is that of the array
}

// dimensionOf returns the dimension of a coordinate at a location.
func dimensionOf(location string, a *zarr.Array) dimension {
	if names := a.DimensionNames(); len(names) == 1 && names[0] != "" {
		return dimension{names[0], true}
	}
	location = node.Clean(location)
	return dimension{location[strings.LastIndexByte(location, '/')+1:], false}
}

// axis returns the axis of an array with the given names of dimensions that d is: 0 if
// the names do not tell, and -1 if no axis is.
func (d dimension) axis(names []string) int {
	i := slices.Index(names, d.name)
	if i < 0 && (!d.sure || len(names) == 0 || names[0] == "") {
		return 0
	}
	return i
}

// isAxis reports whether an axis may be d.
func (d dimension) isAxis(names []string, axis int) bool {
	if axis >= len(names) || names[axis] == "" || names[axis] == d.name {
		return true
	}
	return !d.sure && !slices.Contains(names, d.name)
}

// NoDimension returns the error for an array without the dimension of the times.
func (t *Times) NoDimension(names []string) error {
	known := slices.Compact(slices.Sorted(slices.Values(names)))
	return failure.BadArgument("--time %s: no axis has its dimension; there are %s", t.Coordinate, strings.Join(known, ", "))
}

// Axis returns the axis of an array at a location that the times describe, by the names
// of its dimensions: 0 if that is not known, and -1 if it is none.
func (t *Times) Axis(ctx context.Context, location string, names []string) (int, error) {
	d, err := t.dimension(ctx, location)
	return d.axis(names), err
}

// MayDescribe reports whether the times can be those of an axis of an array at a
// location.
func (t *Times) MayDescribe(ctx context.Context, location string, names []string, axis int) (bool, error) {
	d, err := t.dimension(ctx, location)
	return d.isAxis(names, axis), err
}

// dimension returns the dimension of the coordinate of --time. It is the zero dimension
// without a coordinate, and if there is none: the command reports that when it reads the
// times.
func (t *Times) dimension(ctx context.Context, location string) (d dimension, err error) {
	if t.Coordinate == "" {
		return d, nil
	}
	at := node.Beside(location, t.Coordinate)
	a, err := node.OpenSeen(ctx, at, t.reading())
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	return dimensionOf(at, a), a.Close()
}

// AxisOf returns the axis of an array that a calendar is about if no axis is given. It is
// that of the times of the flags or, without any, that of the stored growth policy. The
// result is -1 if there is none.
func (t *Times) AxisOf(cmd *cobra.Command, a *zarr.Array, location string) (int, error) {
	if t.given(cmd) {
		return t.Axis(cmd.Context(), location, a.DimensionNames())
	}
	s, axis, found, err := Of(a)
	if err != nil {
		return 0, locateGrowth(err, location)
	}
	if p, _, err := s.policy(t.reading); !found || err != nil || p.Unit == 0 {
		return -1, nil
	}
	return axis, nil
}

// given reports whether a flag of times is given.
func (t *Times) given(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"time", "start", "step", "calendar"}, cmd.Flags().Changed)
}

// Describes returns an error if an axis of an array, by the names of its dimensions, is
// not the one that the times are about. Months of a latitude mean nothing.
func (l Timeline) Describes(names []string, axis int) error {
	if l.coordinate == nil || l.coordinate.dimension.isAxis(names, axis) {
		return nil
	}
	return failure.OnAxis(axis, "--time %s has the times along %s, but this axis is %s: a calendar is only for the axis of its times",
		l.coordinate.name, l.coordinate.dimension.name, names[axis])
}

// CalendarAxis returns the axis that a calendar of --grow is about: that of its times, or
// 0 if that is not known. It returns an error if the array has no such axis.
func (c *Change) CalendarAxis(cmd *cobra.Command, p Policy, a *zarr.Array, location string) (int, error) {
	if p.Unit == 0 || !cmd.Flags().Changed("grow") {
		return 0, nil
	}
	axis, err := c.times.Axis(cmd.Context(), location, a.DimensionNames())
	if err == nil && axis < 0 {
		err = c.times.NoDimension(a.DimensionNames())
	}
	return axis, err
}
