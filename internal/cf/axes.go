// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

// AxisPair is an axis of elements, and the axis of the array or view that gets them.
type AxisPair struct {
	From, To int
	// Grows means that the elements extend the axis, so their labels differ from those of
	// the array.
	Grows bool
}

// CheckAxes returns an error if storing the elements would change their axes: if the name
// of an axis differs, or one of these:
//
//   - the coordinates of the axes that do not grow
//   - the coordinates in the attribute coordinates of either array, unless they have an
//     axis that grows, or that only one side has
//   - the grid mappings
//   - the place, according to the arrays or the groups above ([Statements.Inherited])
//
// Coordinates are compared by their decoded values, and by their attributes
// ([Statements.Compare]). Coordinates in different units or calendars agree if they
// encode the same times. If a coordinate has several axes, only its first 4,194,304
// elements are compared.
//
// CheckAxes ignores information that only one side has: a name, a coordinate, an
// attribute, or an element of a coordinate that is missing or was never written.
//
// The error wraps [zarr.ErrInvalidArgument], and is a [grid.AxisError] if it is about an
// axis, with its number in to.
func CheckAxes(ctx context.Context, from, to zarr.Elements, pairs ...AxisPair) error {
	var stay []string // the axes that do not grow
	for _, p := range pairs {
		name, target := axisName(from, p.From), axisName(to, p.To)
		// An axis without a name fits every axis.
		if name == "" || target == "" {
			continue
		}
		err := error(nil)
		if name != target {
			err = invalid("it is the axis %q there and %q here", name, target)
		} else if !p.Grows {
			stay = append(stay, name)
			err = checkLabels(ctx, from, to, name, nil)
		}
		if err != nil {
			return &grid.AxisError{Axis: p.To, Err: err}
		}
	}
	for _, name := range coordinatesOf(from, to) {
		if slices.Contains(stay, name) {
			continue // it has been compared
		}
		if err := checkLabels(ctx, from, to, name, stay); err != nil {
			return err
		}
	}
	if err := checkPlace(ctx, from, to, pairs); err != nil {
		return err
	}
	return checkMapping(ctx, from, to)
}

// coordinatesOf returns the names in the attribute coordinates of arrays (CF conventions,
// section 5).
func coordinatesOf(of ...zarr.Elements) (names []string) {
	for _, e := range of {
		a, _ := parts(e)
		names = append(names, strings.Fields(TextAttribute(a, "coordinates"))...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return strings.Contains(name, "/") })
}

// checkPlace compares the statements of arrays, and of the groups above them, about the
// place of the elements, such as the code of a projection.
func checkPlace(ctx context.Context, from, to zarr.Elements, pairs []AxisPair) error {
	source, err := placeOf(ctx, from)
	if err != nil {
		return err
	}
	target, err := placeOf(ctx, to)
	if err != nil {
		return err
	}
	faults := source.contradict(target)
	// The box and the origin of a part differ from those of the whole array.
	if isPart(from, to, pairs, string(source[spatialDimensions].Raw())+string(target[spatialDimensions].Raw())) {
		faults = slices.DeleteFunc(faults, func(name string) bool { return strings.HasPrefix(name, "spatial:") })
	}
	if len(faults) > 0 {
		return invalid("it is of another place: %s", target.Differ(source, faults, "this array"))
	}
	return nil
}

// spatialDimensions is the attribute of GeoZarr that lists the axes of the place.
const spatialDimensions = "spatial:dimensions"

// isPart reports whether the elements cover only a part of the area of the array.
func isPart(from, to zarr.Elements, pairs []AxisPair, spatial string) bool {
	for _, p := range pairs {
		part := func(e zarr.Elements, axis int) bool {
			a, _ := parts(e)
			i := slices.Index(a.DimensionNames(), axisName(e, axis))
			return i >= 0 && a.Shape()[i] != e.Shape()[axis]
		}
		grows := p.Grows && strings.Contains(spatial, strconv.Quote(axisName(to, p.To)))
		if grows || !p.Grows && (part(from, p.From) || part(to, p.To)) {
			return true
		}
	}
	return false
}

// placeOf returns the statements about the place of the elements of an array: those of
// the array and, where the array has none, of the nearest group above.
func placeOf(ctx context.Context, e zarr.Elements) (Statements, error) {
	a, _ := parts(e)
	s, err := StatementsOf(a.Metadata().Attributes)
	if err != nil {
		return nil, err
	}
	s = s.Inherited()
	// Statements of the array override those of its groups, and near groups override far
	// ones.
	for at := a.Path(); at != "" && at != "."; {
		at = path.Dir(at)
		g, err := a.Location().Root().At(path.Join("/", at)[1:]).OpenGroup(ctx, readOptions(a))
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue // an array may have no group around it
		}
		above, err := StatementsOf(g.Attributes())
		if err = errors.Join(err, g.Close()); err != nil {
			return nil, err
		}
		above = above.Inherited()
		maps.Copy(above, s)
		s = above
	}
	return s, nil
}

// checkMapping compares the grid mappings of two arrays or views: equal coordinates of
// two zones of a projection are different places.
func checkMapping(ctx context.Context, from, to zarr.Elements) error {
	var of [2]Statements
	for i, e := range []zarr.Elements{from, to} {
		a, _ := parts(e)
		name, _, _ := strings.Cut(TextAttribute(a, "grid_mapping"), ":") // the names of coordinates may follow
		if name = strings.TrimSpace(name); name == "" || strings.ContainsAny(name, " /") {
			return nil
		}
		m, err := Beside(ctx, a, name)
		if err != nil {
			return ctx.Err() // a mapping that cannot be opened cannot be compared
		}
		of[i], err = StatementsOf(m.Metadata().Attributes)
		if err = errors.Join(err, m.Close()); err != nil {
			return err
		}
	}
	if faults, _ := of[1].Compare(of[0]); len(faults) > 0 {
		return invalid("it has another grid mapping: %s", of[1].Differ(of[0], faults, "this array"))
	}
	return nil
}

// axisName returns the name of an axis, "" if it is not known.
func axisName(e zarr.Elements, axis int) string {
	if names := e.DimensionNames(); axis < len(names) {
		return names[axis]
	}
	return ""
}
