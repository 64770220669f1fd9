package zarr

import (
	"cmp"
	"math"

	"varve.dev/zarr/metadata"
)

// Limits bounds what a stranger's store may make this program do. A zero field stands for
// its default. They may be raised for data that is trusted; the defaults may grow in
// later versions.
type Limits struct {
	// Document is the most bytes of a metadata document. Default: 64 MiB.
	Document int64
	// Depth is the deepest nesting of JSON. Default: 64.
	Depth int
	// Chunk is the most bytes of one decoded chunk. Where chunks are shards it is that of
	// one decoded inner chunk, and of an index. Default: 1 GiB. Of longer chunks that are
	// not encoded parts are read; boxes are written into those that are stored, in stores
	// that put values together from their older version; and they are checked, also with
	// a CRC-32C behind them.
	Chunk int64
	// InnerChunks is the most inner chunks of one shard. Default: 2^24, the index of
	// which has 256 MiB.
	InnerChunks int64
	// Block is the most bytes of a block that Read makes, those of text in it included,
	// about; slices that the caller made are as large as they are. Default: 1 TiB, or
	// what the machine can address.
	Block int64
	// Rank is the most axes of an array that is written; up to 64 are read. Default: 32.
	Rank int
}

// OrDefault returns the limits with the default in place of every field that is zero, but
// for Depth, whose default the reader of documents has.
func (l Limits) OrDefault() Limits {
	l.Document, l.Chunk, l.InnerChunks, l.Block, l.Rank = l.document(), l.chunk(), l.innerChunks(), l.block(), l.writeRank()
	return l
}

func (l Limits) chunk() int64 {
	if l.Chunk <= 0 {
		return 1 << 30
	}
	return l.Chunk
}

func (l Limits) block() int64 {
	if l.Block <= 0 {
		return min(1<<40, math.MaxInt/2)
	}
	return l.Block
}

func (l Limits) innerChunks() int64 {
	if l.InnerChunks <= 0 {
		return 1 << 24
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
