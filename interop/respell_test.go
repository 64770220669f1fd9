// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// respell rewrites the grid of a document in another spelling with the same meaning: any
// grid may be stored as rectilinear, and equal edges singly or as runs of any length. It
// restores edges beyond the extent to an array that zarr-python created.
func respell(t *testing.T, r *rand.Rand, path string, s *spec) {
	if r.IntN(2) == 0 && !s.listed() {
		return
	}
	s.rectilinear = true
	shapes := make([]any, len(s.Chunks))
	for i, c := range s.Chunks {
		switch {
		case c.edges == nil:
			shapes[i] = c.step
		case s.Shape[i] == 0 && slices.Equal(c.edges, []int64{1}): // [[1, 1]] stands for no edges
			shapes[i] = c.edges
		default:
			shapes[i] = randomRuns(r, c.edges)
		}
	}
	name := filepath.Join(path, "zarr.json")
	raw, err := os.ReadFile(name)
	check(t, err)
	var document map[string]any
	decode(t, raw, &document)
	document["chunk_grid"] = map[string]any{
		"name": "rectilinear", "configuration": map[string]any{"kind": "inline", "chunk_shapes": shapes},
	}
	raw, err = json.Marshal(document)
	check(t, err)
	check(t, os.WriteFile(name, raw, 0o600))
}

// randomRuns writes edges singly or as [length, count] pairs, at random.
func randomRuns(r *rand.Rand, edges []int64) []any {
	list := []any{}
	for len(edges) > 0 {
		n := 1
		for n < len(edges) && edges[n] == edges[0] && r.IntN(4) > 0 {
			n++
		}
		if n > 1 || r.IntN(4) == 0 {
			list = append(list, []int64{edges[0], int64(n)})
		} else {
			list = append(list, edges[0])
		}
		edges = edges[n:]
	}
	return list
}
