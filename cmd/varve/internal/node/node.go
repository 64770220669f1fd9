// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/store"
)

// Open opens the node at a location for reading.
func Open(cmd *cobra.Command, location string) (zarr.Node, error) {
	return zarr.Open(cmd.Context(), location, session.Reading(cmd))
}

// OpenArray opens the array at a location for reading.
func OpenArray(cmd *cobra.Command, location string) (*zarr.Array, error) {
	return zarr.OpenArray(cmd.Context(), location, session.Reading(cmd))
}

// Close closes the store of a location that was only read.
func Close(h *zarr.Location) {
	if c, ok := h.Store().(io.Closer); ok {
		_ = c.Close() // it was only read
	}
}

// Complete proposes members of the group that has been typed so far, and files.
func Complete(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	i := strings.LastIndexByte(typed, '/')
	if i < 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names := memberPaths(cmd.Context(), typed[:i], typed)
	if len(names) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// memberPaths returns the locations of the members of a group that begin with prefix.
func memberPaths(ctx context.Context, location, prefix string) []string {
	if ctx == nil {
		ctx = context.Background()
	}
	g, err := zarr.OpenGroup(ctx, location, nil)
	if err != nil {
		return nil
	}
	var paths []string
	for m, err := range g.Members(ctx, false) {
		if path := location + "/" + m.Path; err == nil && strings.HasPrefix(path, prefix) {
			paths = append(paths, path)
		}
	}
	return paths
}

// OpenSeen opens an array for reading. In a dry run of several steps it sees what earlier
// steps would have written to the same store, such as a coordinate that grows.
func OpenSeen(ctx context.Context, location string, opt *zarr.Options) (*zarr.Array, error) {
	d := session.RehearsalOf(ctx)
	if d == nil || d.Place == "" {
		return zarr.OpenArray(ctx, location, opt)
	}
	at, err := zarr.Locate(ctx, location, store.Read)
	if err != nil {
		return nil, err
	}
	place := store.PlaceOf(at.Store())
	Close(at)
	// The ledger has the keys of one store only.
	if place == d.Place {
		seen := *opt
		seen.Rehearsal, opt = &d.Ledger, &seen
	}
	return zarr.OpenArray(ctx, location, opt)
}

// Below returns the locations of the node at a location and of all nodes below it. It
// omits nodes that cannot be listed: the command itself fails on them.
func Below(ctx context.Context, location string) (nodes []string) {
	at, err := zarr.Locate(ctx, location, store.Read)
	if err != nil {
		return nil
	}
	defer Close(at)
	if n, err := at.Metadata(ctx, nil); n == nil && err != nil {
		return nil
	}
	nodes = append(nodes, Clean(location))
	g, err := at.OpenGroup(ctx, nil)
	if err != nil {
		return nodes // an array
	}
	for m := range g.Unconsolidated().Members(ctx, true) {
		if m.Path != "" {
			nodes = append(nodes, Clean(location)+"/"+m.Path)
		}
	}
	slices.Sort(nodes[1:])
	return nodes
}
