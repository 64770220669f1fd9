// SPDX-License-Identifier: Apache-2.0

// Package lattice has what package grid knows about cells, growth and boxes but does not
// tell its users.
package lattice

import (
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/backdoor"
)

// FittingLengths returns the lengths nearest to length by which the axis can grow with
// one new edge ([grid.AppendOne]) that is stored with a multiple of n elements
// ([grid.Axis.MultipleOf]). All lengths are in elements. Elements that fill an edge
// beyond the extent come first and are not part of the new edge.
//
// Both results are length if that fits, as it always does on a regular axis. below is 0
// if no shorter length fits, and above is 0 if a longer one would overflow int64. Both
// are 0 if n or length is below 1. With [RoundedUp] every length fits.
var FittingLengths = backdoor.Use[func(a grid.Axis, length, n int64) (below, above int64)]("grid.FittingLengths")

// AppendListed is like [grid.Grid.AppendConfiguration] but writes every axis of a
// rectilinear grid as a list. Some programs, such as Icechunk 2.2, refuse bare integers
// there. A list has as many edges as the axis has chunks, and at least one, so the axis
// no longer follows the extent ([grid.Grid.Unlocked]). An axis whose edges would
// overflow int64 stays a bare integer.
var AppendListed = backdoor.Use[func(g *grid.Grid, dst []byte) []byte]("grid.AppendListed")

// IsAppendOne reports whether the policy is [grid.AppendOne], which the zero Growth is
// too. Rounding ([RoundedUp]) does not count.
var IsAppendOne = backdoor.Use[func(g grid.Growth) bool]("grid.IsAppendOne")

// KeepsRegular reports whether the policy leaves a regular axis regular. Only
// [grid.AppendOne] and [grid.RepeatLast] do; a regular axis accepts no other
// ([grid.Axis.Grown]).
var KeepsRegular = backdoor.Use[func(g grid.Growth) bool]("grid.KeepsRegular")

// RoundedUp returns the policy with its last new edge rounded up to a multiple of the
// given number of elements. That edge may reach beyond the extent; all others stay as the
// policy makes them. A shard that is appended then holds whole inner chunks. For
// [grid.Preplanned] the last edge of the plan is rounded up.
//
// Nothing changes if no edge is added, or if the axis is regular. A number below 1 is
// reported when an axis grows, as an error that wraps [grid.ErrInvalid].
// [grid.Growth.String] does not show the rounding.
var RoundedUp = backdoor.Use[func(g grid.Growth, to int64) grid.Growth]("grid.RoundedUp")

// First sets index to the first index of the box. It returns false if the box is empty.
var First = backdoor.Use[func(b grid.Box, index []int64) bool]("grid.First")

// Next advances index to the one that follows in C order. It returns false after the
// last.
var Next = backdoor.Use[func(b grid.Box, index []int64) bool]("grid.Next")
