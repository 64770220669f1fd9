// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/store"
)

// IsOther reports whether a member of a group is another name of an array, through a
// symbolic link. A command that changes all arrays of a group then skips the member: an
// array of the group is changed by its own name. For an array outside the group it prints
// a note. Unless deep is set, groups below are outside.
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
	session.Note(cmd, Clean(location)+"/"+member, fmt.Sprintf("is left as it is: a symbolic link leads to /%s, which is not in the group", real))
	return true, nil
}
