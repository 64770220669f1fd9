// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// automatic is the value of --chunks and --shards that leaves the choice to the command.
const automatic = "auto"

// noteChunks prints what a new array's chunks were chosen to be, and whether they are
// much longer than the array. At a terminal, the confirmation tells what was chosen.
func (c *creation) noteChunks(cmd *cobra.Command, location string, a *zarr.Array) {
	if text := c.chosen(a); text != "" && !console.IsTerminal(cmd.ErrOrStderr()) {
		session.Note(cmd, location, text)
	}
	// A policy says how the array will grow. Shards do not store inner chunks that have
	// only fill values.
	if a.Inner() != nil || cmd.Flags().Changed("grow") {
		return
	}
	for _, text := range phrase.Padding(a.Grid(), "--overwrite --chunks") {
		session.Note(cmd, location, text)
	}
}

// chosen describes the chunks of a new array if the command has chosen them, such as
// "chunks 500 × 500 (auto), 977 KiB each". It returns "" if one has all elements.
func (c *creation) chosen(a *zarr.Array) string {
	g := a.Grid()
	n, few := g.NumChunks()
	if c.chunks != automatic && c.shards != automatic || few && n < 2 && a.Inner() == nil {
		return ""
	}
	inner := a.Inner()
	if inner == nil {
		return "chunks " + longest(g, a.Type(), c.chunks)
	}
	below, err := inner.Grid()
	if err != nil {
		return "" // shards of another program's form; info tells more
	}
	return "shards " + longest(g, a.Type(), c.shards) + ", of chunks " + longest(below, a.Type(), c.chunks)
}

// longest describes the longest cell of a grid.
func longest(g *grid.Grid, t dtype.Type, given string) string {
	shape := make([]int64, g.Rank())
	for i := range shape {
		a := g.Axis(i)
		shape[i] = a.Longest(grid.Interval{Stop: a.Cells()})
	}
	text := phrase.Shape(shape)
	if given == automatic {
		text += " (auto)"
	}
	if size, ok := checked.Product(append(shape, element.Width(t))...); ok && !t.Variable() {
		text += fmt.Sprintf(", %s each", phrase.Bytes(size))
	}
	return text
}
