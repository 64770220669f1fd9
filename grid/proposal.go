// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
)

const (
	// innerBytes is the default size of an inner chunk. zarr-python does not choose
	// larger inner chunks either. It also reads inner chunks that are no further apart
	// than this in one request, so smaller ones save few bytes.
	innerBytes = 1 << 20
	// shardBytes is the default size of a shard: half of the largest chunk that is
	// decoded whole without raising a limit. With inner chunks of 1 MiB its index takes
	// 8 KiB.
	shardBytes = 512 << 20
	// mostInner is the largest number of inner chunks in a shard. Its index then takes
	// 256 MiB, and readers refuse larger ones.
	mostInner = 1 << 24
)

// Proposing has the wanted sizes of inner chunks and shards. Sizes are in bytes before
// compression.
type Proposing struct {
	// Inner is the largest size of an inner chunk in bytes. Only an inner chunk of one
	// element may be larger. 0 means 1 MiB, or Shard if that is smaller.
	Inner int64
	// Shard is the largest size of a shard in bytes. Only a shard of one inner chunk may
	// be larger. 0 means 512 MiB. A program that rewrites a shard may hold it in memory.
	Shard int64
	// Chunk is the shape of the inner chunks in elements. If it is nil, a shape is
	// chosen.
	Chunk []int64
}

// Proposal is a shape for the shards of an array and one for their inner chunks.
type Proposal struct {
	Shape      []int64 // of the array, in elements
	Chunk      []int64 // of an inner chunk, in elements
	Shard      []int64 // of a shard, in elements: a multiple of Chunk along each axis
	ChunkBytes int64   // size of an inner chunk before compression
	ShardBytes int64   // size of a shard before compression, without its index
	PerShard   int64   // inner chunks in a shard; its index takes 16 bytes for each

	// Advice is a sentence about why shards are not worthwhile. It is empty if they are.
	Advice string
}

// Propose returns a shape for inner chunks and one for shards, for an array of the given
// shape with elements of size bytes. Both are as close to cubes as the axes permit, inner
// chunks in elements and shards in inner chunks.
//
// Sides are powers of two. An axis shorter than the side stays whole. An axis is cut
// evenly instead if the last chunk would reach beyond it by more than an eighth of the
// axis. No inner chunk is longer than an axis, and no shard is longer than an axis
// rounded up to whole inner chunks. A shard has at most 2^24 inner chunks. An axis of
// length 0 counts as one of length 1.
//
// Propose returns an error that wraps [ErrInvalid] for negative numbers, a size or a
// length of Chunk below 1, a Chunk of another rank, and more than [MaxRank] axes. It
// returns an error that wraps [ErrOverflow] if the size of an inner chunk in bytes
// overflows int64.
func Propose(shape []int64, size int64, o Proposing) (Proposal, error) {
	if err := o.check(shape, size); err != nil {
		return Proposal{}, err
	}
	if o.Shard == 0 {
		o.Shard = shardBytes
	}
	if o.Inner == 0 {
		// An inner chunk cannot be larger than its shard.
		o.Inner = min(innerBytes, o.Shard)
	}
	p := Proposal{Shape: slices.Clone(shape), Chunk: slices.Clone(o.Chunk), Shard: make([]int64, len(shape)), PerShard: 1}
	if p.Chunk == nil {
		// The quotient is 0 if one element is too large. nearCube takes that for 1.
		p.Chunk = nearCube(shape, o.Inner/size, handyLength)
	}
	var ok bool
	if p.ChunkBytes, ok = checked.Product(append(slices.Clone(p.Chunk), size)...); !ok {
		return Proposal{}, fmt.Errorf("%w: the bytes of an inner chunk", ErrOverflow)
	}
	// Shards consist of whole inner chunks, so their shape is found in inner chunks.
	for i, n := range nearCube(counts(shape, p.Chunk), min(mostInner, o.Shard/p.ChunkBytes), handyLength) {
		p.Shard[i] = n * p.Chunk[i]
		p.PerShard *= n
	}
	p.ShardBytes = p.ChunkBytes * p.PerShard
	p.Advice = p.advice()
	return p, nil
}

