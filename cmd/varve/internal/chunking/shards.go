// SPDX-License-Identifier: Apache-2.0

package chunking

import (
	"cmp"
	"context"
	"fmt"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/export"
)

// innerBytes is the default size of an inner chunk in bytes, that of grid.Propose.
const innerBytes = 1 << 20

// Shards is the value of --shards and --chunks together.
type Shards struct {
	Shards, Inner Chunking
	Clips         bool // inner chunks need not divide the shards
}

// Check returns an error if the inner chunks cannot fit any shard.
func (s Shards) Check() error {
	switch c := s.Inner; {
	case c.Object != nil || c.Axes != nil || c.Trimmed:
		return failure.BadUsage("--chunks %s: with --shards these are inner chunks: auto, a size such as 1MiB, or lengths such as 10 or [10,20]", phrase.Shorten(c.Text, 40))
	case c.Size > 0 && s.Shards.Size > 0 && c.Size > s.Shards.Size:
		return failure.BadUsage("inner chunks of --chunks %s are larger than --shards %s", c.Text, s.Shards.Text)
	}
	return nil
}

// Cut returns the grid of shards, and the cut of each shard into inner chunks.
func (s Shards) Cut(ctx context.Context, shape []int64, t dtype.Type, at Site) (*grid.Grid, []grid.Cut, error) {
	if s.Shards.isChosen() {
		return s.proposed(shape, export.Width(t))
	}
	g, err := s.Shards.Grid(ctx, shape, t, at)
	if err != nil {
		return nil, nil, err
	}
	cuts, err := s.innerCuts(g, export.Width(t))
	return g, cuts, s.Inner.Refused(err)
}

// proposed chooses the shards.
func (s Shards) proposed(shape []int64, size int64) (*grid.Grid, []grid.Cut, error) {
	p, err := s.Proposal(shape, size)
	if err != nil {
		return nil, nil, err
	}
	g, err := grid.New(shape, grid.Chunks(p.Shard...)...)
	return g, regularCuts(p.Chunk), s.Shards.Refused(err)
}

// Proposal returns the proposed shards and their inner chunks.
func (s Shards) Proposal(shape []int64, size int64) (grid.Proposal, error) {
	how := grid.Proposing{Inner: s.Inner.Size, Shard: s.Shards.Size}
	if s.Inner.Lengths != "" {
		var err error
		if how.Chunk, err = s.Inner.Steps(shape); err != nil {
			return grid.Proposal{}, s.Inner.Refused(err)
		}
	}
	p, err := grid.Propose(GrownTo(shape, size, cmp.Or(how.Inner, beginningChunk)), size, how)
	// The shape of the grown array was only for the choice.
	p.Shape = shape
	return p, s.Shards.Refused(err)
}

// Steps returns the length of chunks along each axis.
func (c Chunking) Steps(shape []int64) ([]int64, error) {
	cuts, err := grid.ParseCuts(shape, c.Lengths)
	if err != nil {
		return nil, err
	}
	g, err := grid.New(shape, cuts...)
	if err != nil {
		return nil, err
	}
	steps := make([]int64, g.Rank())
	for i := range steps {
		// A listed axis has the step 0.
		if steps[i] = g.Axis(i).Step(); steps[i] == 0 {
			return nil, failure.OnAxis(i, "it is a list, but choosing shards needs one length")
		}
	}
	return steps, nil
}

// regularCuts returns regular cuts with the given lengths.
func regularCuts(lengths []int64) []grid.Cut {
	cuts := make([]grid.Cut, len(lengths))
	for i, n := range lengths {
		cuts[i] = grid.Every(n)
	}
	return cuts
}

// innerCuts returns the inner chunks for given shards.
func (s Shards) innerCuts(shards *grid.Grid, size int64) ([]grid.Cut, error) {
	common := make([]int64, shards.Rank())
	for i := range common {
		common[i] = commonLength(shards.Axis(i))
	}
	if s.Inner.isChosen() {
		lengths, err := dividing(common, size, cmp.Or(s.Inner.Size, innerBytes))
		return regularCuts(lengths), err
	}
	cuts, err := grid.ParseCuts(common, s.Inner.Lengths)
	if err != nil {
		return nil, err
	}
	inner, err := grid.New(make([]int64, len(common)), cuts...) // a list of edges gives the length of a shard
	if err != nil {
		return nil, err
	}
	if inner.Name() != "regular" {
		return asLists(cuts, inner, shards)
	}
	if _, err := shards.Divided(cuts...); err != nil && !s.Clips {
		return nil, fmt.Errorf("%w (--experimental inner-chunks)", err)
	}
	return cuts, nil
}

// asLists turns all cuts into lists if one is a list, because metadata has one form for
// all axes.
func asLists(cuts []grid.Cut, inner, shards *grid.Grid) ([]grid.Cut, error) {
	for i := range cuts {
		n, shard := inner.Axis(i).Step(), shards.Axis(i).Step()
		switch {
		case n == 0:
		case shard == 0:
			return nil, failure.OnAxis(i, "lists of inner chunks need shards of a single length")
		case shard%n == 0:
			cuts[i] = grid.Runs(grid.Run{Length: n, Count: shard / n})
		// The only inner chunk ends with the shard.
		case shard < n:
			cuts[i] = grid.Edges(shard)
		default:
			cuts[i] = grid.Runs(grid.Run{Length: n, Count: shard / n}, grid.Run{Length: shard % n, Count: 1})
		}
	}
	return cuts, nil
}

// commonLength returns the length of the longest inner chunk that divides all shards
// along an axis.
func commonLength(a grid.Axis) int64 {
	common := a.Step()
	for r := range a.Encoded() {
		// Euclid's algorithm, for the lengths so far and that of this run.
		for n := r.Length; n != 0; {
			common, n = n, common%n
		}
	}
	return common
}

// dividing returns the shape of inner chunks that divide shards of common lengths. It has
// at most the given bytes, unless one element has more, and is as near to a cube as
// possible.
func dividing(common []int64, size, bytes int64) ([]int64, error) {
	lengths, err := grid.Target(common, size, bytes)
	for i, most := range lengths {
		lengths[i] = divisor(common[i], most)
	}
	return lengths, err
}

// mostTrials bounds the search for a divisor. The search is exact for numbers up to its
// square.
const mostTrials = 1 << 20

// divisor returns the largest divisor of number that is at most most. most is at least 1.
func divisor(number, most int64) int64 {
	largest := int64(1)
	for d := int64(1); d <= min(most, mostTrials) && d <= number/d; d++ {
		if number%d != 0 {
			continue
		}
		largest = max(largest, d)
		if number/d <= most {
			return number / d // a larger d gives a smaller quotient
		}
	}
	return largest
}
