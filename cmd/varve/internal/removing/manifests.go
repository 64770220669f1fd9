// SPDX-License-Identifier: Apache-2.0

package removing

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/virtual"
)

// vacuumManifest vacuums the folder of a manifest.
func (v *vacuuming) vacuumManifest(cmd *cobra.Command, location string, f *node.ManifestFolder) error {
	if v.giveUp {
		return failure.BadUsage("--give-up: a manifest has no rechunk to give up")
	}
	clean := func(dry bool) (*cleaned, error) {
		r, err := virtual.Vacuum(cmd.Context(), f.Store, f.Path, v.options(dry))
		return &cleaned{location: location, report: r}, failure.On("vacuum", location, err)
	}
	c, err := clean(true)
	if err != nil {
		return err
	}
	if !v.dry && !v.yes {
		// The grace of a value may end any moment: what nobody was asked about stays.
		if !slices.ContainsFunc(c.report.Items, func(i rechunk.VacuumItem) bool { return i.Kept == "" }) {
			return printVacuum(cmd, c, v.dry)
		}
		if err := place.Confirm(cmd, fmt.Sprintf("deletes %s of values that the manifest does not need", phrase.Bytes(c.report.Freed()))); err != nil {
			return err
		}
	}
	if !v.dry {
		if c, err = clean(false); err != nil {
			return err
		}
	}
	return printVacuum(cmd, c, v.dry)
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
