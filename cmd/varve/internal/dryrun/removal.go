// SPDX-License-Identifier: Apache-2.0

package dryrun

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
)

// mostRemoved bounds the removed nodes that a plan names.
const mostRemoved = 10

// RemovedText names the first of the nodes that a command would remove, and counts the
// rest. The paths are relative to the location of the command, whose own one is "".
func RemovedText(nodes []string) string {
	shown := slices.Clone(nodes[:min(len(nodes), mostRemoved)])
	for i, name := range shown {
		shown[i] = cmp.Or(name, "/")
	}
	text := fmt.Sprintf("%s: %s", phrase.Plural(int64(len(nodes)), "node"), phrase.Printable(strings.Join(shown, ", ")))
	if more := len(nodes) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %s more", phrase.Count(int64(more)))
	}
	return text
}

// WouldRemove records for a dry run that the command removes the node at a location.
func WouldRemove(cmd *cobra.Command, location string) {
	if d := session.RehearsalOf(cmd.Context()); d != nil {
		d.Removed = node.Below(cmd.Context(), location)
	}
}
