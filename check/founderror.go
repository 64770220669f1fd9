// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"varve.dev/zarr"
)

// foundError is an error of another process: its message, and what it was.
type foundError struct {
	text   string
	causes []error
}

func (e *foundError) Error() string   { return e.text }
func (e *foundError) Unwrap() []error { return e.causes }

// sentinels has an error of each kind, and nil for [zarr.KindIO].
var sentinels = map[zarr.Kind]error{
	zarr.KindDecided:         zarr.ErrDecided,
	zarr.KindChecksum:        zarr.ErrChecksum,
	zarr.KindCorrupt:         zarr.ErrCorrupt,
	zarr.KindSourceChanged:   zarr.ErrSourceChanged,
	zarr.KindConflict:        zarr.ErrConflict,
	zarr.KindLimit:           zarr.ErrLimit,
	zarr.KindOverflow:        zarr.ErrOverflow,
	zarr.KindNoSpace:         syscall.ENOSPC,
	zarr.KindOutcomeUnknown:  zarr.ErrOutcomeUnknown,
	zarr.KindNotFound:        fs.ErrNotExist,
	zarr.KindExists:          fs.ErrExist,
	zarr.KindPermission:      fs.ErrPermission,
	zarr.KindUnsupported:     zarr.ErrUnsupported,
	zarr.KindInvalidArgument: zarr.ErrInvalidArgument,
	zarr.KindInvalidMetadata: zarr.ErrInvalidMetadata,
	zarr.KindTimeout:         os.ErrDeadlineExceeded,
	zarr.KindLocked:          zarr.ErrLocked,
	zarr.KindCanceled:        context.Canceled,
	zarr.KindIO:              nil,
}

// errorJSON is an error as JSON.
type errorJSON struct {
	Kind zarr.Kind `json:"kind"`
	// Corrupt is set if an error of another kind also wraps [zarr.ErrCorrupt], which the
	// repair of an index depends on.
	Corrupt bool   `json:"corrupt,omitempty"`
	Message string `json:"message"`
}

// newErrorJSON returns an error as JSON.
func newErrorJSON(err error) errorJSON {
	kind := zarr.KindOf(err)
	return errorJSON{kind, errors.Is(err, zarr.ErrCorrupt) && !errors.Is(sentinels[kind], zarr.ErrCorrupt), err.Error()}
}

// restored returns an error with the same message and the same kind. It returns false if
// the kind is unknown.
func (e errorJSON) restored() (error, bool) {
	cause, known := sentinels[e.Kind]
	found := &foundError{text: e.Message}
	if cause != nil {
		found.causes = append(found.causes, cause)
	}
	if e.Corrupt {
		found.causes = append(found.causes, zarr.ErrCorrupt)
	}
	return found, known
}
