// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/transfer"
)

// RestoreDocument says what to do about a document that is cut off.
const RestoreDocument = "restore it from a copy of the store, or from the consolidated metadata of a group above, if that has it"

// IsCutOff reports whether the document of a node is cut off, unless the error says what
// to do, as the error of a sync does.
func IsCutOff(err error) bool {
	return errors.Is(err, strictjson.ErrCutOff) && errors.Is(err, zarr.ErrInvalidMetadata) && !IsDamage(err)
}

// InOperation gives an error of the operation of the library that a command is made of
// the name of the command: a group is stitched by an append.
func InOperation(command string, err error) error {
	var e *zarr.Error
	if errors.As(err, &e) && slices.Contains([]string{"append", "copy", "sync"}, e.Op) {
		e.Op = command
	}
	return err
}

// IsDamage reports whether the only error of a sync is that documents of SRC cannot be
// read. Everything else is done then.
func IsDamage(err error) bool { return errors.As(err, new(*transfer.DamageError)) }

// Reword returns an error with another hint in place of one of the library.
func Reword(err error, hint, own string) error { return &rewordedError{err, hint, own} }

// rewordedError is an error with another hint.
type rewordedError struct {
	err       error
	hint, own string
}

func (r *rewordedError) Unwrap() error { return r.err }

func (r *rewordedError) Error() string { return strings.Replace(r.err.Error(), r.hint, r.own, 1) }
