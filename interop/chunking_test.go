// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"varve.dev/zarr/grid"
)

// autoCase is an array for which both implementations choose chunks.
type autoCase struct {
	Shape []int64 `json:"shape"`
	Size  int64   `json:"size"` // of an element in bytes
}

// TestChunking compares the chunks that both implementations choose by default, for
// arrays from a few bytes to many petabytes.
func TestChunking(t *testing.T) {
	t.Parallel()
	p, r := startPython(t), rand.New(rand.NewPCG(seed(t), 0))
	all := make([]autoCase, 20*cases())
	for i := range all {
		c := autoCase{Shape: make([]int64, r.IntN(6)), Size: pick(r, 1, 2, 4, 8, 16, 1+r.Int64N(1000))}
		for k := range c.Shape {
			most := 60 / float64(len(c.Shape)) // bits
			c.Shape[k] = int64(math.Exp2(r.Float64()*most)) - r.Int64N(2)
		}
		all[i] = c
	}
	var chosen [][]int64
	p.ask(t, request{Op: "auto", Cases: all}, &chosen)
	for i, c := range all {
		if got := grid.Auto(c.Shape, c.Size); !reflect.DeepEqual(got, chosen[i]) {
			t.Errorf("shape %v, elements of %d bytes: varve chooses %v, zarr-python %v", c.Shape, c.Size, got, chosen[i])
		}
	}
}
