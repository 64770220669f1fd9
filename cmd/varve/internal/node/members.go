// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// EachArray calls do with the arrays at any depth below a group, and their locations. It
// leaves out symbolic links, because an array is changed under its own name.
func EachArray(cmd *cobra.Command, location string, g *zarr.Group, access *zarr.Options, do func(at string, a *zarr.Array) error) error {
	for m, err := range g.Members(cmd.Context(), true) {
		if err == nil {
			err = m.Err
		}
		if err != nil {
			return err
		}
		if _, ok := m.Node.(*zarr.Array); !ok {
			continue
		}
		if other, err := IsOther(cmd, location, g, m.Path, true); other || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		at := Clean(location) + "/" + m.Path
		a, err := g.At(m.Path).OpenArray(cmd.Context(), access)
		if err != nil {
			return err
		}
		if err := do(at, a); err != nil {
			return failure.On(cmd.Name(), at, err)
		}
	}
	return nil
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
