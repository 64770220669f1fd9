// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"fmt"
	"strconv"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
)

// target is what a request makes of an array.
type target struct {
	doc  *metadata.Array // with the new grid, codecs and fill value; the keys are the old ones
	grid *grid.Grid      // that of doc, if the extent changes
	move staging.Move
	keys *metadata.KeyEncoding // that are wanted; nil for any
}

// withAxis returns a grid with another axis i, which may have another extent.
func withAxis(g *grid.Grid, i int, other grid.Axis) (*grid.Grid, error) {
	shape, cuts := g.Shape(), make([]grid.Cut, g.Rank())
	for k := range cuts {
		cuts[k] = cutOf(g.Axis(k))
	}
	shape[i], cuts[i] = other.Extent(), cutOf(other)
	return grid.New(shape, cuts...)
}

// recutTo returns the document of the array with another grid.
func recutTo(s *snapshot.Array, g *grid.Grid) (*metadata.Array, error) {
	doc := s.Document()
	for i := range s.Grid.Rank() {
		if s.Grid.Axis(i).IsEncoded() {
			return nil, &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: chunks that are stored longer than their edges are not rechunked", zarr.ErrUnsupported)}
		}
	}
	if doc.Format() == 2 && !g.IsRegular() {
		return nil, fmt.Errorf("%w: all chunks of an array of format 2 have one shape; convert it to format 3 first ("+remedy.Convert+")", zarr.ErrUnsupported)
	}
	return doc.Recut(g.Shape(), snapshot.GridExtension(g, 0))
}

// cutOf returns the cut that makes an axis.
func cutOf(a grid.Axis) grid.Cut {
	if a.IsRegular() {
		return grid.Every(a.Step())
	}
	var runs []grid.Run
	for r := range a.Edges() {
		runs = append(runs, r)
	}
	return grid.Runs(runs...)
}

// checkAxis returns an error if the array has no such axis.
func checkAxis(s *snapshot.Array, i int) error {
	if i >= 0 && i < s.Grid.Rank() {
		return nil
	}
	return fmt.Errorf("%w: axis %d of an array with %s", zarr.ErrInvalidArgument, i, quantity.Count(s.Grid.Rank(), "axes"))
}

// noPlanes is the error of planes that an array does not have.
type noPlanes struct{ plane, extent int64 }

func (b noPlanes) Error() string {
	return fmt.Sprintf("%v: up to plane %d, but there are %d", zarr.ErrInvalidArgument, b.plane, b.extent)
}

// Is reports whether target is [zarr.ErrInvalidArgument].
func (b noPlanes) Is(target error) bool { return target == zarr.ErrInvalidArgument }

// mostSmall is how many bytes the elements of a small array take at most: all of them are
// encoded anew so that the array stays regular.
const mostSmall = 16 << 20

// regularAxis returns a regular axis along which planes move, with its new extent. The
// axis stays regular if only whole chunks move, or if the array is small. Then programs
// that know only regular grids can still read it. The caller may ask for listed edges. A
// coordinate gets none, because these programs can read no array of the group without it.
func regularAxis(s *snapshot.Array, i int, extent int64, whole, unlock bool) (is grid.Axis, stays bool, err error) {
	a := s.Grid.Axis(i)
	if !a.IsRegular() {
		return a, false, nil
	}
	size := int64(s.Engine.Size)
	if s.Type.Variable() {
		size = 16 // about
	}
	bytes, fits := checked.Product(append(s.Grid.Shape(), size)...)
	small := fits && bytes <= mostSmall
	if unlock && !(small && isCoordinate(s)) || !whole && !small {
		return a, false, nil
	}
	is, err = grid.NewAxis(extent, grid.Every(a.Step()))
	return is, true, err
}

// isCoordinate reports whether an array is the coordinate of its dimension.
func isCoordinate(s *snapshot.Array) bool {
	names := s.DimensionNames()
	return len(names) == 1 && names[0] != "" && names[0] == s.Engine.Path.Name()
}

