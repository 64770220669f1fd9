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
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/internal/scheme"
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
	at, err := zarr.Locate(cmd.Context(), location, store.ReadOnly) // unobserved, as try is
	if err != nil {
		return err
	}
	err = at.Delete(publish.WithCheck(cmd.Context(), func(context.Context) error { return errDeletable }), &try)
	if errors.Is(err, errDeletable) {
		err = nil
	}
	return errors.Join(err, Close(at, true))
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
