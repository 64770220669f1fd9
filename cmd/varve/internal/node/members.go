// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/internal/dimension"
	"varve.dev/zarr/store"
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

// Arrays opens the selected arrays of a group as [zarr.Group.Arrays] does, and prints a
// note for those that are left out because they are outside the group.
func Arrays(cmd *cobra.Command, location string, g *zarr.Group, access *zarr.Options, which Filter) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		opt := &zarr.ArraysOptions{Deep: which.Deep, Dimensions: which.Dimensions, Options: access}
		opt.Link = func(path string, to store.Path) {
			if !isBelow(g, to, which.Deep) {
				session.Note(cmd, Clean(location)+"/"+path, fmt.Sprintf("is left unchanged: it is a symbolic link to /%s, which is not in the group", to))
			}
		}
		for a, err := range g.Arrays(cmd.Context(), opt) {
			var none *dimension.MissingError
			if errors.As(err, &none) {
				err = MissingDimension(none.Name, none.Known)
			}
			one := Member{}
			if err == nil {
				one = Member{strings.TrimPrefix(strings.TrimPrefix(a.Path(), g.Path()), "/"), "", a}
				one.Location = Clean(location) + "/" + one.Name
			}
			if !yield(one, err) {
				return
			}
		}
	}
}

// isBelow reports whether a place is in a group, for an array at any depth or directly
// below the group.
func isBelow(g *zarr.Group, to store.Path, deep bool) bool {
	group, err := store.ParsePath(g.Path())
	if err == nil {
		group, err = store.DirectoriesOf(g.Location().Store()).Resolve(group)
	}
	for err == nil && !to.IsRoot() {
		if to = to.Parent(); to == group {
			return true
		}
		if !deep {
			break
		}
	}
	return false
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
