// SPDX-License-Identifier: Apache-2.0

// Package failure defines the errors of the command. It rewords messages for the
// command line: flags instead of Go fields, and no names of Go packages.
//
// Errors end the command with status 1, usage errors with status 2, and work that is done
// but for something that was left out with status 3. The sentinel that an error matches
// determines its kind in JSON.
package failure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/transfer"
	"varve.dev/zarr/virtual"
)

// usageError is an error of the command line itself: status 2.
type usageError struct{ error }

// BadUsage returns an error for arguments that are malformed or contradict each other:
// status 2.
func BadUsage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// IsUsage reports whether an error is a usage error.
func IsUsage(err error) bool {
	var u usageError
	return errors.As(err, &u)
}

// Verdict is a negative answer of a command such as equal or check: status 1. With --json
// nothing else is printed, because the answer is on standard output.
type Verdict string

// Error implements error.
func (v Verdict) Error() string { return string(v) }

// Partial says that a command has done its work but for something that it has named:
// status 3. With --json nothing else is printed, because the document says so.
type Partial string

// Error implements error.
func (p Partial) Error() string { return string(p) }

// IsAnswer reports whether an error is the answer of a command, and not its failure.
func IsAnswer(err error) bool {
	var v Verdict
	var p Partial
	return errors.As(err, &v) || errors.As(err, &p)
}

// kindError is an error that matches a sentinel without its message.
type kindError struct{ err, kind error }

func (e *kindError) Error() string { return e.err.Error() }

func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

// OfKind returns an error with its own message that matches kind.
func OfKind(kind error, format string, args ...any) error {
	return &kindError{fmt.Errorf(format, args...), kind}
}

// BadArgument returns an error for a well-formed argument that does not fit the node:
// status 1.
func BadArgument(format string, args ...any) error {
	return OfKind(zarr.ErrInvalidArgument, format, args...)
}

// Unsupported returns an error for something that this version does not implement.
func Unsupported(format string, args ...any) error {
	return OfKind(zarr.ErrUnsupported, format, args...)
}

// NotFound returns an error for something that does not exist.
func NotFound(format string, args ...any) error { return OfKind(fs.ErrNotExist, format, args...) }

// Undone is the error of a change that was undone, or that stopped half-way.
type Undone struct {
	err  error
	Note string // the state of the change
}

// Error implements error.
func (u *Undone) Error() string { return u.err.Error() + "; " + u.Note }

// Unwrap returns the error that ended the change.
func (u *Undone) Unwrap() error { return u.err }

// Leftover returns err with a note on the state of the change and on what to do next.
func Leftover(err error, format string, args ...any) error {
	return &Undone{err, fmt.Sprintf(format, args...)}
}

// On returns err as a [zarr.Error] with operation and node. It returns a [zarr.Error]
// unchanged.
func On(op, path string, err error) error {
	var e *zarr.Error
	if err == nil || path == "" || errors.As(err, &e) {
		return err
	}
	e = &zarr.Error{Op: op, Path: path, Axis: -1, Err: err}
	var axis *grid.AxisError
	if errors.As(err, &axis) {
		e.Axis = axis.Axis
	}
	return e
}

// OnAxis is BadArgument for an axis.
func OnAxis(axis int, format string, args ...any) error {
	return &grid.AxisError{Axis: axis, Err: BadArgument(format, args...)}
}

// aboutSource returns the message of an error with a shorter path of the file that
// references lead to, and with the command that scans it again. node is the location of
// the references, unless the error names it.
func aboutSource(node string, err error, text string) string {
	var s *virtual.SourceError
	if !errors.As(err, &s) {
		return text
	}
	file := shortPath(s.Location)
	text = strings.ReplaceAll(text, s.Location, file)
	text = strings.ReplaceAll(text, "; open it again", "; repeat the command")
	for e := (*zarr.Error)(nil); errors.As(err, &e); err = e.Err {
		node = e.Path
	}
	again := "scan it again (varve virtualize)"
	if strings.HasPrefix(node, "icechunk+") {
		again = "scan the files again (varve virtualize … -o …@BRANCH/PATH --overwrite)"
	}
	if manifest, _, found := driver.CutPath(node, virtual.Suffix); found {
		again = fmt.Sprintf("varve virtualize %s --append -o %s scans it again", phrase.Word(file), phrase.Word(manifest))
	}
	return strings.ReplaceAll(text, "; scan it again", "; "+again)
}

// shortPath returns a path relative to the working directory, if it lies below that.
func shortPath(path string) string {
	dir, err := os.Getwd()
	if err != nil || strings.Contains(path, "://") {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// AsUnsupported turns an error for unsupported things of a lower package into
// [zarr.ErrUnsupported].
func AsUnsupported(err error) error {
	if errors.Is(err, dtype.ErrUnsupported) || errors.Is(err, metadata.ErrUnsupported) {
		return Unsupported("%w", err)
	}
	return err
}

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
