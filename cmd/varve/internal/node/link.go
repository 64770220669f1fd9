// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/store"
)

// IsOther reports whether a member of a group is a symbolic link to an array. Commands
// that change all arrays of a group skip such members, because an array in the group is
// changed under its own name. If the array is outside the group, IsOther prints a note.
// Unless deep is set, groups below count as outside.
func IsOther(cmd *cobra.Command, location string, g *zarr.Group, member string, deep bool) (bool, error) {
	s := g.Location().Store()
	group, err := store.ParsePath(g.Path())
	if err != nil {
		return false, err
	}
	named, err := group.Join(member)
	if err != nil {
		return false, err
	}
	// The group itself may lie behind a link, so compare resolved paths.
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
	session.Note(cmd, Clean(location)+"/"+member, fmt.Sprintf("is left unchanged: it is a symbolic link to /%s, which is not in the group", real))
	return true, nil
}
