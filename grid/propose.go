package grid

import (
	"fmt"
	"math/bits"
	"slices"

	"varve.dev/zarr/internal/checked"
)

const (
	// innerBytes are the bytes of an inner chunk where none are asked for: zarr-python's bound for inner chunks that it chooses, and
	// the gap between inner chunks across which it reads them in one request, so that smaller ones save few bytes.
	innerBytes = 1 << 20
	// shardBytes are the bytes of a shard where none are asked for: half of the largest chunk that is decoded whole without
	// raising a limit. With inner chunks of 1 MiB its index takes 8 KiB.
	shardBytes = 512 << 20
	// mostInner is how many inner chunks a shard may have: its index takes 256 MiB then, and readers refuse more.
	mostInner = 1 << 24
)

// Proposing says what shards are wanted. Bytes are those of the elements, before compression.
type Proposing struct {
	// Inner is the most bytes of an inner chunk; only one of one element may take more. 0 stands for 1 MiB, or for Shard if that is less.
	Inner int64
	// Shard is the most bytes of a shard; only one of one inner chunk may take more. 0 stands for 512 MiB: what rewrites a
	// shard may hold it in memory.
	Shard int64
	// Chunk is the shape of the inner chunks where it is settled, in elements; nil chooses one.
	Chunk []int64
}

// Proposal is how an array may be cut into shards and these into inner chunks. Shapes are in elements.
type Proposal struct {
	Shape      []int64 // of the array
	Chunk      []int64 // of an inner chunk
	Shard      []int64 // of a shard, a multiple of Chunk along each axis
	ChunkBytes int64   // bytes of an inner chunk, before compression
	ShardBytes int64   // bytes of a shard, before compression and without its index
	PerShard   int64   // inner chunks in a shard; its index takes 16 bytes for each, before checksums

	// Advice is a sentence that says why shards are not worthwhile, and empty where they are.
	Advice string
}

// Propose returns a shape for inner chunks and one for shards, for an array of the given shape whose elements take size bytes.
// Inner chunks, in elements, and shards, in inner chunks, are as near to cubes as the axes permit, with sides that are powers of two.
// Axes that are shorter than the side stay whole, and an axis is cut evenly where the last chunk would reach beyond it by more than
// an eighth of it. No inner chunk is longer than an axis, no shard longer than an axis rounded up to whole inner chunks, and
// a shard has at most 2^24 inner chunks. An axis of length 0 is taken for one of 1.
//
// Negative numbers, a size or a length of Chunk below 1, a Chunk of another rank, and more than [MaxRank] axes wrap [ErrInvalid];
// an inner chunk whose bytes exceed 64 bits is [ErrOverflow].
func Propose(shape []int64, size int64, o Proposing) (Proposal, error) {
	if err := o.check(shape, size); err != nil {
		return Proposal{}, err
	}
	if o.Shard == 0 {
		o.Shard = shardBytes
	}
	if o.Inner == 0 {
		o.Inner = min(innerBytes, o.Shard)
	}
	p := Proposal{Shape: slices.Clone(shape), Chunk: slices.Clone(o.Chunk), Shard: make([]int64, len(shape)), PerShard: 1}
	if p.Chunk == nil {
		p.Chunk = within(shape, o.Inner/size, handy)
	}
	var ok bool
	if p.ChunkBytes, ok = checked.Product(append(slices.Clone(p.Chunk), size)...); !ok {
		return Proposal{}, fmt.Errorf("%w: the bytes of an inner chunk", ErrOverflow)
	}
	for i, n := range within(counts(shape, p.Chunk), min(mostInner, o.Shard/p.ChunkBytes), handy) {
		p.Shard[i] = n * p.Chunk[i]
		p.PerShard *= n
	}
	p.ShardBytes = p.ChunkBytes * p.PerShard
	p.Advice = p.advice()
	return p, nil
}

func (o Proposing) check(shape []int64, size int64) error {
	if size < 1 || o.Inner < 0 || o.Shard < 0 {
		return invalid("inner chunks of %d bytes in shards of %d, with elements of %d: an element has at least 1 byte, and bytes are not negative",
			o.Inner, o.Shard, size)
	}
	if err := checkShape(shape); err != nil {
		return err
	}
	if o.Chunk != nil && len(o.Chunk) != len(shape) {
		return invalid("the inner chunks have %d axes, the shape has %d", len(o.Chunk), len(shape))
	}
	for i, n := range o.Chunk {
		if n < 1 {
			return onAxis(i, invalid("inner chunk length must be at least 1, got %d", n))
		}
	}
	return nil
}

// handy returns a length for the chunks of an axis, at most side: the axis, a power of two, or what makes few and even chunks where the last
// one would reach beyond the axis by more than an eighth of it.
func handy(length, side int64) int64 {
	if length <= side {
		return length
	}
	power := int64(1) << (bits.Len64(uint64(side)) - 1)
	if over := length % power; over == 0 || power-over <= length/8 {
		return power
	}
	return checked.CeilDiv(length, checked.CeilDiv(length, side))
}

// counts returns how many chunks there are along each axis.
func counts(shape, chunk []int64) []int64 {
	n := make([]int64, len(shape))
	for i := range n {
		n[i] = checked.CeilDiv(shape[i], chunk[i])
	}
	return n
}

// NumChunks returns how many inner chunks the array has, and whether that number fits into 64 bits.
func (p Proposal) NumChunks() (int64, bool) { return checked.Product(counts(p.Shape, p.Chunk)...) }

// NumShards returns how many shards the array has, which are as many objects when all are stored, and whether that number fits into 64 bits.
func (p Proposal) NumShards() (int64, bool) { return checked.Product(counts(p.Shape, p.Shard)...) }

// advice says why shards are not worthwhile.
func (p Proposal) advice() string {
	chunks, all := p.NumChunks()
	shards, ok := p.NumShards()
	switch {
	case all && chunks <= 1:
		return "the array is no more than one chunk, to which a shard would only add an index"
	case p.PerShard == 1:
		return fmt.Sprintf("the shard has no room for two inner chunks of %d bytes: make it larger, or do without shards", p.ChunkBytes)
	case ok && shards <= 1:
		return "the array is smaller than a shard: it would be one object, which every write rewrites"
	}
	return ""
}
