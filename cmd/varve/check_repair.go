// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
)

// repair does what cannot lose data, at a node and at all nodes below it: it finishes
// changes whose writers have crashed, and updates stale consolidated metadata.
func repair(cmd *cobra.Command, location string) error {
	if err := finishLeft(cmd, location); err != nil {
		return err
	}
	n, err := node.Open(cmd, location)
	if err != nil {
		return err
	}
	defer n.Close()
	if g, ok := n.(*zarr.Group); ok {
		return consolidateStale(cmd, location, g)
	}
	return nil
}

// finishLeft completes interrupted changes of an array, or of all arrays below a group,
// as far as possible.
func finishLeft(cmd *cobra.Command, location string) error {
	opt := session.Reading(cmd)
	// Opening then completes a change whose writer has crashed. It does not wait for a
	// lock.
	opt.Finish = true
	n, err := zarr.Open(cmd.Context(), location, opt)
	if err != nil {
		return err
	}
	defer n.Close()
	g, ok := n.(*zarr.Group)
	if !ok {
		return nil
	}
	for m, err := range g.Members(cmd.Context(), true) {
		if _, isArray := m.Node.(*zarr.Array); err == nil && isArray {
			// Opening completes the change. The check reports arrays that do not open.
			if a, err := g.At(m.Path).OpenArray(cmd.Context(), nil); err == nil {
				_ = a.Close()
			}
		}
	}
	return nil
}

// consolidateStale updates the consolidated metadata of a group and of those below it,
// where it differs from the nodes.
func consolidateStale(cmd *cobra.Command, location string, g *zarr.Group) error {
	var stale []string
	look := func(at *zarr.Group, path string) error {
		d, err := consolidated.Staleness(cmd.Context(), at, true)
		// Where the document of a node is gone, the copy may be the last one.
		if d != nil && err == nil && len(d.Gone) == 0 {
			stale = append(stale, path)
		}
		return err
	}
	if err := look(g, ""); err != nil {
		return nil // the check reports what cannot be read
	}
	for m, err := range g.Unconsolidated().Members(cmd.Context(), true) {
		below, isGroup := m.Node.(*zarr.Group)
		if err != nil || !isGroup {
			continue // the check reports nodes that do not open
		}
		_ = look(below, m.Path)
	}
	for _, path := range stale {
		// What cannot be repaired stays a finding of the check.
		if err := consolidateAt(cmd, location, path); err != nil {
			session.Note(cmd, location, "not repaired: "+failure.OneLine(err))
		}
	}
	return cmd.Context().Err()
}

// consolidateAt updates the consolidated metadata of one group.
func consolidateAt(cmd *cobra.Command, location, path string) error {
	if path != "" {
		location = node.Clean(location) + "/" + path
	}
	opt := session.Writing(cmd)
	opt.Write = true
	g, err := zarr.OpenGroup(cmd.Context(), location, opt)
	if err != nil {
		return err
	}
	if err := errors.Join(g.Consolidate(cmd.Context()), g.Close()); err != nil {
		return err
	}
	session.Confirm(cmd, "%s: consolidated metadata is up to date again", location)
	return nil
}
