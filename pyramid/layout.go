// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/reduction"
	"varve.dev/zarr/metadata"
)

// layout says where the levels of an array are, relative to its group.
type layout struct {
	name string // of the array
	// image is set for the levels of an image of OME-Zarr. They have the dimensions of
	// the array, so that xarray opens no group that has two of them. Other levels have a
	// group each, and names of their own for the dimensions that are divided.
	image bool
	// beside is set for levels of an image whose array is named 0. They have the names
	// that OME-Zarr gives them, 1 and so on.
	beside bool
}

// imageName is the usual name of the array of an image of OME-Zarr.
const imageName = "0"

// group returns the name of the group of all levels, or "" if they lie beside the array.
func (l layout) group() string {
	if l.beside {
		return ""
	}
	return l.name + "_levels"
}

// home returns the path of the node of a level, which is counted from 1 on: the array, or
// a group of its own.
func (l layout) home(level int) string {
	return strings.TrimPrefix(l.group()+"/"+strconv.Itoa(level), "/")
}

// path returns the path of the array of a level.
func (l layout) path(level int) string {
	if l.image {
		return l.home(level)
	}
	return l.home(level) + "/" + l.name
}

// owns reports whether a path is one that a level has, or had in another layout.
func (l layout) owns(path string) bool {
	return strings.HasPrefix(path, l.name+"_levels/") || l.name == imageName && isNumber(path)
}

// isNumber reports whether a path is that of a level beside the array.
func isNumber(path string) bool {
	level, err := strconv.Atoi(path)
	return err == nil && 0 < level && level <= MaxLevels && path == strconv.Itoa(level)
}

// names returns the names of the dimensions of a level, given those of the array. xarray
// opens no hierarchy in which a group and one above it give a dimension two lengths.
func (l layout) names(of []string, factors []int64, level int) []string {
	// An image has one set of dimensions for all levels (OME-Zarr 0.5, "multiscales").
	if of == nil || l.image {
		return of
	}
	names := slices.Clone(of)
	for i, f := range factors {
		// A dimension that is not divided has the same length in all levels, so it
		// keeps its name and inherits its coordinate.
		if f > 1 && names[i] != "" {
			names[i] += "_level" + strconv.Itoa(level)
		}
	}
	return names
}

// planes are the names of the axes that are divided by default.
var planes = [][2]string{{"y", "x"}, {"lat", "lon"}, {"latitude", "longitude"}}

// factorsOf returns the factor of every axis.
func factorsOf(asked []int64, names []string, rank int) ([]int64, error) {
	factors := slices.Clone(asked)
	if asked == nil {
		factors = defaultFactors(names, rank)
	}
	if len(factors) != rank {
		return nil, fmt.Errorf("%w: %s for %s; give one for each, 1 for axes that stay", zarr.ErrInvalidArgument, quantity.Count(len(factors), "factors"), quantity.Count(rank, "axes"))
	}
	for i, f := range factors {
		if f < 1 {
			return nil, &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: the factor %d; at least 1 is needed", zarr.ErrInvalidArgument, f)}
		}
	}
	switch n, ok := checked.Product(factors...); {
	case n == 1:
		return nil, fmt.Errorf("%w: no axis is divided; give a factor of at least 2 for one of them", zarr.ErrInvalidArgument)
	// The sums of [short] integers fit into 64 bits only for so many elements.
	case !ok || n > reduction.MostBlock:
		return nil, fmt.Errorf("%w: the factors %v make blocks of more than %s", zarr.ErrInvalidArgument, factors, quantity.Count(reduction.MostBlock, "elements"))
	}
	return factors, nil
}

// defaultFactors divides two axes by 2.
func defaultFactors(names []string, rank int) []int64 {
	factors := make([]int64, rank)
	for i := range factors {
		factors[i] = 1
	}
	// Only both names of a pair are a plane: x without y may be anything.
	for _, p := range planes {
		y, x := slices.Index(names, p[0]), slices.Index(names, p[1])
		if y >= 0 && x >= 0 {
			factors[y], factors[x] = 2, 2
			return factors
		}
	}
	for i := max(0, rank-2); i < rank; i++ {
		factors[i] = 2
	}
	return factors
}

