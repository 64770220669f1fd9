// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
)

// Member is an array of a group that a command changes.
type Member struct {
	Name     string // relative to the group
	Location string
	Array    *zarr.Array
}

// Filter selects arrays of a group.
type Filter struct {
	Deep       bool     // arrays at any depth, not only directly below the group
	Dimensions []string // arrays with any of these dimensions; nil selects all arrays
}

// Arrays opens the selected arrays of a group in alphabetical order, for a command that
// changes all of them. It leaves out symbolic links, because an array is changed under
// its own name. It reads the documents of the arrays, since consolidated metadata may be
// older. The sequence ends with an error if an array cannot be opened, or if no array has
// one of the dimensions.
func Arrays(cmd *cobra.Command, location string, g *zarr.Group, access *zarr.Options, which Filter) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		var known, found []string // names of dimensions: of all arrays, and of those yielded
		for m, err := range g.Unconsolidated().Members(cmd.Context(), which.Deep) {
			if err = cmp.Or(err, m.Err); err != nil {
				yield(Member{}, err)
				return
			}
			listed, is := m.Node.(*zarr.Array)
			if !is {
				continue
			}
			names := listed.DimensionNames()
			known = append(known, names...)
			if which.Dimensions != nil && !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(which.Dimensions, n) }) {
				continue
			}
			// Opening an array may finish an interrupted change, so a link is not opened.
			other, err := IsOther(cmd, location, g, m.Path, which.Deep)
			if other && err == nil {
				continue
			}
			found = append(found, names...)
			one := Member{Name: m.Path, Location: Clean(location) + "/" + m.Path}
			if err == nil {
				one.Array, err = g.At(m.Path).OpenArray(cmd.Context(), access)
			}
			if !yield(one, err) || err != nil {
				return
			}
		}
		for _, name := range which.Dimensions {
			if !slices.Contains(found, name) {
				yield(Member{}, MissingDimension(name, known))
				return
			}
		}
	}
}

// MissingDimension returns the error for a dimension that no array of a group has. known
// are the names of all their dimensions.
func MissingDimension(name string, known []string) error {
	slices.Sort(known)
	known = slices.DeleteFunc(slices.Compact(known), func(n string) bool { return n == "" })
	if _, err := strconv.Atoi(name); err == nil { // an axis is a number or a name
		return failure.NotFound("no array directly below the group has the axis %s", name)
	}
	if len(known) == 0 {
		return failure.NotFound("no array directly below the group has the dimension %q; their dimensions have no names", name)
	}
	return failure.NotFound("no array directly below the group has the dimension %q; the dimensions are %s%s", name, phrase.Shorten(strings.Join(known, ", "), 200), spelling.Meant(name, known))
}

// Listed yields the arrays directly below a group that is only read, as listing the group
// finds them.
func Listed(ctx context.Context, location string, g *zarr.Group) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		for m, err := range g.Members(ctx, false) {
			if err = cmp.Or(err, m.Err); err != nil {
				yield(Member{}, err)
				return
			}
			a, is := m.Node.(*zarr.Array)
			if is && !yield(Member{m.Path, Clean(location) + "/" + m.Path, a}, nil) {
				return
			}
		}
	}
}

// IsGroup reports whether the node at a location is a group.
func IsGroup(cmd *cobra.Command, location string) (bool, error) {
	n, err := Open(cmd, location)
	if err != nil {
		return false, err
	}
	_, is := n.(*zarr.Group)
	return is, n.Close()
}

// CheckFolder returns an error for a folder of files, which is no node.
func CheckFolder(source string) error {
	if pattern, is := PlainFolder(source); is {
		return failure.NotFound("%s is a folder without a Zarr node: for the files in it, give %s", phrase.Word(source), phrase.Word(pattern))
	}
	return nil
}
