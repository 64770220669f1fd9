package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/session"
)

// openNode opens the node that an argument names, for reading.
func openNode(cmd *cobra.Command, location string) (zarr.Node, error) {
	return zarr.Open(cmd.Context(), location, session.Reading(cmd))
}

// openArray opens the array that an argument names, for reading.
func openArray(cmd *cobra.Command, location string) (*zarr.Array, error) {
	return zarr.OpenArray(cmd.Context(), location, session.Reading(cmd))
}

// closeStore lets go of the store of a hierarchy.
func closeStore(h *zarr.Location) {
	if c, ok := h.Store().(io.Closer); ok {
		_ = c.Close() // it was read only
	}
}

// completeNode proposes the members of the group that has been typed so far, besides
// files.
func completeNode(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
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

// memberPaths returns the members of the group at a location whose own locations begin
// with prefix.
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

// localPath returns the path of the file system that a location stands for.
func localPath(location string) string {
	if path, err := filepath.Abs(strings.TrimPrefix(location, "file://")); err == nil {
		return path
	}
	return location
}