// MaxLevels is the largest number of levels. Each divides an axis at least by 2.
const MaxLevels = 62

// gridsOf returns the grids of the levels. asked is as in [Options.Levels]. first is the
// present grid of the first level, or nil.
func gridsOf(base *grid.Grid, factors []int64, asked int, first *grid.Grid) ([]*grid.Grid, error) {
	var grids []*grid.Grid
	last := base
	for len(grids) < MaxLevels && (asked > len(grids) || asked == 0 && !fits(last, factors)) {
		next, err := divided(last, factors, first)
		if err != nil {
			return nil, err
		}
		grids, last = append(grids, next), next
	}
	return grids, nil
}

// fits reports whether a grid has a single chunk along the axes that are divided, or none
// at all.
func fits(g *grid.Grid, factors []int64) bool {
	// Without elements every level would be empty as well, and none the last.
	if slices.Contains(g.Shape(), 0) {
		return true
	}
	for i, n := range g.Chunks() {
		if factors[i] > 1 && n > 1 {
			return false
		}
	}
	return true
}

// divided returns the grid of the level that is made of a level with the given grid. Axes
// that are divided get regular chunks. In place of a list of edges these are as long as
// those of the first level, or else as the longest edge. Other axes keep their edges, so
// that a chunk that is appended concerns only the tiles above.
func divided(g *grid.Grid, factors []int64, first *grid.Grid) (*grid.Grid, error) {
	shape, cuts := g.Shape(), make([]grid.Cut, len(factors))
	for i, f := range factors {
		axis := g.Axis(i)
		shape[i] = checked.CeilDiv(shape[i], f)
		switch {
		case axis.IsRegular():
			cuts[i] = grid.Every(axis.Step())
		// The longest edge may have grown since. The levels that exist keep their chunks.
		case f > 1 && first != nil && first.Axis(i).IsRegular():
			cuts[i] = grid.Every(first.Axis(i).Step())
		case f > 1:
			cuts[i] = grid.Every(max(1, axis.Longest(grid.Interval{Stop: axis.Chunks()})))
		default:
			cuts[i] = grid.Runs(slices.Collect(axis.Edges())...)
		}
	}
	return grid.New(shape, cuts...)
}

// sameLayout reports whether the chunks of a level are those of a grid, where both have
// chunks. The last edge of a list may be another one where one of them has grown or
// was trimmed.
func sameLayout(level, g *grid.Grid) bool {
	cells := make(grid.Box, g.Rank())
	for i := range cells {
		a, b := level.Axis(i), g.Axis(i)
		switch {
		case a.Step() != b.Step():
			return false
		// The last edge is left out: it is shorter while its block is incomplete.
		case !a.IsRegular():
			cells[i].Stop = max(0, min(a.Chunks(), b.Chunks())-1)
		}
	}
	return level.SameCells(g, cells)
}

// edgesOf returns the policy by which a level grows along an axis, given the axis of the
// level below.
func edgesOf(below grid.Axis) grid.Growth {
	if below.IsRegular() {
		return grid.AppendOne()
	}
	// Chunks of the level end where those of the level below do, so that an appended
	// chunk below concerns one tile only.
	return grid.ByBoundaries("level below", func(at int64) (int64, error) {
		k, _, ok := below.Locate(at)
		c, found := below.Cell(k)
		if !ok || !found {
			return 0, fmt.Errorf("%w: element %d is beyond the level below", zarr.ErrConflict, at)
		}
		return c.Start + c.Edge, nil
	})
}

// axis is an axis in the metadata of OME-Zarr.
type axis struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// The types of axes.
const (
	space   = "space"
	time    = "time"
	channel = "channel"
)

// unnamed are the names of axes that have none, from the last one on.
var unnamed = []string{"x", "y", "z", "c", "t"}

// axesOf describes axes by their names.
func axesOf(names []string, factors []int64) []axis {
	axes := make([]axis, len(factors))
	for i := range axes {
		name := ""
		if names != nil {
			name = names[i]
		}
		if after := len(axes) - 1 - i; name == "" && after < len(unnamed) {
			name = unnamed[after]
		} else if name == "" {
			name = "d" + string(rune('0'+i%10))
		}
		axes[i] = axis{name, typeOf(name, factors[i])}
	}
	return axes
}

