// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// manifestFolder is the folder of a manifest, as a path of a store.
type manifestFolder struct {
	store.Store
	path store.Path
}

// openFolderOf opens the folder that a location of a manifest is in.
func openFolderOf(ctx context.Context, location string, access store.Access) (*manifestFolder, error) {
	folder, name := filepath.Split(filepath.ToSlash(strings.TrimRight(location, "/")))
	if folder == "" {
		folder = "."
	}
	at, dir, err := store.OpenLocation(ctx, folder, access)
	if err != nil {
		return nil, err
	}
	path, err := dir.Join(name)
	f := &manifestFolder{at, path}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close closes the store.
func (f *manifestFolder) Close() error { return store.Close(f.Store) }

// manifestAt opens the folder of a manifest, finished or not. It returns nil if a
// location is none.
func manifestAt(ctx context.Context, location string, access store.Access) (*manifestFolder, error) {
	if !strings.HasSuffix(strings.TrimRight(location, "/"), virtual.Suffix) {
		return nil, nil // do not make requests for other nodes
	}
	f, err := openFolderOf(ctx, location, access)
	if err != nil {
		return nil, nil // the command reports it in its own words
	}
	is, err := virtual.IsManifest(ctx, f.Store, f.path)
	if !is || err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// vacuumManifest vacuums the folder of a manifest.
func (v *vacuuming) vacuumManifest(cmd *cobra.Command, location string, f *manifestFolder) error {
	if v.giveUp {
		return failure.BadUsage("--give-up: a manifest has no rechunk to give up")
	}
	clean := func(dry bool) (*cleaned, error) {
		r, err := virtual.Vacuum(cmd.Context(), f.Store, f.path, v.options(dry))
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
		if err := agreed(cmd, fmt.Sprintf("deletes %s of values that the manifest does not need", phrase.Bytes(c.report.Freed()))); err != nil {
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
func removeManifest(cmd *cobra.Command, location string, f *manifestFolder, yes bool) error {
	if !yes {
		if err := agreed(cmd, fmt.Sprintf("deletes the manifest %s, but not the files that it leads to", location)); err != nil {
			return err
		}
	}
	at := f.Store
	if d := session.RehearsalOf(cmd.Context()); d != nil {
		at = rehearsal.New(at, &d.Ledger)
		d.Removed = []string{location}
	}
	if err := virtual.Delete(cmd.Context(), at, f.path); err != nil {
		return failure.On("delete", location, err)
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, map[string]any{"path": location, "removed": true})
	}
	session.Confirm(cmd, "%s  removed", location)
	return nil
}
