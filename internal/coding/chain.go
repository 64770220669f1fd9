// SPDX-License-Identifier: Apache-2.0

// Package coding encodes and decodes parts of chunks. It defines the contracts between
// the engine, which moves elements, and the codecs that can code a part of a chunk
// without the rest.
//
// A [Chain] is a [codec.Chain] that can use these codecs. It reads one version of a
// stored chunk from a [Source]. An [Extract] is a part to decode, an [Edit] is a change
// to encode, and a [Revision] is the resulting chunk. [Work] limits the cores, bytes
// and requests of one call.
//
// The contracts are internal until a codec outside of this module needs them.
package coding

import (
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// Chain encodes and decodes chunks, and parts of chunks, of one array. It is safe for
// concurrent use.
type Chain struct {
	*codec.Chain
	spec    codec.Spec
	serial  codec.ArrayBytes
	bytes   []codec.BytesBytes
	place   int   // of serial in the chain
	order   []int // of axes in the encoded array; nil if codecs do more than reorder axes
	inOrder bool  // order is that of the decoded array
	plain   bool  // serial stores elements in host byte order, unchanged
}

// NewChain makes the codecs that exts describe; see [codec.Environment.NewChain].
func NewChain(env *codec.Environment, exts []metadata.Extension, spec codec.Spec) (*Chain, error) {
	whole, err := env.NewChain(exts, spec)
	if err != nil {
		return nil, err
	}
	c := &Chain{Chain: whole, spec: spec, order: whole.Order()}
	for i, made := range whole.Codecs() {
		switch made := made.(type) {
		case codec.ArrayBytes:
			c.serial, c.place = made, i
		case codec.BytesBytes:
			c.bytes = append(c.bytes, made)
		}
	}
	c.inOrder = c.order != nil && slices.IsSorted(c.order)
	if t, ok := c.serial.(codec.Transparent); ok {
		c.plain = t.Transparent()
	}
	return c, nil
}

// permuted returns numbers of axes in the order of the encoded array.
func (c *Chain) permuted(numbers []int64) []int64 {
	p := make([]int64, len(numbers))
	for i, axis := range c.order {
		p[i] = numbers[axis]
	}
	return p
}

// unpermuted returns numbers of axes in the order of the decoded array.
func (c *Chain) unpermuted(numbers []int64) []int64 {
	p := make([]int64, len(numbers))
	for i, axis := range c.order {
		p[axis] = numbers[i]
	}
	return p
}

// permutedPart returns a part of a chunk of the given shape as a part of the encoded
// array.
func (c *Chain) permutedPart(p strided.Part, shape []int64) strided.Part {
	return strided.Part{
		Start: c.permuted(p.Start), Step: c.permuted(p.Step), Count: c.permuted(p.Count), Picks: p.Picks.Permuted(c.order, shape),
	}
}

// permutedBlock returns a view of the memory of a part with its axes in the order of the
// encoded array. If the part consists of points, the memory has other axes, which stay.
func (c *Chain) permutedBlock(p strided.Part, v strided.View) strided.View {
	if p.Picks != nil && p.Picks.Points != nil {
		return v
	}
	return c.permutedView(v)
}

// permutedView returns a view of the same elements with their axes in the order of the
// encoded array.
func (c *Chain) permutedView(v strided.View) strided.View {
	v.Shape, v.Strides = c.permuted(v.Shape), c.permuted(v.Strides)
	return v
}

func (c *Chain) fail(place int, err error) error {
	if err == nil {
		return nil
	}
	return &codec.Error{Codec: c.Names()[place], Place: place, Err: err}
}

func (c *Chain) failSerial(err error) error       { return c.fail(c.place, err) }
func (c *Chain) failBytes(i int, err error) error { return c.fail(c.place+1+i, err) }
