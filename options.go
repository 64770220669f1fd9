// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"cmp"
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Options are the options of opening a node. A nil *Options is the zero value, which
// opens for reading.
//
// A node that is opened from a group, or from the [Node.Location] of a node, takes the
// options of that node for every field that is zero. So false cannot switch off what the
// group has switched on. [Location.Root] has no options: g.Location().Root().At("a/t2m")
// opens the node by its path in the store, with the options of the call alone.
type Options struct {
	// Write permits changes. Without it, every change fails with [ErrReadOnly].
	Write bool
	// Finish completes changes of crashed writers when an array is opened for reading:
	// trimmed chunks that were not moved to their keys yet, which other programs cannot
	// decode until then, and transactions over several arrays. Opening for writing always
	// does this. Finish needs a writable store with locks, because a free lock proves
	// that the writer has crashed. It never waits, and it reports no failure: the next
	// writer tries again.
	Finish bool
	// Codecs are the codecs that arrays may use. Nil is [codec.Default].
	Codecs *codec.Registry
	// Limits bound what an untrusted store can make a program allocate or visit.
	Limits Limits
	// Concurrency bounds the requests that one call has in flight to a far store, such as
	// a web server, or the chunks that it has in flight from a near one, such as files.
	// The same number of members of a group is opened at once. 0 is twice the number of
	// processors but at least 8, and at least 32 for a far store; an object store that
	// adapts its own requests gets up to 256. More than 32 help if requests take longer
	// than 50 ms or chunks are small.
	Concurrency int
	// Budget bounds the bytes that one call has in flight, encoded and decoded, in
	// addition to the slices of the caller. 0 is the larger of 64 MiB and four times the
	// number of processors times the largest chunk that the call touches, but at most
	// [MostBudget].
	//
	// A chunk counts with its stored size while it is fetched, as estimated from other
	// chunks, and with its decoded size while it is decoded. So a budget of a few chunks
	// is enough to have many requests in flight. A chunk or inner chunk that takes more
	// than three quarters of the budget is still decoded. Of one shard, as many such
	// inner chunks are decoded at once as there are processors. Text counts with its
	// actual size; a chunk of text that takes more than half of the budget is decoded
	// alone.
	Budget int64
	// StoreFill stores chunks that have only the fill value. Without it, such chunks are
	// not stored, and are deleted if they exist. In a store without locks they are
	// overwritten instead. If the fill value is null, which format 2 permits, every
	// written chunk is stored, because the elements of a missing chunk are then
	// undefined.
	StoreFill bool
	// RequireChunks makes reading a missing chunk an error that wraps [fs.ErrNotExist],
	// instead of returning the fill value. It shows lost chunks of arrays whose chunks
	// are all stored ([Options.StoreFill]). An inner chunk that is missing in its shard
	// still reads as the fill value.
	RequireChunks bool
	// Durability is when writes survive a power cut. The zero value is that of the group,
	// or else [store.Sync]: when the call returns. Set Sync for a member that needs it in
	// a group that is open with [store.Flush].
	Durability store.Durability
	// SingleWriter promises that no other process changes the node. This permits changes
	// in a store that has neither locks nor conditional writes.
	SingleWriter bool
	// Locking bounds the wait for locks of other writers, and reports it. The zero value
	// waits without a bound. A wait that ends without the lock is [ErrLocked].
	Locking store.Locking
	// SharedWriters guarantees that no update is lost when several processes write parts
	// of one chunk at the same time. A store that cannot compare versions refuses it with
	// [ErrUnsafeConcurrentWrite]. Without it, the last writer of a chunk wins in such a
	// store.
	SharedWriters bool
	// AdaptCodecs lets codecs choose settings for each chunk that is written, where the
	// decoder reads all of them and the metadata stay as they are. So far, only the codec
	// "blosc" does: it takes the shuffle that a sample of the chunk shows to be the best.
	// This is not stored. The same elements always give the same bytes.
	AdaptCodecs bool
	// Shards has options for reading and writing shards.
	Shards Shards
	// Observer, if not nil, receives an event for every request to the store and for
	// every chunk that is decoded or encoded. See package observe.
	Observer observe.Observer
	// Rehearsal, if not nil, makes every change a dry run. A change takes its usual
	// steps and returns its usual errors, but writes to the ledger in place of the store.
	//
	// A dry run avoids reading data. If a write changes a part of a chunk of 1 MiB or
	// more, decoded, the chunk is not read. The ledger records that it would be written
	// ([rehearsal.Ledger.Unread] counts these chunks). So a dry run does not notice if
	// such a chunk is damaged, or would be deleted because only fill values remain. A
	// later step of the same dry run that reads its elements fails.
	Rehearsal *rehearsal.Ledger
	// Experimental permits features that are proposed for Zarr but not accepted.
	Experimental Experimental
}

// CreateOptions are the options of creating nodes. New nodes are open for writing.
type CreateOptions struct {
	Options
	// Format is the version of the Zarr format, 2 or 3. 0 is that of the group above, or
	// 3 if there is none. All nodes below a group have its format.
	Format int
	// Overwrite first deletes the node at the path, with all nodes below it. This is not
	// one step: a crash in between leaves nothing at the path.
	Overwrite bool
}

