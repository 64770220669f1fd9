// SPDX-License-Identifier: Apache-2.0

// Package dimensions compares the arrays of a group along the dimensions that they share.
package dimensions

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
)

// Text explains in the help of commands how arrays share dimensions.
const Text = `Arrays right below one group that name a dimension alike have one length along it, as xarray wants it. A change that would
leave them different is refused, unless --alone asks for it. So is one that differs from the coordinate of the nearest group above,
where the group has none of its own. Levels of a pyramid (attribute multiscales) may differ.`

// CheckAgree refuses another shape along whose dimensions other arrays of the group would
// have another length.
func CheckAgree(c *growth.Change, cmd *cobra.Command, a *zarr.Array, shape []int64) error {
	if *c.Alone || len(shape) != a.Rank() {
		return nil // the library refuses another rank
	}
	err := a.CheckDimensions(cmd.Context(), shape)
	var e *zarr.Error
	if errors.As(err, &e) {
		err = e.Err // it is the command that fails, on the node that its user named
	}
	var axis *grid.AxisError
	if cmd.Name() == "resize" && errors.As(err, &axis) {
		group := strings.TrimSuffix(node.Beside(cmd.Flags().Arg(0), ""), "/")
		length := fmt.Sprintf("%s=%d", a.DimensionNames()[axis.Axis], shape[axis.Axis])
		err = &resizedTogether{err, phrase.Word(cmp.Or(group, ".")) + " " + phrase.Word(length)}
	}
	return err
}

// resizedTogether is the error for a length that other arrays do not have, with the
// command that gives it to all of them.
type resizedTogether struct {
	err       error
	arguments string
}

func (r *resizedTogether) Unwrap() error { return r.err }

func (r *resizedTogether) Error() string {
	return strings.Replace(r.err.Error(), "(Group.Append)", "(varve resize "+r.arguments+")", 1)
}

// Longer returns a shape that is longer along an axis, and as it was where there is no
// such axis.
func Longer(shape []int64, axis int, more int64) []int64 {
	if axis >= 0 && axis < len(shape) {
		shape[axis] += more
	}
	return shape
}

// Disagreements returns what differs along the dimensions of the arrays right below a
// group, a text for each dimension.
func Disagreements(cmd *cobra.Command, g *zarr.Group) []string {
	err := g.CheckDimensions(cmd.Context())
	var e *zarr.Error
	if !errors.Is(err, zarr.ErrInvalidMetadata) || !errors.As(err, &e) {
		return nil // they agree, or could not be compared
	}
	return strings.Split(e.Err.Error(), "\n")
}

// isInherited reports whether a disagreement is with the coordinate of a group above,
// which alone is told with its path.
func isInherited(text string) bool { return strings.Contains(text, " in /") }

// Unopened adds to a disagreement, whose place is told as where, what does not open it.
func Unopened(text, where string) string {
	if isInherited(text) {
		return text + ": xarray.open_datatree does not open such a tree"
	}
	return text + where + ": xarray does not open such a group"
}

// NoteInherited tells people that dimensions of a group, or of groups right below it,
// have no longer the length of a coordinate that is inherited.
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

// Note tells people where a new array differs in length from others of its
// group along a dimension that they share, and where it alone has no names for its
// dimensions. That is no reason to refuse it: the others may be made longer next.
func Note(cmd *cobra.Command, location string, a *zarr.Array) {
	if a.Path() == "" {
		return
	}
	g, err := a.Location().Root().At(path.Dir("/" + a.Path())[1:]).OpenGroup(cmd.Context(), nil)
	if err != nil {
		return // the group is none, or not to be read; the array is there all the same
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

// Length is a length that a dimension is to have.
type Length struct {
	Name   string
	Length int64
}
