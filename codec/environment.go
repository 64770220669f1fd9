// SPDX-License-Identifier: Apache-2.0

package codec

// The limits of an [Environment] that does not set them.
const (
	DefaultChunk = 1 << 30 // bytes of a decoded chunk
	DefaultInner = 1 << 24 // inner chunks of a shard; their index has 256 MiB
)

// Environment has the settings of a program for all its codecs: the registry, limits, and
// how shards are written. None of them is stored. The zero Environment is ready to use.
type Environment struct {
	// Registry has the codecs; nil means [Default].
	Registry *Registry
	// Unaligned permits inner chunks that do not divide their shards evenly, and inner
	// grids with several edges along an axis.
	Unaligned bool
	// Inner limits the inner chunks of a shard; 0 means [DefaultInner].
	Inner int64
	// Chunk limits the bytes of a decoded chunk; 0 means [DefaultChunk].
	Chunk int64
	// Order is the order of inner chunks in new shards.
	Order Order
	// Strategy is how to change a stored shard.
	Strategy Strategy
	// IndexCache limits the bytes of cached shard indexes; 0 means 16 MiB, a negative
	// number disables the cache.
	IndexCache int64
	// Adapt lets codecs choose settings for each chunk that is encoded; see [Adapter].
	Adapt bool
}

// Nester is the power of a codec that contains other codecs.
type Nester interface {
	// Nest makes the other codecs. It is called once, before Bind.
	Nest(env *Environment) error
}

// Order is the order in which inner chunks are stored in a new shard. Readers accept any
// order.
type Order uint8

// The orders of inner chunks.
const (
	Morton  Order = iota // Z order, with the first axis in the lowest bits
	C                    // the last axis varies fastest
	Fortran              // the first axis varies fastest
)

// Strategy is a way to change some inner chunks of a stored shard. Each publishes the
// changed shard in one step.
type Strategy uint8

// The strategies.
const (
	// Rewrite stores the whole shard again, in order and without gaps. It copies inner
	// chunks that do not change as they are encoded. It reads and writes all bytes of the
	// shard.
	Rewrite Strategy = iota
	// Append adds new inner chunks and a new index at the end of the shard. Old ones stay
	// as dead bytes until the shard is compacted. In a store that can splice
	// ([store.OpSplice]) it transfers only the index and the new bytes, in others as much
	// as Rewrite.
	Append
	// InPlace overwrites inner chunks whose encoded length stays, in stores that can do
	// that safely ([store.OpPatch]). It reads the index and writes only the new bytes. In
	// all other cases it is Rewrite.
	InPlace
)
