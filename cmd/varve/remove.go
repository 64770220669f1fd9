// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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
	"varve.dev/zarr/rewrite"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/rehearsal"
	"varve.dev/zarr/store/zipstore"
)

func newRemoveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:               "rm NODE",
		Short:             "Remove a node with everything below it",
		Example:           "  varve rm --yes era5.zarr/t2m",
		Args:              arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	yes := c.Flags().Bool("yes", false, "do not ask")
	singleWriter := growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error { return remove(cmd, args[0], *yes, *singleWriter) }
	return c
}

func remove(cmd *cobra.Command, location string, yes, singleWriter bool) error {
	if err := inArchive(cmd, location); err != nil {
		return err
	}
	opt := session.Writing(cmd)
	opt.SingleWriter = singleWriter
	if !yes {
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

// inArchive refuses to remove what is in a zip archive, before anybody is asked.
func inArchive(cmd *cobra.Command, location string) error {
	if !strings.Contains(strings.ToLower(location), ".zip") {
		return nil
	}
	at, err := locate(cmd.Context(), location, store.Read)
	if err != nil {
		return nil // the removal says so
	}
	_, is := store.Driver(at.Store()).(*zipstore.Store)
	switch err := closeStore(at, true); {
	case err != nil || !is:
		return err
	case at.Path() == "":
		return failure.Unsupported("a zip archive is one file, which is written once and then only read: remove that file")
	}
	return failure.Unsupported("a zip archive is written once and then only read: copy it to a directory and change that")
}

// errDeletable ends the removal of a node that is only asked whether it could go.
var errDeletable = errors.New("the node can be deleted")

// deletable returns why a node cannot be deleted, so that nobody is asked about a removal
// that would fail. It changes nothing, and waits for no lock: another program may let go
// of it while the person thinks.
func deletable(cmd *cobra.Command, location string, opt *zarr.Options) error {
	if session.IsDryRun(cmd) {
		return nil // nobody is asked
	}
	try := *opt
	try.Rehearsal, try.Observer = new(rehearsal.Ledger), nil
	err := zarr.DeleteIf(cmd.Context(), location, &try, func(context.Context) error { return errDeletable })
	if errors.Is(err, errDeletable) {
		return nil
	}
	return err
}

// halfRemoved returns the error of a removal with what to do about what it has left. That
// has a note which says that it is no node any more.
func halfRemoved(cmd *cobra.Command, location string, err error) error {
	ctx := context.WithoutCancel(cmd.Context())
	at, lookErr := locate(ctx, location, store.Read)
	if lookErr != nil || session.IsDryRun(cmd) {
		return err
	}
	begun, lookErr := rewrite.Unfinished(ctx, at)
	if lookErr = errors.Join(lookErr, closeStore(at, true)); !begun || lookErr != nil {
		return err
	}
	return failure.Leftover(err, "what is left of %s is not visible: repeat the command, which removes it, or use varve rm", location)
}

// countBelow makes the number of values at and below a location the total of a line of
// progress that is shown. If they cannot be listed the total stays unknown.
func countBelow(ctx context.Context, p *progress.Line, location string) {
	if !p.IsShown() {
		return
	}
	s, err := node.OpenStore(ctx, location)
	if err != nil {
		return // the removal says so
	}
	defer s.Close()
	var n int64
	for _, err := range s.List(ctx, store.Path{}, true) {
		if err != nil {
			return
		}
		n++
		p.SetTotal(n)
	}
}

// agreed asks the person at the terminal whether to do what deletes data. Where nobody
// sits there, the command line has to say so. A dry run deletes nothing.
func agreed(cmd *cobra.Command, what string) error {
	switch {
	case session.IsDryRun(cmd):
		return nil
	case !console.IsTerminal(cmd.InOrStdin()):
		return failure.BadUsage("this %s: give --yes, or --dry-run to see what would go", what)
	}
	yes, err := asked(cmd, fmt.Sprintf("This %s. Go on?", what))
	if err == nil && !yes {
		err = failure.BadArgument("nothing was deleted")
	}
	return err
}

// asked asks the person at the terminal a question, and reports whether the answer is
// yes. It fails where a signal ends the command first.
func asked(cmd *cobra.Command, question string) (bool, error) {
	cmd.PrintErrf("%s [y/N] ", phrase.Printable(question))
	answer, err := bufio.NewReader(localfile.Patient(cmd.Context(), cmd.InOrStdin())).ReadString('\n')
	if err != nil {
		cmd.PrintErrln() // what follows is no part of the question
		return false, cmd.Context().Err()
	}
	console.Of(cmd.ErrOrStderr()).Answered()
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}