// unlockedAxis returns an axis along which planes move, with listed edges.
func unlockedAxis(s *snapshot.Array, i int, unlock bool) (grid.Axis, error) {
	if err := checkAxis(s, i); err != nil {
		return grid.Axis{}, err
	}
	a := s.Grid.Axis(i)
	switch {
	case s.Doc.Format() == 2:
		return a, &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: all chunks of an array of format 2 have one shape; convert it to format 3 first ("+remedy.Convert+")", zarr.ErrUnsupported)}
	case a.IsRegular() && !unlock:
		return a, &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: its chunks are regular, and would be no longer unless only whole chunks of %d move: "+remedy.Unlock+", which not all programs can read", zarr.ErrInvalidArgument, a.Step())}
	}
	is, err := a.Unlocked()
	if err != nil {
		return a, &grid.AxisError{Axis: i, Err: err}
	}
	return is, nil
}

// targetWithGrid returns the array with another grid, or nil if it has that.
func targetWithGrid(s *snapshot.Array, g *grid.Grid) (*target, error) {
	if g.Equal(s.Grid) {
		return nil, nil
	}
	doc, err := recutTo(s, g)
	return &target{doc: doc}, err
}

// targetWithAxis returns the array with another axis, which may have another extent.
func targetWithAxis(s *snapshot.Array, axis int, is grid.Axis) (*target, error) {
	g, err := withAxis(s.Grid, axis, is)
	if err != nil {
		return nil, err
	}
	doc, err := recutTo(s, g)
	return &target{doc: doc, grid: g}, err
}

// appendClipped appends the edges of an axis between two places to runs. Edges that lie
// across a place are cut there.
func appendClipped(runs []grid.Run, a grid.Axis, from, to int64) []grid.Run {
	add := func(length, count int64) {
		if length < 1 || count < 1 {
			return
		}
		if n := len(runs) - 1; n >= 0 && runs[n].Length == length {
			runs[n].Count += count
			return
		}
		runs = append(runs, grid.Run{Length: length, Count: count})
	}
	// Runs are cut in one step each: an axis may have millions of equal chunks.
	start := int64(0)
	for r := range a.Edges() {
		stop := start + r.Length*r.Count
		low, high := max(from, start), min(to, stop)
		if low < high {
			if within := (low - start) % r.Length; within > 0 {
				n := min(r.Length-within, high-low)
				add(n, 1)
				low += n
			}
			add(r.Length, (high-low)/r.Length)
			add((high-low)%r.Length, 1)
		}
		start = stop
	}
	return runs
}

// roundLastUp rounds the last edge up to whole inner chunks, if that is the last of the
// axis: it may reach beyond the extent.
func roundLastUp(runs []grid.Run, unit int64, isLast bool) []grid.Run {
	if len(runs) == 0 || !isLast {
		return runs
	}
	last := &runs[len(runs)-1]
	more := (unit - last.Length%unit) % unit
	if more == 0 {
		return runs
	}
	length := last.Length + more
	if last.Count--; last.Count == 0 {
		runs = runs[:len(runs)-1]
	}
	return append(runs, grid.Run{Length: length, Count: 1})
}

// innerStep returns the length of inner chunks along an axis, or 1 if there are none of
// one length.
func innerStep(s *snapshot.Array, i int) int64 {
	if inner := s.Engine.Chain.Inner(); inner != nil {
		if a, err := grid.NewAxis(0, inner[i]); err == nil && a.Step() > 0 {
			return a.Step()
		}
	}
	return 1
}

// fitsShards returns an error if shards do not consist of whole inner chunks.
func fitsShards(s *snapshot.Array, t *target) error {
	if !s.Engine.Chain.Divided() {
		return nil
	}
	return s.Engine.Chain.CheckGrid(t.grid)
}

// cutPlaces returns the nearest places to a plane at which shards can be cut.
func cutPlaces(a grid.Axis, plane, unit int64) string {
	k, within, ok := a.Locate(plane)
	if !ok || within%unit == 0 {
		return strconv.FormatInt(plane, 10)
	}
	c, _ := a.Cell(k)
	low := plane - within%unit
	high := min(low+unit, c.Start+c.Logical)
	return fmt.Sprintf("%d or %d", low, high)
}
