// SPDX-License-Identifier: Apache-2.0

package blocks_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
)

// drawLarge draws a number of any magnitude from 1 to most.
func drawLarge(t *rapid.T, most int64, name string) int64 {
	return min(most, 1+rapid.Int64Range(0, math.MaxInt64).Draw(t, name)>>rapid.IntRange(1, 63).Draw(t, name+" bits"))
}

// TestLargeAgainstFormula plans regular grids of any size up to 63 bits along each axis,
// and compares the figures with formulas in big numbers.
func TestLargeAgainstFormula(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 5).Draw(t, "rank")
		shape, from, to := make([]int64, rank), make([]int64, rank), make([]int64, rank)
		for i := range shape {
			shape[i] = drawLarge(t, math.MaxInt64-1, "extent")
			from[i], to[i] = drawLarge(t, shape[i], "from"), drawLarge(t, shape[i], "to")
		}
		size := drawLarge(t, 1<<20, "size")
		memory := drawLarge(t, math.MaxInt64, "memory")
		source, target := regular(t, shape, from...), regular(t, shape, to...)
		p, err := blocks.New(source, target, size, memory, nil)
		var fit *blocks.FitError
		if errors.As(err, &fit) {
			// Try again with as much as it takes.
			if memory = fit.Bytes; memory == math.MaxInt64 {
				return
			}
			p, err = blocks.New(source, target, size, memory, nil)
			if errors.As(err, &fit) {
				return // the other side needs more
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for k, s := range p.Stages {
			if s.LargestBlock > memory || s.LargestBlock < 1 {
				t.Fatalf("stage %d: blocks of %d bytes, at most %d fit", k, s.LargestBlock, memory)
			}
			if s.Amplification < 1 || !(p.Cost > 0) || s.BytesRead < 1 || s.Reads < s.Tasks {
				t.Fatalf("stage %d: %+v", k, s)
			}
			units := source
			if k > 0 {
				units = p.Stages[k-1].Blocks
			}
			if !units.IsRegular() || !s.Blocks.IsRegular() {
				continue // blocks beside the end may be longer
			}
			compared++
			if want := saturated(pieces(units, s.Blocks)); s.Reads != want {
				t.Fatalf("stage %d: %d reads, want %d", k, s.Reads, want)
			}
		}
	})
	if compared == 0 {
		t.Error("no stage is regular")
	}
}

// pieces returns the number of cells of the common refinement of two regular grids.
func pieces(a, b *grid.Grid) *big.Int {
	n := big.NewInt(1)
	for i := range a.Rank() {
		p, q := a.Axis(i), b.Axis(i)
		step, other := big.NewInt(p.Step()), big.NewInt(q.Step())
		multiple := new(big.Int).Mul(step, new(big.Int).Quo(other, new(big.Int).GCD(nil, nil, step, other)))
		// Shared borders lie at every common multiple, and at the extent.
		shared := new(big.Int).Quo(big.NewInt(p.Extent()-1), multiple)
		cells := new(big.Int).Add(big.NewInt(p.Chunks()), big.NewInt(q.Chunks()-1))
		n.Mul(n, cells.Sub(cells, shared))
	}
	return n
}

func saturated(n *big.Int) int64 {
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return n.Int64()
}
