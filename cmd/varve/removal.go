package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
)

// mostRemoved is how many nodes a dry run names that would go.
const mostRemoved = 10

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
	if d := session.RehearsalOf(cmd.Context()); d != nil {
		d.Removed = node.Below(cmd.Context(), location)
	}
}
