// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"strconv"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/fault"
)

// innerStep returns the length of the inner chunks along an axis. It returns 1 if there
// are none, or if they need not divide shards.
func (s *Array) innerStep(axis int) int64 {
	inner := s.Engine.Chain.Cuts() // also of shards that are compressed as a whole
	if inner == nil {
		return 1
	}
	a, err := grid.NewAxis(0, inner[axis])
	// Such inner chunks need not divide the shard.
	if err != nil || a.IsTrimmed() || !a.IsRegular() {
		return 1
	}
	return a.Step()
}

// Rounded returns the policy or, if up is set, one that rounds the last shard along the
// axis up to whole inner chunks.
func (s *Array) Rounded(axis int, g grid.Growth, up bool) grid.Growth {
	if n := s.innerStep(axis); up && n > 1 {
		return g.RoundedUp(n)
	}
	return g
}

// Fits returns an error if a new shard does not consist of whole inner chunks. The
// message suggests numbers of elements, in place of count, that fit under the same
// policy.
func (s *Array) Fits(g *grid.Grid, axis int, count int64, policy grid.Growth) error {
	err := s.Engine.Chain.CheckGrid(g)
	if err == nil {
		return nil
	}
	n := s.innerStep(axis)
	below, above := s.Grid.Axis(axis).FittingLengths(count, n)
	var lengths, moves []string
	for _, length := range []int64{below, above} {
		// The policy decides how the elements are cut into shards, so try each length.
		if length > 0 && length != count && s.growsBy(axis, length, policy) {
			lengths = append(lengths, strconv.FormatInt(length, 10))
		}
	}
	if len(lengths) > 0 {
		moves = append(moves, "append "+strings.Join(lengths, " or "))
	}
	if s.growsBy(axis, count, policy.RoundedUp(n)) {
		moves = append(moves, "have the last shard rounded up (AppendOptions.RoundUp)")
	}
	if len(moves) == 0 {
		return fmt.Errorf("%w: %w", fault.ErrInvalidArgument, err)
	}
	err = fault.Argument("%d more elements do not end with a whole inner chunk of %d: %s", count, n, strings.Join(moves, ", or "))
	return &grid.AxisError{Axis: axis, Err: err}
}

// growsBy reports whether an axis can grow by a length under a policy so that every shard
// consists of whole inner chunks.
func (s *Array) growsBy(axis int, length int64, policy grid.Growth) bool {
	shape := s.Grid.Shape()
	shape[axis] += length
	policies := make([]grid.Growth, len(shape))
	policies[axis] = policy
	g, err := s.Grid.Grown(shape, policies...)
	return err == nil && s.Engine.Chain.CheckGrid(g) == nil
}
