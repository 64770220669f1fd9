// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// TestContract runs the suite of codecs on shards that are clipped, because its chunks
// have any shape.
func TestContract(t *testing.T) {
	codectest.Run(t, func() any { return new(shards) }, &codectest.Options{Unframed: true}) // bytes of no use are allowed
}

// shards is the codec for chunks of any rank.
type shards struct{ codec.ArrayBytes }

// Uncounted implements [codec.Uncounted]: inner chunks have one length, whatever the
// extent.
func (*shards) Uncounted() bool { return true }

// Bind makes the codec for arrays of spec.
func (s *shards) Bind(spec codec.Spec) error {
	c := codec.Sharding{Codecs: []metadata.Extension{{Name: "bytes", Configuration: []byte(`{"endian":"big"}`)}, {Name: "crc32c"}}}
	for range spec.Rank {
		c.Inner = append(c.Inner, grid.Every(2))
	}
	e, err := codec.Shards(c)
	if err != nil {
		return err
	}
	made, err := New(e.Configuration)
	if err != nil {
		return err
	}
	s.ArrayBytes = made.(codec.ArrayBytes)
	if err := made.(codec.Nester).Nest(&codec.Environment{Unaligned: true}); err != nil {
		return err
	}
	return s.ArrayBytes.Bind(spec)
}
