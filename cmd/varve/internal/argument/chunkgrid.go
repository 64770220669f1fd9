// SPDX-License-Identifier: Apache-2.0

package argument

import (
	"fmt"
	"strings"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/metadata"
)

// ChunkGrid parses a chunk_grid object. It also accepts the form of ZEP 3's draft.
func ChunkGrid(text string) (metadata.Extension, error) {
	e, err := metadata.ParseChunkGrid([]byte(text), metadata.Limits{})
	return e, failure.AsUnsupported(err)
}

// ChunkGridMeant returns the chunk_grid object for a text that has only lengths, and an
// example for any other text.
func ChunkGridMeant(text string) string {
	lengths, err := ParseShape(strings.Trim(text, "[]() "))
	switch {
	case err == nil && len(lengths) > 0:
		return fmt.Sprintf(` (did you mean '{"name":"regular","configuration":{"chunk_shape":%s}}'?)`, output.Text(lengths))
	case strings.HasPrefix(strings.TrimSpace(text), "{"):
		return ""
	}
	return ` (write the whole object, as '{"name":"regular","configuration":{"chunk_shape":[10,20]}}')`
}
