package zarr

import (
	"varve.dev/zarr/codec"
	"varve.dev/zarr/store"
)

// Options says how nodes are opened. A nil *Options means the zero Options, which reads.
// Nodes opened from a group have the group's options unless others are given.
type Options struct {
	// Write permits changes. Without it every change fails with [ErrReadOnly].
	Write bool
	// Codecs are the codecs that arrays may use; nil stands for [codec.Default].
	Codecs *codec.Registry
	// Limits bounds what a stranger's store may make this program do.
	Limits Limits
	// Concurrency is the most chunks in flight; 0 stands for twice the number of processors, at least 8.
	Concurrency int
	// Budget is the most bytes that one call has in flight, encoded and decoded, besides the caller's own slices. 0 stands for
	// the largest of 64 MiB and four times the number of processors times the largest chunk that is touched, within Go's memory limit.
	// A chunk that is larger than the budget is processed alone.
	Budget int64
	// StoreFill stores chunks that hold nothing but the fill value. Otherwise they are not stored, and deleted where they are.
	StoreFill bool
	// Durability says when writes survive a power cut; the zero value is [store.Sync]: when the call returns.
	Durability store.Durability
	// SingleWriter says that nobody else changes the node, which permits to grow it on a store that has neither locks nor
	// conditional writes.
	SingleWriter bool
	// Experimental permits what is proposed but not settled.
	Experimental Experimental
}

// Experimental permits to read and to write what is proposed for Zarr but not settled, and may never be: other programs
// may misread it. Without it such arrays are refused.
type Experimental struct {
	// EncodedShapes permits chunks that are stored longer than their edges, as those at the ends of concatenated files
	// ("encoded_chunk_shapes", zarr-extensions pull request 75; [grid.Cut.EncodedAs]).
	EncodedShapes bool
}

func (o *Options) orZero() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

func (o *Options) registry() *codec.Registry {
	if o.Codecs == nil {
		return codec.Default
	}
	return o.Codecs
}
