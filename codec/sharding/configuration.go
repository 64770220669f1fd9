// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"errors"
	"fmt"
	"strconv"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// Configuration is the configuration of the codec.
type Configuration struct {
	// Inner has the cuts of a shard into inner chunks, one for each axis. A cut has one
	// edge ([grid.Every]) or several, which [codec.Environment] must permit.
	Inner []grid.Cut
	// Codecs is the chain of the inner chunks.
	Codecs []metadata.Extension
	// IndexCodecs is the chain of the index. Nil means little-endian "bytes" and
	// "crc32c", which every reader supports.
	IndexCodecs []metadata.Extension
	// AtStart stores the index before the inner chunks instead of after them.
	AtStart bool
}

// Extension returns the metadata of the codec. Errors wrap [codec.ErrConfiguration].
func Extension(c Configuration) (metadata.Extension, error) {
	zero := make([]int64, len(c.Inner)) // lists of edges imply the extent of a shard
	g, err := grid.New(zero, c.Inner...)
	if err != nil {
		return metadata.Extension{}, fmt.Errorf("%w: inner chunks: %w", codec.ErrConfiguration, err)
	}
	raw, err := appendInner([]byte{'{'}, g)
	if err != nil {
		return metadata.Extension{}, fmt.Errorf("%w: %w", codec.ErrConfiguration, err)
	}
	index := c.IndexCodecs
	if index == nil {
		index = []metadata.Extension{{Name: "bytes", Configuration: []byte(`{"endian":"little"}`)}, {Name: "crc32c"}}
	}
	raw = appendCodecs(append(raw, `,"codecs":`...), c.Codecs)
	raw = appendCodecs(append(raw, `,"index_codecs":`...), index)
	location := "end"
	if c.AtStart {
		location = "start"
	}
	raw = strconv.AppendQuote(append(raw, `,"index_location":`...), location)
	return metadata.Extension{Name: Name, Configuration: append(raw, '}')}, nil
}

// Complete implements [codec.Completer].
func (c *coder) Complete(e metadata.Extension) metadata.Extension {
	full, err := Extension(Configuration{
		Inner:       c.cut.cuts,
		Codecs:      c.chain.Complete(c.inner),
		IndexCodecs: c.index.Complete(c.entries),
		AtStart:     c.atStart,
	})
	if err != nil {
		return e // Varve reads this cut but does not write it
	}
	return full
}

// appendInner appends the member for the shape or the edges of inner chunks.
func appendInner(dst []byte, g *grid.Grid) ([]byte, error) {
	if g.Name() == grid.RegularName {
		dst = append(dst, `"chunk_shape":[`...)
		for i := range g.Rank() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, g.Axis(i).Step(), 10)
		}
		return append(dst, ']'), nil
	}
	for i := range g.Rank() {
		if g.Axis(i).IsRegular() {
			return nil, errors.New("inner chunks must have one length along all axes or along none; list the lengths in a shard instead")
		}
	}
	dst = append(append(dst, `"chunk_grid":{"name":"`...), g.Name()...)
	dst = g.AppendListed(append(dst, `","configuration":`...))
	return append(dst, '}'), nil
}

func appendCodecs(dst []byte, list []metadata.Extension) []byte {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.Append(dst)
	}
	return append(dst, ']')
}