func (o Proposing) check(shape []int64, size int64) error {
	if size < 1 || o.Inner < 0 || o.Shard < 0 {
		return invalid("inner chunks of %s in shards of %d, with elements of %d: an element has at least 1 byte, and bytes are not negative",
			quantity.Count(o.Inner, "bytes"), o.Shard, size)
	}
	if err := checkShape(shape); err != nil {
		return err
	}
	if o.Chunk != nil && len(o.Chunk) != len(shape) {
		return invalid("the inner chunks have %s, the shape has %d", quantity.Count(len(o.Chunk), "axes"), len(shape))
	}
	for i, n := range o.Chunk {
		if n < 1 {
			return onAxis(i, invalid("inner chunk length must be at least 1, got %d", n))
		}
	}
	return nil
}

// handyLength returns a length of at most side for the chunks of an axis: the whole
// axis, a power of two, or, if the last chunk would reach beyond the axis by more than
// an eighth, the length that cuts the axis evenly.
func handyLength(length, side int64) int64 {
	if length <= side {
		return length
	}
	// The largest power of two that is at most side.
	power := int64(1) << (bits.Len64(uint64(side)) - 1)
	if over := length % power; over == 0 || power-over <= length/8 {
		return power
	}
	return checked.CeilDiv(length, checked.CeilDiv(length, side))
}

// counts returns the number of chunks along each axis.
func counts(shape, chunk []int64) []int64 {
	n := make([]int64, len(shape))
	for i := range n {
		n[i] = checked.CeilDiv(shape[i], chunk[i])
	}
	return n
}

// numChunks returns the number of inner chunks of the array. It returns false if that
// number overflows int64.
func (p Proposal) numChunks() (int64, bool) { return checked.Product(counts(p.Shape, p.Chunk)...) }

// numShards returns the number of shards of the array, which is the number of objects
// when all are stored. It returns false if that number overflows int64.
func (p Proposal) numShards() (int64, bool) { return checked.Product(counts(p.Shape, p.Shard)...) }

// advice returns why shards are not worthwhile, or "" if they are.
func (p Proposal) advice() string {
	chunks, all := p.numChunks()
	shards, ok := p.numShards()
	switch {
	case all && chunks <= 1:
		return "the array is no more than one chunk, to which a shard would only add an index"
	case p.PerShard == 1:
		return fmt.Sprintf("the shard has no room for two inner chunks of %s: make it larger, or do without shards", quantity.Count(p.ChunkBytes, "bytes"))
	case ok && shards <= 1:
		return "the array is smaller than a shard: it would be one object, which every write rewrites"
	}
	return ""
}

// Target returns a regular chunk shape for an array of the given shape with elements of
// size bytes. A chunk takes about the given number of bytes, and never more unless a
// single element does. An array that fits is one chunk.
//
// Chunks are as close to cubes as that permits. Axes shorter than the side of the cube
// stay whole and leave more to the others. Of equally long axes the last ones, whose
// elements are closest in memory, get what rounding leaves. Longer axes are cut as evenly
// as possible, so that the last chunk is not a sliver. A chunk may therefore have as
// little as half of the bytes.
//
// Target returns an error that wraps [ErrInvalid] for a negative length, a size or a
// number of bytes below 1, and more than [MaxRank] axes.
func Target(shape []int64, size, bytes int64) ([]int64, error) {
	if size < 1 || bytes < 1 {
		return nil, invalid("chunks of %s of elements of %s: both must be at least 1", quantity.Count(bytes, "bytes"), quantity.Count(size, "bytes"))
	}
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	return nearCube(shape, bytes/size, func(n, side int64) int64 { return checked.CeilDiv(n, checked.CeilDiv(n, side)) }), nil
}

