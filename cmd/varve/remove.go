// SPDX-License-Identifier: Apache-2.0

package main

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
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/internal/scheme"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
	"varve.dev/zarr/transfer"
)

func newRemoveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "rm NODE",
		Short: "Remove a node and everything below it",
		Long: `Remove a node and everything below it. On a terminal it asks first; elsewhere it needs --yes. Symbolic links are not
followed. A manifest of varve virtualize is removed as a whole, but not the files that it leads to.`,
		Example: `  varve rm --yes era5.zarr/t2m
  varve rm --yes archive.vz`,
		Args:              arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	yes := c.Flags().Bool("yes", false, "do not ask")
	singleWriter := growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error { return remove(cmd, args[0], *yes, *singleWriter) }
	return c
}

func remove(cmd *cobra.Command, location string, yes, singleWriter bool) error {
	if err := refuseArchive(cmd, location); err != nil {
		return err
	}
	if f, err := manifestAt(cmd.Context(), location, store.ReadWrite); err != nil {
		return failure.On("delete", location, err)
	} else if f != nil {
		defer f.Close()
		return removeManifest(cmd, location, f, yes)
	}
	opt := session.Writing(cmd)
	opt.SingleWriter = singleWriter
	if !yes {
		// Report before the question what would fail after it.
		if err := deletable(cmd, location, opt); err != nil {
			return err
		}
		if err := agreed(cmd, fmt.Sprintf("deletes %s and everything below it", location)); err != nil {
			return err
		}
	}
	dryrun.WouldRemove(cmd, location)
	p := progress.NewTally(cmd, "removing", 0, progress.Deletions)
	countBelow(cmd.Context(), p, location)
	err := zarr.Delete(cmd.Context(), location, opt)
	p.End()
	if err != nil {
		return halfRemoved(cmd, location, err)
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, map[string]any{"path": location, "removed": true})
	}
	session.Confirm(cmd, "%s  removed", location)
	return nil
}

// refuseArchive returns an error if a location is in a zip archive, which cannot change.
func refuseArchive(cmd *cobra.Command, location string) error {
	// Do not open stores that are no archives, because that may take requests.
	if !strings.Contains(strings.ToLower(location), ".zip") {
		return nil
	}
	at, err := locate(cmd.Context(), location, store.ReadOnly)
	if err != nil {
		return nil // the removal reports it
	}
	is := zipstore.IsArchive(at.Store())
	switch err := closeStore(at, true); {
	case err != nil || !is:
		return err
	case at.Path() == "":
		return failure.Unsupported("a zip archive is one file that cannot change after it is written: remove that file")
	}
	return failure.Unsupported("a zip archive cannot change after it is written: copy it to a directory and change that")
}

// errDeletable stops a removal just before it deletes anything.
var errDeletable = errors.New("the node can be deleted")

// deletable returns an error if a node cannot be deleted. Callers use it before they ask
// for permission. It changes nothing, and waits for no lock, since a lock may be released
// before the answer.
func deletable(cmd *cobra.Command, location string, opt *zarr.Options) error {
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
	return errors.Join(err, closeStore(at, true))
}

// isHidden reports whether a copy or a removal that was not finished has left something
// at a place without a node.
func isHidden(ctx context.Context, at *zarr.Location) (bool, error) {
	begun, err := transfer.Unfinished(ctx, at)
	if !begun || err != nil {
		return false, err
	}
	_, err = at.Metadata(ctx, nil)
	return errors.Is(err, fs.ErrNotExist), nil
}

// halfRemoved returns the error of a removal. If the removal has begun, and so made the
// node invisible, it adds how to complete it.
func halfRemoved(cmd *cobra.Command, location string, err error) error {
	// The removal may have stopped because of a signal. The look must still work.
	ctx := context.WithoutCancel(cmd.Context())
	at, lookErr := locate(ctx, location, store.ReadOnly)
	if lookErr != nil || session.IsDryRun(cmd) {
		return err
	}
	// Documents are deleted first, so a removal that has begun is already invisible.
	begun, lookErr := isHidden(ctx, at)
	if lookErr = errors.Join(lookErr, closeStore(at, true)); !begun || lookErr != nil {
		return err
	}
	return failure.Leftover(err, "the rest of %s is not visible: repeat the command, which removes it, or use varve rm", location)
}

// countBelow sets the total of a progress line to the number of values at and below a
// location. It does nothing if the line is not shown or the values cannot be listed.
func countBelow(ctx context.Context, p *progress.Line, location string) {
	if !p.IsShown() {
		return
	}
	s, err := node.OpenStore(ctx, location)
	if err != nil {
		return // the removal reports it
	}
	defer s.Close()
	var n int64
	for _, err := range s.List(ctx, store.Path{}, store.Deep) {
		if err != nil {
			return
		}
		n++
		p.SetTotal(n)
	}
}

// agreed asks at a terminal before data is deleted or replaced. It returns an error for
// any answer but yes, and if there is no terminal. In a dry run it does not ask.
func agreed(cmd *cobra.Command, what string) error {
	switch {
	case session.IsDryRun(cmd):
		return nil
	case !console.IsTerminal(cmd.InOrStdin()):
		return failure.BadUsage("this %s: give --yes, or --dry-run to see what would change", what)
	}
	yes, err := asked(cmd, fmt.Sprintf("This %s. Continue?", what))
	if err == nil && !yes {
		err = failure.BadArgument("nothing was changed")
	}
	return err
}

// asked prints a question and reports whether the answer is yes. It fails if a signal
// ends the command first.
func asked(cmd *cobra.Command, question string) (bool, error) {
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
