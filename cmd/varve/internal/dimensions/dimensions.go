// SPDX-License-Identifier: Apache-2.0

// Package dimensions compares the arrays of a group along the dimensions that they share.
package dimensions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
	library "varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/remedy"
)

// Length is the intended length of a dimension.
type Length struct {
	Name   string
	Length int64
}

// CheckShape returns an error that names the array if it would differ in length, with the
// given shape, from other arrays of its group along a shared dimension.
func CheckShape(ctx context.Context, a *zarr.Array, shape []int64) error {
	return library.On(a, "check dimensions", a.Core().CheckDimensions(ctx, shape))
}

// CheckAgree returns an error if an array with the given shape would differ in length
// from other arrays of its group along a shared dimension.
func CheckAgree(c *growth.Change, cmd *cobra.Command, a *zarr.Array, shape []int64) error {
	if *c.Alone || len(shape) != a.Rank() {
		return nil // the library refuses another rank
	}
	err := a.Core().CheckDimensions(cmd.Context(), shape) // about the node that the user named
	var axis *grid.AxisError
	// For resize, the command that changes all arrays is known.
	if cmd.Name() == "resize" && errors.As(err, &axis) {
		group := strings.TrimSuffix(node.Beside(cmd.Flags().Arg(0), ""), "/")
		length := fmt.Sprintf("%s=%d", a.DimensionNames()[axis.Axis], shape[axis.Axis])
		arguments := phrase.Word(cmp.Or(group, ".")) + " " + phrase.Word(length)
		err = failure.Reword(err, "("+remedy.GroupAppend+")", "(varve resize "+arguments+")")
	}
	return err
}

// Longer returns a shape that is longer along an axis. If there is no such axis, it
// returns the shape unchanged.
func Longer(shape []int64, axis int, more int64) []int64 {
	if axis >= 0 && axis < len(shape) {
		shape[axis] += more
	}
	return shape
}

// Disagreements returns one text for each dimension along which the arrays directly below
// a group differ.
func Disagreements(cmd *cobra.Command, g *zarr.Group) []string {
	err := g.CheckDimensions(cmd.Context())
	var e *zarr.Error
	if !errors.Is(err, zarr.ErrInvalidMetadata) || !errors.As(err, &e) {
		return nil // they agree, or could not be compared
	}
	return strings.Split(e.Err.Error(), "\n")
}

// isInherited reports whether a disagreement is with the coordinate of a group above.
// Only such a coordinate has its path in the text.
func isInherited(text string) bool { return strings.Contains(text, " in /") }

// Unopened adds to a disagreement which programs do not open the group.
func Unopened(text, where string) string {
	if isInherited(text) {
		return text + ": xarray.open_datatree does not open such a tree"
	}
	return text + where + ": xarray does not open such a group"
}

// NoteInherited prints a note if dimensions of a group, or of groups directly below it,
// no longer have the length of an inherited coordinate.
func NoteInherited(cmd *cobra.Command, location string, g *zarr.Group, lengths []Length) {
	tell := func(location string, g *zarr.Group) {
		for _, text := range Disagreements(cmd, g) {
			changed := func(d Length) bool { return strings.HasPrefix(text, fmt.Sprintf("dimension %q has ", d.Name)) }
			if isInherited(text) && slices.ContainsFunc(lengths, changed) {
				session.Remark(cmd, location, Unopened(text, ""))
			}
		}
	}
	tell(location, g)
	for m, err := range g.Members(cmd.Context(), false) {
		if below, ok := m.Node.(*zarr.Group); ok && err == nil {
			tell(node.Clean(location)+"/"+m.Path, below.Unconsolidated())
		}
	}
}

// Note prints a note if a new array differs in length from other arrays of its group
// along a shared dimension, or if it alone has no dimension names. This is no error,
// because the other arrays may grow next.
func Note(cmd *cobra.Command, location string, a *zarr.Array) {
	if a.Path() == "" {
		return
	}
	g, err := a.Location().Root().At(path.Dir("/" + a.Path())[1:]).OpenGroup(cmd.Context(), nil)
	if err != nil {
		return // the group cannot be read, but the array is created
	}
	facts.NoteUnnamed(cmd, location, a, g)
	for _, text := range Disagreements(cmd, g) {
		for _, name := range a.DimensionNames() {
			if name != "" && strings.HasPrefix(text, fmt.Sprintf("dimension %q has ", name)) {
				session.Remark(cmd, location, Unopened(text, " of its group"))
				break
			}
		}
	}
}