// Experimental permits features that are proposed for Zarr and may never be accepted.
// Other programs may misread such arrays. Without the option they are refused.
type Experimental struct {
	// EncodedShapes permits chunks whose stored shape is larger than their edges, such as
	// those at the ends of concatenated files ("encoded_chunk_shapes", zarr-extensions
	// pull request 75; [grid.Cut.EncodedAs]).
	EncodedShapes bool
	// InnerChunks permits inner chunks that do not divide their shard, so that the last
	// ones are shorter (zarr-specs pull request 370). It also permits rectilinear grids
	// of inner chunks in shards of one shape, which Varve proposes.
	InnerChunks bool
}

// Shards has the options for arrays whose chunks are shards. None of them is stored.
type Shards struct {
	// Gap and Span decide when ranges of one shard, or of one chunk that is not encoded,
	// are read by one request: if at most Gap bytes lie between them, and if they have at
	// most Span bytes together.
	//
	// Gap 0 is the number of bytes that cost as much as a request. In a near store, such
	// as files, this is 16 KiB. In a far store it is 4 MiB divided by the Concurrency,
	// from 64 KiB to 1 MiB, because about 4 MiB could arrive in the time of a request and
	// all requests share the connection. A negative Gap joins only adjacent ranges. Span
	// 0 is 16 MiB. A shard whose index is not cached is read whole if it has at most 1
	// MiB, or 16 KiB in a near store, and at most Gap bytes if that is set.
	Gap, Span int64
	// Order is the order of inner chunks in shards that are written. The zero value is
	// [codec.Morton]. Shards that are made of encoded inner chunks of other shards keep
	// the order in which those have them.
	Order codec.Order
	// Strategy is how a stored shard is changed. The zero value is [codec.Rewrite].
	Strategy codec.Strategy
	// IndexCache bounds the bytes of shard indexes that an array caches. 0 is 16 MiB, and
	// a negative value caches none.
	IndexCache int64
}

// DefaultConcurrency returns the default of [Options.Concurrency] for a store, on a
// machine with the given number of processors.
func DefaultConcurrency(s store.Store, processors int) int { return engine.InFlight(s, 0, processors) }

// MostBudget returns the upper bound of the default of [Options.Budget], in bytes. It is
// a sixteenth of the memory that the process may use, but at least 256 MiB unless that
// exceeds half of the memory.
func MostBudget() int64 { return budget.Most() }

func (o *Options) orZero() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

// over returns the options with the fields that are zero taken from base.
func (o Options) over(base Options) Options {
	o.Write = o.Write || base.Write
	o.Finish = o.Finish || base.Finish
	o.Codecs = cmp.Or(o.Codecs, base.Codecs)
	o.Limits = o.Limits.over(base.Limits)
	o.Concurrency = cmp.Or(o.Concurrency, base.Concurrency)
	o.Budget = cmp.Or(o.Budget, base.Budget)
	o.StoreFill = o.StoreFill || base.StoreFill
	o.RequireChunks = o.RequireChunks || base.RequireChunks
	o.Durability = cmp.Or(o.Durability, base.Durability)
	o.SingleWriter = o.SingleWriter || base.SingleWriter
	o.Locking.Operation = cmp.Or(o.Locking.Operation, base.Locking.Operation)
	o.Locking.Timeout = cmp.Or(o.Locking.Timeout, base.Locking.Timeout)
	// A function cannot be compared, so cmp.Or does not apply.
	if o.Locking.Waiting == nil {
		o.Locking.Waiting = base.Locking.Waiting
	}
	o.SharedWriters = o.SharedWriters || base.SharedWriters
	o.AdaptCodecs = o.AdaptCodecs || base.AdaptCodecs
	o.Shards = o.Shards.over(base.Shards)
	if o.Observer == nil {
		o.Observer = base.Observer
	}
	o.Rehearsal = cmp.Or(o.Rehearsal, base.Rehearsal)
	o.Experimental.EncodedShapes = o.Experimental.EncodedShapes || base.Experimental.EncodedShapes
	o.Experimental.InnerChunks = o.Experimental.InnerChunks || base.Experimental.InnerChunks
	return o
}

func (s Shards) over(base Shards) Shards {
	return Shards{
		Gap: cmp.Or(s.Gap, base.Gap), Span: cmp.Or(s.Span, base.Span), Order: cmp.Or(s.Order, base.Order),
		Strategy: cmp.Or(s.Strategy, base.Strategy), IndexCache: cmp.Or(s.IndexCache, base.IndexCache),
	}
}

// environment returns the options that codecs need.
func (o *Options) environment() *codec.Environment {
	return &codec.Environment{
		Registry: o.Codecs, Unaligned: o.Experimental.InnerChunks, Inner: o.Limits.innerChunks(), Chunk: o.Limits.chunk(),
		Order: o.Shards.Order, Strategy: o.Shards.Strategy, IndexCache: o.Shards.IndexCache,
		Adapt: o.AdaptCodecs,
	}
}

func (o *CreateOptions) orZero() CreateOptions {
	if o == nil {
		o = new(CreateOptions)
	}
	// Copy the options of the caller before setting Write.
	c := *o
	c.Write = true
	return c
}

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
	// read, and it can be checked, even with a CRC-32C behind it. Boxes can be written
	// to it if it is stored and the store can splice or patch ([store.OpSplice],
	// [store.OpPatch]).
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
