// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/store"
)

// final is a conflict that stays when the change is tried again; see [publish.Final].
type final string

func (f final) Error() string { return string(f) }

// Is reports whether target is [zarr.ErrConflict].
func (f final) Is(target error) bool { return target == zarr.ErrConflict }

// Final implements [publish.Final].
func (f final) Final() {}

// mostRounds bounds how often an array is staged and compared.
const mostRounds = 16

// errAgain is the conflict of a comparison that found too much to stage under the lock.
var errAgain = fmt.Errorf("%w: chunks were written meanwhile", zarr.ErrConflict)

// errBusy is the error if other writers get in the way again and again.
var errBusy = fmt.Errorf("%w: other programs change the array all the time, so that not everything was deleted", zarr.ErrConflict)

// errLost is the error of a rechunk whose claim is gone.
var errLost error = final("another process has given this rechunk up")

// errKeysTaken is the error of a claim whose keys are those of the present grid.
var errKeysTaken error = final("the array has the chunk keys of this rechunk already, because another program has published or reverted one; give this one up (" + remedy.Abandon + ") and begin again")

// errRivalNode is the error if another program has made a node at the place.
var errRivalNode = fmt.Errorf("another program has made a node here meanwhile: %w", fs.ErrExist)

// errShort is the conflict of a request whose planes the array no longer has.
var errShort error = final("the array has become too short meanwhile; give this rechunk up (" + remedy.Abandon + "), or grow the array again")

// errUnexpected is the conflict of a request that expects another extent.
var errUnexpected error = final("the axis is not as expected")

// errMoved is the conflict of a plan whose planes have other indices by now.
var errMoved error = final("elements were dropped or inserted since the plan was made, so those that it names may be others; make the plan again")

// errChanged is the error of an update whose arrays have changed meanwhile. It matches
// errAgain, so that they are compared again. It is final, because publish must not try
// the same update again, which would fail each time.
var errChanged error = changedMeanwhile{}

type changedMeanwhile struct{}

func (changedMeanwhile) Error() string { return errAgain.Error() }

// Is reports whether target is errAgain or [zarr.ErrConflict].
func (changedMeanwhile) Is(target error) bool {
	return target == errAgain || target == zarr.ErrConflict
}

// Final implements [publish.Final].
func (changedMeanwhile) Final() {}

// againIf turns a conflict into errChanged.
func againIf(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return errChanged
	}
	return err
}
