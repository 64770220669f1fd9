// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/zarr/grid"
)

// TestBoxesOf cuts drawn arrays into boxes. Each element is in one of them, and they have
// at most so many bytes unless they are a chunk.
func TestBoxesOf(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		var shape, chunk []int64
		for range r.IntN(4) {
			shape, chunk = append(shape, r.Int64N(12)), append(chunk, 1+r.Int64N(5))
		}
		g, err := grid.New(shape, grid.Chunks(chunk...)...)
		if err != nil {
			t.Fatal(err)
		}
		most, all := 1+r.Int64N(500), int64(0)
		for box := range boxesOf(g, 4, most) {
			n, chunks := int64(4), true
			for i, x := range box {
				n *= x[1] - x[0]
				chunks = chunks && x[1]-x[0] <= chunk[i]
				if x[0]%chunk[i] != 0 || x[1]%chunk[i] != 0 && x[1] != shape[i] {
					t.Errorf("seed %d: %v cuts chunks of %v", seed, box, chunk)
				}
			}
			if n > most && !chunks {
				t.Errorf("seed %d: a box of %d bytes, at most %d", seed, n, most)
			}
			all += n
		}
		want := int64(4)
		for _, n := range shape {
			want *= n
		}
		if all != want || want == 0 && !slices.Contains(shape, 0) {
			t.Errorf("seed %d: boxes of %d bytes, want %d", seed, all, want)
		}
	}
}
