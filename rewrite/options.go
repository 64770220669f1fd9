// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"fmt"

	"varve.dev/zarr"
)

// Options configure [Copy], [Move], [Convert] and [ConvertTo]. A nil *Options means the
// zero Options.
type Options struct {
	// Options open the nodes whose chunks cannot be listed, with limits, codecs and
	// durability. Write is not needed.
	zarr.Options
	// Overwrite first removes a node at the destination. That is not atomic: a crash
	// before the copy is complete leaves no node there. If a symbolic link in its store
	// leads to the destination, the error wraps [zarr.ErrInvalidArgument].
	Overwrite bool
	// DryRun changes nothing and counts what would be copied.
	DryRun bool
	// FillAll permits a conversion to format 2 to store any number of chunks that the
	// source does not store. Without it, more than [MostFilled] of them, or
	// [MostFilledBytes], are an error that wraps [ErrManyMissing], and nothing is
	// changed.
	FillAll bool
	// Resume lets [ConvertTo] go on with what another call with Resume, or parts, have
	// left. Without it, what an unfinished conversion has left is deleted first.
	// Overwrite cannot be combined with it, nor with Share.
	Resume bool
	// Share, unless nil, makes [ConvertTo] store the values of one part, and publish
	// nothing; ConvertTo says how.
	Share *Share
	// Progress is called by [Convert] when the changes begin and after each step: a
	// stored missing chunk, or documents that are written, checked or removed. It may
	// be called concurrently.
	Progress func(done, total int64)
}

// alone refuses what only [ConvertTo] can do.
func (o *Options) alone() error {
	if o != nil && (o.Resume || o.Share != nil) {
		return fmt.Errorf("%w: only Sync and ConvertTo work in parts or go on", zarr.ErrInvalidArgument)
	}
	return nil
}

// resumable refuses options that do not go together.
func (o *Options) resumable() error {
	if o == nil {
		return nil
	}
	if (o.Resume || o.Share != nil) && o.Overwrite {
		return fmt.Errorf("%w: a conversion in parts, or one that goes on, cannot overwrite; delete the node at the destination first", zarr.ErrInvalidArgument)
	}
	return o.Share.check()
}

// Report counts the nodes and values that were copied or, in a dry run, would be copied.
type Report struct {
	Arrays, Groups int   // nodes; excludes those whose document does not name the kind
	Values         int64 // stored values other than documents, such as chunks
	Bytes          int64 // of values and documents
	// Superseded counts the chunks that [Copy] leaves out: those that the document of
	// their array does not describe. Readers do not look them up.
	Superseded int64
	// Reserved counts the nodes of format 3 whose names begin with "__", which that
	// format reserves. They keep their names, because zarr-python reads and writes
	// such names.
	Reserved int
	// Restarted is set if the destination had leftovers of an unfinished copy, which were
	// deleted first.
	Restarted bool
}
