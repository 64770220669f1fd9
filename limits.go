// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"cmp"
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

// Limits bound what documents and chunks of an untrusted store can make a program
// allocate or visit. A zero field is its default. Raise limits for data that is trusted.
// Defaults may grow in later versions.
type Limits struct {
	// Document bounds a metadata document, in bytes. Default: 64 MiB.
	Document int64
	// Depth bounds the nesting of JSON. Default: 64.
	Depth int
	// Chunk bounds one decoded chunk, in bytes. If chunks are shards, it bounds one
	// decoded inner chunk, and one shard index. Default: 1 GiB.
	//
	// A longer chunk that is not encoded can still be used in part. Parts of it can be
	// read, and it can be checked, even with a CRC-32C behind it. Boxes can be written to
	// it if it is stored and the store is a [store.Splicer] or [store.Patcher].
	Chunk int64
	// InnerChunks bounds the inner chunks of one shard. Default: 2^24, whose index has
	// 256 MiB.
	InnerChunks int64
	// Block bounds a block that Read allocates, in bytes. Text counts with about the
	// bytes that it has. It does not apply to slices of the caller. Default: 1 TiB, or
	// what the machine can address.
	Block int64
	// Rank bounds the axes of an array that is created. Up to 64 axes are read. Default:
	// 32.
	Rank int
}

// OrDefault returns the limits with defaults in place of zero fields. Depth stays,
// because package metadata has its default.
func (l Limits) OrDefault() Limits {
	l.Document, l.Chunk, l.InnerChunks, l.Block, l.Rank = l.document(), l.chunk(), l.innerChunks(), l.block(), l.writeRank()
	return l
}

func (l Limits) chunk() int64 {
	if l.Chunk <= 0 {
		return codec.DefaultChunk
	}
	return l.Chunk
}

func (l Limits) block() int64 {
	if l.Block <= 0 {
		// On 32-bit machines MaxInt is 2 GiB, and half of it leaves room for the rest.
		return min(1<<40, math.MaxInt/2)
	}
	return l.Block
}

func (l Limits) innerChunks() int64 {
	if l.InnerChunks <= 0 {
		return codec.DefaultInner
	}
	return l.InnerChunks
}

func (l Limits) document() int64 {
	if l.Document <= 0 {
		return 64 << 20
	}
	return l.Document
}

func (l Limits) writeRank() int {
	if l.Rank <= 0 {
		return 32
	}
	return l.Rank
}

func (l Limits) metadata() metadata.Limits {
	return metadata.Limits{Document: l.document(), Depth: l.Depth}
}

func (l Limits) over(base Limits) Limits {
	return Limits{
		Document: cmp.Or(l.Document, base.Document), Depth: cmp.Or(l.Depth, base.Depth), Chunk: cmp.Or(l.Chunk, base.Chunk),
		InnerChunks: cmp.Or(l.InnerChunks, base.InnerChunks), Block: cmp.Or(l.Block, base.Block), Rank: cmp.Or(l.Rank, base.Rank),
	}
}