// checkShape returns an error for a negative length and for too many axes.
func checkShape(shape []int64) error {
	if len(shape) > MaxRank {
		return invalid("%s, at most %d are possible", quantity.Count(len(shape), "axes"), MaxRank)
	}
	for i, n := range shape {
		if n < 0 {
			return onAxis(i, invalid("extent must not be negative, got %d", n))
		}
	}
	return nil
}

// nearCube returns a shape whose product is at most budget, as close to a cube as the
// axes permit. cut returns a length of at least 1 for an axis, which must not exceed
// the length of the axis or the side. An axis of length 0 counts as one of length 1.
func nearCube(lengths []int64, budget int64, cut func(length, side int64) int64) []int64 {
	axes := make([]int, len(lengths))
	for i := range axes {
		axes[i] = i
	}
	// Short axes come first, because each leaves what it does not need to the others. The
	// sort is stable: of equal axes the last ones get what rounding leaves.
	slices.SortStableFunc(axes, func(a, b int) int { return cmp.Compare(lengths[a], lengths[b]) })
	chunk := make([]int64, len(lengths))
	budget = max(1, budget)
	for done, i := range axes {
		chunk[i] = cut(max(1, lengths[i]), root(budget, len(axes)-done))
		budget /= chunk[i]
	}
	return chunk
}

// root returns the largest integer whose n-th power is at most x. x must be at least 1.
func root(x int64, n int) int64 {
	if n == 1 {
		return x
	}
	r := max(1, int64(math.Pow(float64(x), 1/float64(n))))
	// The floating-point root may be off in either direction.
	for !fits(r, n, x) {
		r--
	}
	for fits(r+1, n, x) {
		r++
	}
	return r
}

// fits reports whether the n-th power of r is at most x.
func fits(r int64, n int, x int64) bool {
	p, ok := int64(1), true
	for range n {
		// An overflow exceeds x, too.
		if p, ok = checked.Mul(p, r); !ok || p > x {
			return false
		}
	}
	return true
}

// Bounds of the chunks that Auto chooses, in bytes.
const (
	autoBase  = 256 << 10 // target for an array of 1 MiB
	autoLeast = 128 << 10
	autoMost  = 64 << 20
)

// Auto returns a chunk shape for an array of the given shape with elements of size bytes.
// It follows zarr-python's rule and returns the same shapes: larger arrays get larger
// chunks, and axes are halved in turn until a chunk has about the target size, between
// 128 KiB and 64 MiB. A smaller array is one chunk.
//
// An axis of length 0 counts as one of length 1, so its chunks have one element, as in
// zarr-python. An array that is created empty and then grows along such an axis gets a
// chunk for every element along it. Pass the shape that the array will have instead, as
// the command varve does: it chooses chunks of about 128 KiB along the first empty axis.
func Auto(shape []int64, size int64) []int64 {
	chunk := make([]int64, len(shape))
	total := float64(size)
	for i, n := range shape {
		chunk[i] = max(1, n)
		total *= float64(chunk[i])
	}
	// The target doubles with each factor of ten in the size of the array.
	target := autoBase * math.Pow(2, math.Log10(total/(1<<20)))
	target = min(max(target, autoLeast), autoMost)
	for i := 0; len(chunk) > 0; i++ {
		bytes, rest := float64(size), int64(0)
		for _, n := range chunk {
			bytes *= float64(n)
			rest = max(rest, n)
		}
		// Half a target more or less is near enough. If all axes have length 1, nothing
		// is left to halve.
		near := bytes < target || math.Abs(bytes-target)/target < 0.5
		if near && bytes < autoMost || rest == 1 {
			break
		}
		// Halve one axis after another, also those that have length 1 already.
		axis := i % len(chunk)
		chunk[axis] = chunk[axis]/2 + chunk[axis]%2
	}
	return chunk
}
