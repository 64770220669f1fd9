// SPDX-License-Identifier: Apache-2.0

// Package transpose is the codec "transpose" (zarr-specs v3, "Transpose codec"), which
// reorders the axes of a chunk. Importing the package registers it as "transpose".
package transpose

import (
	"encoding/json"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
)

func init() { codec.Register("transpose", New) }

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayArray] that is a
// [codec.Permuter].
func New(configuration []byte) (any, error) {
	var c struct {
		Order json.RawMessage `json:"order"`
	}
	if err := codec.DecodeConfiguration(configuration, &c); err != nil {
		return nil, fmt.Errorf("%w: transpose: %w", codec.ErrConfiguration, err)
	}
	if c.Order == nil {
		return nil, fmt.Errorf("%w: transpose: order is missing", codec.ErrConfiguration)
	}
	order, err := parse(c.Order)
	if err != nil {
		return nil, err
	}
	return &coder{order: order}, nil
}

func parse(text []byte) ([]int, error) {
	var axes []codec.Int
	if err := json.Unmarshal(text, &axes); err != nil {
		return nil, fmt.Errorf("%w: transpose: order: %w", codec.ErrConfiguration, err)
	}
	if len(axes) > grid.MaxRank {
		return nil, fmt.Errorf("%w: transpose: order has %d axes, an array has at most %d", codec.ErrConfiguration, len(axes), grid.MaxRank)
	}
	order, seen := make([]int, len(axes)), make([]bool, len(axes))
	for i, a := range axes {
		if a < 0 || int64(a) >= int64(len(axes)) || seen[a] {
			return nil, fmt.Errorf("%w: transpose: order %d is not a permutation of the axes from 0 to %d", codec.ErrConfiguration, axes, len(axes)-1)
		}
		order[i], seen[a] = int(a), true
	}
	return order, nil
}

type coder struct {
	order   []int // axes of the decoded array in the order of the encoded one
	inverse []int
	size    int // bytes of an element, 0 if they differ
}

// Bind implements [codec.ArrayArray].
func (c *coder) Bind(spec codec.Spec) (codec.Spec, error) {
	if len(c.order) != spec.Rank {
		return codec.Spec{}, fmt.Errorf("%w: transpose: order %d has %d axes, the array %d", codec.ErrConfiguration, c.order, len(c.order), spec.Rank)
	}
	c.inverse = make([]int, len(c.order))
	for i, a := range c.order {
		c.inverse[a] = i
	}
	c.size = max(spec.Type.Size(), 0)
	return spec, nil
}

// Order implements [codec.Permuter].
func (c *coder) Order() []int { return slices.Clone(c.order) }

// EncodedShape implements [codec.ArrayArray].
func (c *coder) EncodedShape(dst, shape []int64) ([]int64, error) {
	if len(shape) != len(c.order) {
		return dst, fmt.Errorf("%w: transpose: shape %d does not have the %d axes of order %d", codec.ErrConfiguration, shape, len(c.order), c.order)
	}
	for _, a := range c.order {
		dst = append(dst, shape[a])
	}
	return dst, nil
}

// Encode implements [codec.ArrayArray].
func (c *coder) Encode(dst *codec.Block, src codec.Block) error {
	return permute(dst, src, c.order, c.size)
}

// Decode implements [codec.ArrayArray].
func (c *coder) Decode(dst *codec.Block, src codec.Block) error {
	return permute(dst, src, c.inverse, c.size)
}