// typeOf returns the type of an axis, or "" for one of another kind.
func typeOf(name string, factor int64) string {
	switch strings.ToLower(name) {
	case "t", "time":
		return time
	case "c", "channel", "channels", "band":
		return channel
	case "x", "y", "z", "lat", "lon", "latitude", "longitude", "height", "depth":
		return space
	}
	if factor > 1 {
		return space
	}
	return ""
}

// deviation says why axes are not those of an image of OME-Zarr, or returns "".
func deviation(axes []axis) string {
	of := func(types ...string) (n int) {
		for _, a := range axes {
			if slices.Contains(types, a.Type) {
				n++
			}
		}
		return n
	}
	order := func(a axis) int { return slices.Index([]string{time, "", channel, space}, a.Type) }
	switch {
	case len(axes) < 2 || len(axes) > 5:
		return "the axes are not 2 to 5"
	case of(space) < 2 || of(space) > 3:
		return "the axes of space are not 2 or 3"
	case of(time) > 1 || of(channel, "") > 1:
		return "there are several axes of time, or several that are neither of time nor of space"
	case !slices.IsSortedFunc(axes, func(a, b axis) int { return order(a) - order(b) }):
		return "the axes are not in the order of time, channel, space"
	}
	return ""
}

// Base returns the array of a group whose pyramid can be made: that of the first image in
// the metadata of OME-Zarr, or the only array directly below the group. If there is none,
// the error wraps [zarr.ErrInvalidArgument].
func Base(ctx context.Context, g *zarr.Group) (*zarr.Array, error) {
	list, err := descriptions(g.Attributes(), g.Format())
	if err != nil {
		return nil, fmt.Errorf("pyramid: %s: %w", g, err)
	}
	if len(list) > 0 && list[0].pathOfBase() != "" {
		return g.At(list[0].pathOfBase()).OpenArray(ctx, nil)
	}
	path := ""
	for m, err := range g.Members(ctx, false) {
		if err != nil {
			return nil, err
		}
		if _, ok := m.Node.(*zarr.Array); !ok {
			continue
		}
		if path != "" {
			return nil, errWhich(g, "several arrays")
		}
		path = m.Path
	}
	if path == "" {
		return nil, errWhich(g, "no array")
	}
	return g.At(path).OpenArray(ctx, nil)
}

func errWhich(g *zarr.Group, what string) error {
	return fmt.Errorf("pyramid: %w: %s has %s and no metadata of an image; name the array", zarr.ErrInvalidArgument, g, what)
}

// LevelOf returns the path, in its store, of the array whose pyramid [Make] has made a
// for, and the number of the level, from 1 on. It is 0 if a is no level, or if the array
// is gone. Do not change the elements, the shape or the chunks of a level: the next Make
// does not notice what has changed. LevelOf makes no request for an array without the
// attribute varve:pyramid.
func LevelOf(ctx context.Context, a *zarr.Array) (base string, level int, err error) {
	raw, found, err := metadata.Attribute(a.Attributes(), own.Pyramid)
	if !found || err != nil {
		return "", 0, err
	}
	var note struct {
		Of    string `json:"of"`
		Level int    `json:"level"`
	}
	if json.Unmarshal(raw, &note) != nil || note.Of == "" || note.Level < 1 || note.Level > MaxLevels {
		return "", 0, nil // another program has written it
	}
	for _, l := range []layout{{name: note.Of}, {name: note.Of, image: true}, {name: note.Of, image: true, beside: true}} {
		group, isThere := strings.CutSuffix("/"+a.Path(), "/"+l.path(note.Level))
		if !isThere {
			continue
		}
		base = strings.Trim(group+"/"+note.Of, "/")
		n, err := a.Location().Root().At(base).Metadata(ctx, nil)
		// A document that cannot be read is there all the same.
		if _, isArray := n.(*metadata.Array); isArray || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return base, note.Level, ctx.Err()
		}
	}
	return "", 0, nil
}
