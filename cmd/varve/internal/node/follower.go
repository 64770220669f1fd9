// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/rechunk"
)

// CheckOwn returns an error for an array that follows another one, before a command
// changes its elements or its shape. The next varve rechunk --follow would refuse the
// array if its shape was changed, and then all that was added has to go. It would not
// notice other elements, and replace some of them and leave others.
func CheckOwn(ctx context.Context, location string, a *zarr.Array) error {
	of, err := rechunk.Followed(ctx, a)
	if of == "" || err != nil {
		return err
	}
	alone := fmt.Sprintf("varve attrs %s unset varve:follow makes it an array of its own, which follows no longer", phrase.Word(Clean(location)))
	if a.Format() == 2 { // a record says it, and no attribute
		alone = fmt.Sprintf("varve copy %s DST makes a copy that is an array of its own", phrase.Word(Clean(location)))
	}
	return failure.BadArgument("it follows %s: change that array, and varve rechunk --follow brings this one up to date; %s", of, alone)
}
