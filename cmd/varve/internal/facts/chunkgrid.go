// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strictjson"
)

// GridJSON returns a grid in the form of metadata.
func GridJSON(g *grid.Grid) []byte {
	text := strictjson.AppendQuote([]byte(`{"name":`), g.Name())
	return append(g.AppendConfiguration(append(text, `,"configuration":`...)), '}')
}

// ChunkCount returns the number of chunks along each axis: 1 chunk, 3 × 4 chunks.
func ChunkCount(g *grid.Grid) string {
	if n, ok := g.NumChunks(); ok && g.Rank() < 2 {
		return phrase.Plural(n, "chunk")
	}
	return phrase.Shape(g.Chunks()) + " chunks"
}
