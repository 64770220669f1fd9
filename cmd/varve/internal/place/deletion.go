// SPDX-License-Identifier: Apache-2.0

package place

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/internal/scheme"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// errDeletable stops a removal just before it deletes anything.
var errDeletable = errors.New("the node can be deleted")

// CheckDeletable returns an error if a node cannot be deleted. Callers use it before they
// ask for permission. It changes nothing, and waits for no lock, since a lock may be
// released before the answer.
func CheckDeletable(cmd *cobra.Command, location string, opt *zarr.Options) error {
	if session.IsDryRun(cmd) {
		return nil // a dry run does not ask
	}
	try := *opt
	// The ledger takes the changes in place of the store.
	try.Rehearsal, try.Observer = new(rehearsal.Ledger), nil
	if err := scheme.RefuseLink(location); err != nil {
		return failure.On("delete", location, err)
	}
	return session.Try(cmd, func() error {
		at, err := zarr.Locate(cmd.Context(), location, store.ReadOnly) // unobserved, as try is
		if err != nil {
			return err
		}
		err = at.Delete(publish.WithCheck(cmd.Context(), func(context.Context) error { return errDeletable }), &try)
		if errors.Is(err, errDeletable) {
			err = nil
		}
		return errors.Join(err, Close(at, true))
	})
}

// IsHidden reports whether a copy or a removal that was not finished has left something
// at a place without a node.
func IsHidden(ctx context.Context, at *zarr.Location) (bool, error) {
	begun, err := transfer.Unfinished(ctx, at)
	if !begun || err != nil {
		return false, err
	}
	_, err = at.Metadata(ctx, nil)
	return errors.Is(err, fs.ErrNotExist), nil
}

// HalfRemoved returns the error of a removal. If the removal has begun, and so made the
// node invisible, it adds how to complete it.
func HalfRemoved(cmd *cobra.Command, location string, err error) error {
	// The removal may have stopped because of a signal. The look must still work.
	ctx := context.WithoutCancel(cmd.Context())
	at, lookErr := Locate(ctx, location, store.ReadOnly)
	if lookErr != nil || session.IsDryRun(cmd) {
		return err
	}
	// Documents are deleted first, so a removal that has begun is already invisible.
	begun, lookErr := IsHidden(ctx, at)
	if lookErr = errors.Join(lookErr, Close(at, true)); !begun || lookErr != nil {
		return err
	}
	return failure.Leftover(err, "the rest of %s is not visible: repeat the command, which removes it, or use varve rm", location)
}

// Confirm asks at a terminal before data is deleted or replaced. It returns an error for
// any answer but yes, and if there is no terminal. In a dry run it does not ask.
func Confirm(cmd *cobra.Command, what string) error {
	switch {
	case session.IsDryRun(cmd):
		return nil
	case !console.IsTerminal(cmd.InOrStdin()):
		return failure.BadUsage("this %s: give --yes, or --dry-run to see what would change", what)
	}
	yes, err := Ask(cmd, fmt.Sprintf("This %s. Continue?", what))
	if err == nil && !yes {
		err = failure.BadArgument("nothing was changed")
	}
	return err
}

// Ask prints a question and reports whether the answer is yes. It fails if a signal
// ends the command first.
func Ask(cmd *cobra.Command, question string) (bool, error) {
	cmd.PrintErrf("%s [y/N] ", phrase.Printable(question))
	answer, err := bufio.NewReader(localfile.Patient(cmd.Context(), cmd.InOrStdin())).ReadString('\n')
	if err != nil {
		cmd.PrintErrln() // end the line of the question
		return false, cmd.Context().Err()
	}
	console.Of(cmd.ErrOrStderr()).Answered()
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

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
