// SPDX-License-Identifier: Apache-2.0

package chunking

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/export"
)

// goodChunk is the approximate size in bytes of the chunks that are suggested in place of
// too large ones.
const goodChunk = 64 << 20

// CheckLimit returns an error if chunks, or the inner chunks of shards, are larger than a
// command may hold. No command could write to them.
func CheckLimit(cmd *cobra.Command, s *zarr.Spec) error {
	if s.Grid == nil {
		return nil
	}
	chunk := make([]int64, s.Grid.Rank())
	what := "a chunk"
	for i := range chunk {
		a := s.Grid.Axis(i)
		chunk[i] = max(a.Step(), a.Longest(grid.Interval{Stop: a.Cells()}))
		if s.InnerChunks == nil {
			continue
		}
		what = "an inner chunk"
		if inner, err := grid.NewAxis(chunk[i], s.InnerChunks[i]); err == nil {
			chunk[i] = inner.Longest(grid.Interval{Stop: inner.Cells()})
		}
	}
	return refuseLarger(cmd, what, chunk, s.Type, func(limit int64) string {
		return fmt.Sprintf("--chunks %s makes smaller ones", sizeOf(min(goodChunk, limit)))
	})
}

// refuseLarger returns an error if chunks of a shape have more bytes than the limit. The
// error says what to do instead.
func refuseLarger(cmd *cobra.Command, what string, chunk []int64, t dtype.Type, instead func(limit int64) string) error {
	limit := session.Limits(cmd).Chunk
	if limit <= 0 {
		limit = coding.DefaultChunk
	}
	bytes, ok := checked.Product(append(slices.Clone(chunk), export.Width(t))...)
	if ok && bytes <= limit {
		return nil
	}
	size := "more than 8 EiB"
	if ok {
		size = phrase.Bytes(bytes)
	}
	return fmt.Errorf("%w: %s of %s elements would have %s, and a command holds chunks of at most %s: %s, and --limit SIZE permits larger ones",
		zarr.ErrLimit, what, phrase.Shape(chunk), size, phrase.Bytes(limit), instead(limit))
}

// sizeOf returns a number of bytes in the form that a flag takes, rounded down to a short
// form.
func sizeOf(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if one := int64(1) << (30 - 10*i); n >= one {
			return fmt.Sprint(n/one, unit)
		}
	}
	return fmt.Sprint(n, "B")
}

// CheckResize returns an error if new extents would make chunks larger than a command may
// hold. policies are those of [grid.Grid.Grown]. Other mistakes are for the library to
// report.
func CheckResize(cmd *cobra.Command, a *zarr.Array, shape []int64, policies ...grid.Growth) error {
	old := a.Grid()
	next, err := old.Grown(shape, policies...)
	if err != nil || a.Inner() != nil { // the lengths of inner chunks do not change
		return nil
	}
	for i := range shape {
		is, was := next.Axis(i), old.Axis(i)
		// There is no new edge along this axis.
		if is.IsRegular() || is.Cells() <= was.Cells() {
			continue
		}
		chunk := make([]int64, len(shape))
		for k := range chunk {
			axis := next.Axis(k)
			chunk[k] = max(axis.Step(), axis.Longest(grid.Interval{Stop: axis.Cells()}))
		}
		chunk[i] = is.Longest(grid.Interval{Start: was.Cells(), Stop: is.Cells()})
		err := refuseLarger(cmd, "a new chunk", chunk, a.Type(), func(limit int64) string { return shorterEdges(was, chunk, i, export.Width(a.Type()), limit) })
		if err != nil {
			return &grid.AxisError{Axis: i, Err: err}
		}
	}
	return nil
}

// CheckAppend is CheckResize for planes that are appended along an axis.
func CheckAppend(cmd *cobra.Command, a *zarr.Array, axis int, planes int64, opt *zarr.AppendOptions) error {
	if axis < 0 || axis >= a.Rank() {
		return nil // the library refuses the axis
	}
	policies := make([]grid.Growth, a.Rank())
	policies[axis] = opt.Grow
	return CheckResize(cmd, a, dimensions.Longer(a.Shape(), axis, planes), policies...)
}

// shorterEdges suggests a policy for an axis whose new edges are too long: edges as long
// as the longest present one, or as many elements as make a good chunk.
func shorterEdges(was grid.Axis, chunk []int64, axis int, size, limit int64) string {
	plane, ok := checked.Product(append(slices.Delete(slices.Clone(chunk), axis, axis+1), size)...)
	// Even an edge of one element would be too large.
	if !ok || plane > limit {
		return "its other axes are too long; cut them when you create the array (--chunks)"
	}
	plane = max(plane, 1)
	n := was.Longest(grid.Interval{Stop: was.Cells()})
	if n == 0 || n > limit/plane {
		n = max(1, min(goodChunk, limit)/plane)
	}
	return fmt.Sprintf("--grow fixed:%d makes shorter ones", n)
}
