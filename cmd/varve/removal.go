package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/store"
)

// mostRemoved is how many nodes a dry run names that would go.
const mostRemoved = 10

// nodesAt returns the locations of the node at a location and of all below it, none where
// no node is there. What cannot be listed is left out: it is for the command itself to
// fail.
func nodesAt(ctx context.Context, location string) (nodes []string) {
	at, err := zarr.Locate(ctx, location, store.Read)
	if err != nil {
		return nil
	}
	defer closeStore(at)
	if n, err := at.Metadata(ctx, nil); n == nil && err != nil {
		return nil
	}
	nodes = append(nodes, sameNode(location))
	g, err := at.OpenGroup(ctx, nil)
	if err != nil {
		return nodes // an array
	}
	for m := range g.Unconsolidated().Members(ctx, true) {
		if m.Path != "" {
			nodes = append(nodes, sameNode(location)+"/"+m.Path)
		}
	}
	slices.Sort(nodes[1:])
	return nodes
}

// removedText names nodes that would go, of many the first ones.
func removedText(nodes []string) string {
	shown := nodes[:min(len(nodes), mostRemoved)]
	text := fmt.Sprintf("%s: %s", phrase.Plural(int64(len(nodes)), "node"), phrase.Printable(strings.Join(shown, ", ")))
	if more := len(nodes) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %s more", phrase.Count(int64(more)))
	}
	return text
}

// wouldRemove tells a dry run which nodes the command removes.
func wouldRemove(cmd *cobra.Command, location string) {
	if d, ok := cmd.Context().Value(rehearsalKey{}).(*dryRun); ok {
		d.removed = nodesAt(cmd.Context(), location)
	}
}
