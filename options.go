package zarr

import (
	"cmp"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/rehearsal"
)

// Options says how nodes are opened. A nil *Options means the zero Options, which reads.
// Nodes opened from a group have the group's options unless others are given.
type Options struct {
	// Write permits changes. Without it every change fails with [ErrReadOnly].
	Write bool
	// Finish lets arrays that are opened for reading finish what a writer that died has
	// left, where the store can be written to and has locks, of which one that is free
	// tells that the writer is dead: chunks that were cut and not yet moved to their
	// places, which Varve reads and other programs do not decode until then, and changes
	// of several arrays. It waits for nobody, and where it cannot, nothing is said: the
	// next writer does it. Opening for writing does so in any case.
	Finish bool
	// Codecs are the codecs that arrays may use; nil stands for [codec.Default].
	Codecs *codec.Registry
	// Limits bounds what a stranger's store may make this program do.
	Limits Limits
	// Concurrency is how many requests one call has under way to a store that is far
	// away, decoding not counted, and how many chunks it has in flight where a store is
	// near, as files are; members of a group are opened as many at a time. 0 stands for
	// twice the number of processors, at least 8, and at least 32 where the store is far.
	// So many requests hide that each of them takes its time; more are of use where that
	// is longer than 50 ms or chunks are small.
	Concurrency int
	// Budget is the most bytes that one call has in flight, encoded and decoded, besides
	// the caller's own slices. 0 stands for the largest of 64 MiB and four times the
	// number of processors times the largest chunk that is touched, but no more than a
	// sixteenth of the memory that the process may use, or 256 MiB where that is less.
	// While a chunk is on its way it counts with the bytes that it has stored, as far as
	// others of the array tell, so that a budget of a few chunks is enough to have many
	// in flight; it counts with its elements while it is decoded. Chunks and inner chunks
	// that take more than three quarters of the budget are decoded all the same, as many
	// of one shard at a time as there are processors. Text counts with the bytes that it
	// turns out to have: a chunk of text that takes more than half of the budget is
	// decoded alone.
	Budget int64
	// StoreFill stores chunks that hold nothing but the fill value. Otherwise they are
	// not stored, and deleted where they are. Where the fill value is null, as format 2
	// allows, every chunk that is written is stored: null promises readers nothing of a
	// chunk that is missing.
	StoreFill bool
	// RequireChunks makes it an error, which wraps [fs.ErrNotExist], to read a chunk that
	// is not stored: it is never taken for the fill value. It is for arrays whose chunks
	// are all stored ([Options].StoreFill), so that a lost one shows. An inner chunk that
	// its shard does not store is the fill value all the same.
	RequireChunks bool
	// Durability says when writes survive a power cut; the zero value is [store.Sync]:
	// when the call returns.
	Durability store.Durability
	// SingleWriter says that nobody else changes the node, which permits to grow it on a
	// store that has neither locks nor conditional writes.
	SingleWriter bool
	// Locking says how long locks of other writers are waited for, and who is told of
	// that. The zero value waits for as long as it takes; one that is given up is
	// [ErrLocked].
	Locking store.Locking
	// SharedWriters asks that parts of one chunk which several programs write at a time
	// all survive. A store that cannot compare versions refuses it with
	// [ErrUnsafeConcurrentWrite]; without it the last writer of a chunk wins there.
	SharedWriters bool
	// Shards says how shards are read and written.
	Shards Shards
	// Observer is told of every request to the store, and of every chunk that is decoded
	// or encoded; nil is nobody. See package observe.
	Observer observe.Observer
	// Rehearsal makes every change a dry run: all is done as it would be, errors
	// included, but what is written goes to the ledger, and the store stays as it is. Nil
	// changes the store.
	//
	// A dry run reads no values that it does not need. A stored chunk of 1 MiB or more,
	// decoded, of which a write changes a part is not read: that it is written again is
	// noted, with the bytes that it has ([rehearsal.Ledger.Unread] counts these chunks).
	// So a dry run does not find out that such a chunk is damaged, or that it becomes
	// nothing but fill value and would be deleted, and a later step that reads its
	// elements fails. Of a shard, and of a chunk that is too long to be held, only what
	// is changed is read, in a store that puts values together from their older versions.
	Rehearsal *rehearsal.Ledger
	// Experimental permits what is proposed but not settled.
	Experimental Experimental
}

// Experimental permits to read and to write what is proposed for Zarr but not settled,
// and may never be: other programs may misread it. Without it such arrays are refused.
type Experimental struct {
	// EncodedShapes permits chunks that are stored longer than their edges, as those at
	// the ends of concatenated files ("encoded_chunk_shapes", zarr-extensions pull
	// request 75; [grid.Cut.EncodedAs]).
	EncodedShapes bool
	// InnerChunks permits inner chunks that do not divide their shard, the last of which
	// then end where it does (zarr-specs pull request 370), and rectilinear grids of
	// inner chunks in shards of one shape, a proposal of ours.
	InnerChunks bool
}

// Shards says how arrays are read and written whose chunks are shards. It is a choice of
// the program: nothing of it is stored.
type Shards struct {
	// Gap and Span say when ranges of one shard, or of one chunk that is not encoded, are
	// read as one: where at most Gap bytes lie between them, or 16 KiB in such a chunk,
	// and as long as they have at most Span bytes together. Gap 0 stands for what a
	// request costs: about 4 MiB could come while it is answered, shared by all that are
	// under way, so 4 MiB divided by the Concurrency, from 64 KiB to 1 MiB; and for 16
	// KiB in a store whose values are opened at next to no cost, as files are. A Gap
	// below 0 puts only neighbours together. Span 0 stands for 16 MiB. A shard whose
	// index is not known is read whole if it has at most 1 MiB, 16 KiB in a near store,
	// and no more than a Gap that is not 0.
	Gap, Span int64
	// Order is that of the inner chunks in shards that are written; the zero value is
	// [codec.Morton].
	Order codec.Order
	// Strategy says how a stored shard is changed; the zero value is [codec.Rewrite].
	Strategy codec.Strategy
	// IndexCache is the most bytes of indexes that an array keeps for later reads; 0
	// stands for 16 MiB, below 0 keeps none.
	IndexCache int64
}

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
	if o.Locking.Waiting == nil {
		o.Locking.Waiting = base.Locking.Waiting
	}
	o.SharedWriters = o.SharedWriters || base.SharedWriters
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

// environment is what codecs have to know of the options.
func (o *Options) environment() *codec.Environment {
	return &codec.Environment{
		Registry: o.Codecs, Unaligned: o.Experimental.InnerChunks, Inner: o.Limits.innerChunks(), Chunk: o.Limits.chunk(),
		Order: o.Shards.Order, Strategy: o.Shards.Strategy, IndexCache: o.Shards.IndexCache,
	}
}
