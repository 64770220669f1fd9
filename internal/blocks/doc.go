// SPDX-License-Identifier: Apache-2.0

// Package blocks plans how to rechunk an array within a memory budget. It only does
// arithmetic, no I/O.
//
// The source is a grid of read units, the target a grid of write units, both over one
// shape. A read unit is what can be read alone: a chunk, or an inner chunk of a shard. A
// write unit is a whole stored object. A [Plan] has one stage or more, and each stage has
// a grid of blocks. The block is the task: it is read, held in memory as a whole, and
// written.
//
//   - In a plan of one stage, each block is a union of write units. It reads every read
//     unit that it touches. Units that lie across the border of two blocks are read twice.
//   - In a plan of several stages, each block of the first is a union of read units, and
//     each block of the last is a union of write units. All stages but the last write one
//     scratch object per block.
//
// A scratch object holds the pieces into which the blocks of the next stage cut its
// block, one after the other in C order, and the elements of each piece in C order. So a
// block of the next stage reads one range of each scratch object that it meets. [Pieces]
// and [Sources] list them for the writer and for the reader. Along an axis there are as
// many pieces as cells in the common refinement of both grids. Chunks of 1000 and of 999
// elements make about twice as many pieces as chunks, where the least common multiple
// would make a thousand times as many.
//
// # Cost
//
// The cost of a plan is the number of bytes that it reads and writes, plus 1 MiB for each
// request ([Options]). An object store answers a request in 10 to 20 ms, and transfers
// about 1 MiB over one connection in that time.
//
// [New] prefers one stage. It considers more if one stage would read more than twice the
// bytes of the source, and then takes the number of stages that costs least. Blocks of
// the stages between are spaced geometrically. Each of them merges cells of its
// neighbour, so that their borders coincide where possible.
//
// # Bytes
//
// A block counts with the elements within the array. The units that a task decodes or
// encodes at one time come on top of it. Requests of units count with their encoded
// length, which also includes what lies beyond the extent. All bytes are those of decoded
// elements.
//
// # Growth
//
// While an array is rechunked, it may grow. [Plan.Grown] keeps the stages and all blocks
// before the old end, so that most scratch objects stay.
//
// # Determinism
//
// Equal arguments give equal plans on every machine. All decisions rest on integers and
// on single operations of IEEE 754, none on functions that round differently between
// processors. Time and memory grow with the number of runs of equal lengths, not with
// that of cells.
package blocks
