// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// cut is how shards are cut into inner chunks.
type cut struct {
	shape []int64    // of all inner chunks; nil if the edges are listed
	grid  *grid.Grid // of one shard if the edges are listed, otherwise nil
	cuts  []grid.Cut // one for each axis
	clips bool       // the last inner chunks are clipped at the end of the shard
}

func parseCut(shape, inner []byte) (cut, error) {
	switch {
	case shape != nil && inner != nil:
		return cut{}, errors.New("chunk_shape and chunk_grid are both given; omit one of them")
	case shape != nil:
		return parseShape(shape)
	case inner != nil:
		return parseInnerGrid(inner)
	}
	return cut{}, errors.New(`member "chunk_shape" is missing`)
}

func parseShape(raw []byte) (cut, error) {
	var lengths []codec.Int
	if err := json.Unmarshal(raw, &lengths); err != nil || lengths == nil {
		return cut{}, fmt.Errorf("chunk_shape must be a list of integers: %w", err)
	}
	c := cut{shape: make([]int64, len(lengths))}
	for i, n := range lengths {
		if n < 1 {
			return cut{}, fmt.Errorf("chunk_shape: axis %d: an inner chunk has at least one element, got %d", i, n)
		}
		c.shape[i] = int64(n)
	}
	return c, nil
}

// parseInnerGrid reads a rectilinear grid of inner chunks, which replaces chunk_shape. No
// specification has it; Varve proposes it.
func parseInnerGrid(raw []byte) (cut, error) {
	ext, err := metadata.ParseExtension(raw, metadata.Limits{})
	if err != nil {
		return cut{}, fmt.Errorf("chunk_grid: %w", err)
	}
	if ext.Name != grid.RectilinearName {
		return cut{}, fmt.Errorf("chunk_grid is %q, want %q, or a chunk_shape", ext.Name, grid.RectilinearName)
	}
	var shapes struct {
		ChunkShapes []json.RawMessage `json:"chunk_shapes"`
	}
	if err := json.Unmarshal(ext.Configuration, &shapes); err != nil {
		return cut{}, fmt.Errorf("chunk_grid: %w", err)
	}
	zero := make([]int64, len(shapes.ChunkShapes)) // the edges imply the extent of a shard
	g, err := grid.Parse(zero, ext.Name, ext.Configuration)
	if err != nil {
		return cut{}, fmt.Errorf("chunk_grid: %w", err)
	}
	for i := range zero {
		if g.Axis(i).IsRegular() {
			return cut{}, fmt.Errorf("chunk_grid: axis %d: want the list of the lengths in a shard, got a single one", i)
		}
	}
	return cut{grid: g}, nil
}

// bind checks the cut for shards with rank axes.
func (c *cut) bind(rank int, unaligned bool) error {
	if c.grid != nil {
		return c.bindGrid(rank, unaligned)
	}
	if len(c.shape) != rank {
		return fmt.Errorf("%w: chunk_shape %d has %d axes, the shard has %d", codec.ErrConfiguration, c.shape, len(c.shape), rank)
	}
	c.clips = unaligned
	for _, n := range c.shape {
		if unaligned {
			c.cuts = append(c.cuts, grid.EveryTrimmed(n))
		} else {
			c.cuts = append(c.cuts, grid.Every(n))
		}
	}
	return nil
}

func (c *cut) bindGrid(rank int, unaligned bool) error {
	if !unaligned {
		return fmt.Errorf("%w: inner chunks of several lengths are an experiment (Experimental.InnerChunks)", codec.ErrUnsupported)
	}
	if c.grid.Rank() != rank {
		return fmt.Errorf("%w: chunk_grid has %d axes, the shard has %d", codec.ErrConfiguration, c.grid.Rank(), rank)
	}
	for i := range rank {
		c.cuts = append(c.cuts, grid.Runs(slices.Collect(c.grid.Axis(i).Edges())...))
	}
	return nil
}

// checkAxis returns an error if inner chunks do not divide shards along an axis.
func (c *cut) checkAxis(i int, a grid.Axis) error {
	if c.clips {
		return nil
	}
	if c.grid != nil {
		if !a.IsRegular() {
			return fmt.Errorf("%w: inner chunks of several lengths need shards of one length", codec.ErrConfiguration)
		}
		return c.checkSum(i, a.Step())
	}
	return notDividing(a.MultipleOf(c.shape[i]))
}

func (c *cut) checkSum(i int, length int64) error {
	if sum := c.grid.Axis(i).Covered(); sum != length {
		return fmt.Errorf("%w: the inner chunks have %d elements together, a shard has %d", codec.ErrConfiguration, sum, length)
	}
	return nil
}

// notDividing adds the option that permits inner chunks which do not divide a shard to
// err, which may be nil.
func notDividing(err error) error {
	if err == nil {
		return nil
	}
	what := strings.TrimPrefix(err.Error(), grid.ErrInvalid.Error()+": ")
	return fmt.Errorf("%w: %s (Experimental.InnerChunks)", codec.ErrConfiguration, what)
}

// of returns the grid of the inner chunks of a shard of the given shape.
func (c *cut) of(shape []int64) (*grid.Grid, error) {
	for i, n := range shape {
		switch {
		case c.clips:
		case c.grid != nil:
			if err := c.checkSum(i, n); err != nil {
				return nil, &grid.AxisError{Axis: i, Err: err}
			}
		case n%c.shape[i] != 0:
			return nil, &grid.AxisError{Axis: i, Err: notDividing(fmt.Errorf("inner chunks of %d do not divide a shard of %d", c.shape[i], n))}
		}
	}
	return grid.New(shape, c.cuts...)
}
