package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/store"
)

// isOther reports whether a member of a group that is to be changed with the others is
// another name of an array: a symbolic link, or below one. An array of the group is
// changed by its own name. One that is elsewhere stays as it is, which is noted; where
// deep is not set that is also one of a group below.
func isOther(cmd *cobra.Command, location string, g *zarr.Group, member string, deep bool) (bool, error) {
	s := g.Location().Store()
	group, err := store.ParsePath(g.Path())
	if err != nil {
		return false, err
	}
	named, err := group.Join(member)
	if err != nil {
		return false, err
	}
	if group, err = store.Resolve(s, group); err != nil {
		return false, err
	}
	plain, err := group.Join(member)
	if err != nil {
		return false, err
	}
	real, err := store.Resolve(s, named)
	if err != nil || real == plain {
		return false, err
	}
	for p := real; !p.IsRoot(); {
		if p = p.Parent(); p == group {
			return true, nil
		}
		if !deep {
			break
		}
	}
	session.Note(cmd, sameNode(location)+"/"+member, fmt.Sprintf("is left as it is: a symbolic link leads to /%s, which is not in the group", real))
	return true, nil
}
