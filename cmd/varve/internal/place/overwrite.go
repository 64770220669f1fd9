// SPDX-License-Identifier: Apache-2.0

package place

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// ConfirmReplacement asks before --overwrite replaces a group with members, or an array
// by something else than an array. It does not ask about other nodes. Before it asks, it
// calls try, which changes nothing and returns an error if the command would fail.
func ConfirmReplacement(cmd *cobra.Command, location string, byArray bool, try func() error) error {
	isArray, members, err := existing(cmd.Context(), location)
	what := ""
	switch {
	case err != nil: // there is no node, or the command itself reports the error
		return nil
	case isArray && !byArray:
		what = fmt.Sprintf("deletes the array %s with its elements", location)
	case members > 0:
		what = fmt.Sprintf("deletes the group %s and everything below it (%s)", location, phrase.Plural(members, "member"))
	default:
		return nil
	}
	if err := try(); err != nil {
		return err
	}
	return Confirm(cmd, what)
}

// existing reports whether the node at a location is an array. For a group it returns the
// number of members directly below it.
func existing(ctx context.Context, location string) (isArray bool, members int64, err error) {
	at, err := zarr.Locate(ctx, location, store.ReadOnly)
	if err != nil {
		return false, 0, err
	}
	defer node.Close(at)
	n, err := at.Metadata(ctx, nil)
	// A document with unknown parts is a node, too.
	if n == nil && err != nil {
		return false, 0, err
	}
	if _, isArray = n.(*metadata.Array); isArray {
		return true, 0, nil
	}
	p, err := store.ParsePath(at.Path())
	if err != nil {
		return false, 0, err
	}
	for e, err := range store.List(ctx, at.Store(), p, store.Flat) {
		if err != nil {
			return false, 0, err
		}
		if e.Dir {
			members++
		}
	}
	return false, members, nil
}
