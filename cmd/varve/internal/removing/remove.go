// SPDX-License-Identifier: Apache-2.0

// Package removing has the commands that delete: rm deletes nodes, vacuum what crashed
// writers and earlier grids have left.
package removing

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// NewRemove returns the command rm.
func NewRemove() *cobra.Command {
	c := &cobra.Command{
		Use:   "rm NODE",
		Short: "Remove a node and everything below it",
		Long: `Remove a node and everything below it. On a terminal it asks first; elsewhere it needs --yes. Symbolic links are not
followed. A manifest of varve virtualize is removed as a whole, but not the files that it leads to.`,
		Example: `  varve rm --yes era5.zarr/t2m
  varve rm --yes archive.vz`,
		Args:              usage.Arguments("NODE"),
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
	if f, err := node.ManifestAt(cmd.Context(), location, store.ReadWrite); err != nil {
		return failure.On("delete", location, err)
	} else if f != nil {
		defer f.Close()
		return removeManifest(cmd, location, f, yes)
	}
	opt := session.Writing(cmd)
	opt.SingleWriter = singleWriter
	if !yes {
		// Report before the question what would fail after it.
		if err := place.CheckDeletable(cmd, location, opt); err != nil {
			return err
		}
		if err := place.Confirm(cmd, fmt.Sprintf("deletes %s and everything below it", location)); err != nil {
			return err
		}
	}
	dryrun.WouldRemove(cmd, location)
	p := progress.NewTally(cmd, "removing", 0, progress.Deletions)
	countBelow(cmd.Context(), p, location)
	err := zarr.Delete(cmd.Context(), location, opt)
	p.End()
	if err != nil {
		return place.HalfRemoved(cmd, location, err)
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
	if _, _, found := driver.CutPath(strings.ToLower(place.WithoutOptions(location)), own.Archives...); !found {
		return nil
	}
	at, err := place.Locate(cmd.Context(), location, store.ReadOnly)
	if err != nil {
		return nil // the removal reports it
	}
	is := archive.IsZip(at.Store())
	switch err := place.Close(at, true); {
	case err != nil || !is:
		return err
	case at.Path() == "":
		return failure.Unsupported("a zip archive is one file that cannot change after it is written: remove that file")
	}
	return failure.Unsupported("a zip archive cannot change after it is written: copy it to a directory and change that")
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

// removeManifest deletes a manifest, but not the files that it leads to.
func removeManifest(cmd *cobra.Command, location string, f *node.ManifestFolder, yes bool) error {
	if !yes {
		if err := place.Confirm(cmd, fmt.Sprintf("deletes the manifest %s, but not the files that it leads to", location)); err != nil {
			return err
		}
	}
	at := f.Store
	if d := session.RehearsalOf(cmd.Context()); d != nil {
		at = rehearsal.New(at, &d.Ledger)
		d.Removed = []string{location}
	}
	if err := virtual.Delete(cmd.Context(), at, f.Path); err != nil {
		return failure.On("delete", location, err)
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, map[string]any{"path": location, "removed": true})
	}
	session.Confirm(cmd, "%s  removed", location)
	return nil
}
