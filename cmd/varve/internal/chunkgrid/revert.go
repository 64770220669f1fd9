// SPDX-License-Identifier: Apache-2.0

package chunkgrid

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/rechunk"
)

// NewRevert returns the command revert.
func NewRevert() *cobra.Command {
	c := &cobra.Command{
		Use:   "revert NODE|GROUP",
		Short: "Go back to the chunk grid before the last compact, regularize, rechunk, drop, insert",
		Long: `Go back to the chunk grid before the last varve compact, regularize, rechunk, drop or insert. Only the metadata changes:
what was dropped is there again, and what was inserted is not. That is possible as long as nothing was written since, and
until varve vacuum has deleted the old chunks. Attributes stay as they are.

Of a group, this reverts the last of these commands that was given for the group: all arrays that it has changed, or none.
Other arrays stay. If one of them was rechunked since, revert that first.`,
		Example: `  varve revert era5.zarr/t2m
  varve revert era5.zarr`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	single := growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := node.OutsideRepository(args[0], "has the grid before in an earlier snapshot: varve icechunk branch REPOSITORY NAME --reset SNAPSHOT moves a branch back to it"); err != nil {
			return err
		}
		opt := session.Writing(cmd)
		opt.SingleWriter = *single
		n, err := zarr.Open(cmd.Context(), args[0], opt)
		if err != nil {
			return err
		}
		defer n.Close()
		if g, is := n.(*zarr.Group); is {
			return revertGroup(cmd, args[0], g, opt)
		}
		a := n.(*zarr.Array)
		if err := rechunk.Revert(cmd.Context(), a); err != nil {
			return err
		}
		if session.WantsJSON(cmd) {
			return session.PrintJSON(cmd, revertedAt(args[0], a))
		}
		return printReverted(cmd, args[0], a)
	}
	return c
}

// revertGroup reverts the last command that was given for a group.
func revertGroup(cmd *cobra.Command, location string, g *zarr.Group, access *zarr.Options) error {
	var arrays []*zarr.Array
	var locations []string
	for m, err := range node.Arrays(cmd, location, g, access, node.Filter{Deep: true}) {
		if err != nil {
			return err
		}
		arrays, locations = append(arrays, m.Array), append(locations, m.Location)
	}
	reverted, err := rechunk.RevertAll(cmd.Context(), arrays)
	if err != nil {
		return err
	}
	list := []any{}
	for i, a := range arrays {
		if !slices.Contains(reverted, a) {
			continue
		}
		list = append(list, revertedAt(locations[i], a))
		if session.WantsJSON(cmd) {
			continue
		}
		if err := printReverted(cmd, locations[i], a); err != nil {
			return err
		}
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, map[string]any{"path": location, "arrays": list})
	}
	return nil
}

// revertedAt is the result for one array, in the form of --json.
func revertedAt(location string, a *zarr.Array) map[string]any {
	return map[string]any{"path": location, "changed": true, "chunk_grid": json.RawMessage(facts.GridJSON(a.Grid()))}
}

func printReverted(cmd *cobra.Command, location string, a *zarr.Array) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s chunks %s\n", phrase.Printable(location), a.Grid().Name(), phrase.Chunks(a.Grid()))
	return err
}
