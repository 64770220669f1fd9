// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"fmt"
	"path"
	"time"

	"varve.dev/zarr"
)

// SyncOptions configure [Sync]. A nil *SyncOptions means the zero SyncOptions.
type SyncOptions struct {
	// Options have limits, durability and the number of requests in flight. A Budget
	// above 256 MiB bounds the bytes of values that are in memory at once; less is taken
	// for that. Write is not needed.
	zarr.Options
	// Checksum compares the bytes of values of the same size, and reads both stores for
	// that. Without it, times are compared.
	Checksum bool
	// NewerThan, unless zero, is the time before which values in src are taken for equal
	// to those of the same size in dst. Values that dst does not have are copied at any
	// age, because a missing chunk would be read as the fill value.
	NewerThan time.Time
	// Nodes, unless "", is a pattern of [path.Match] for paths below src, such as "t2m"
	// or "*/time". Only nodes that match are synced, with everything below them. Groups
	// above them that dst does not have are made with their attributes, and without
	// consolidated metadata. It cannot be combined with Delete.
	Nodes string
	// Delete deletes, at the end, the nodes below dst that src does not have, and chunks
	// that the documents do not describe. Files that belong to no array stay. Without it,
	// a node that is an array in src and a group in dst, or the other way round, is an
	// error that wraps [io/fs.ErrExist].
	Delete bool
	// Verify reads all values of both nodes at the end, and compares their bytes. If some
	// differ, the error names the first one that was found, and wraps [zarr.ErrConflict]:
	// it may have been changed meanwhile.
	Verify bool
	// DryRun changes nothing, and counts what would be changed.
	DryRun bool
	// Share, unless nil, copies the values of one part, and publishes nothing; [Sync]
	// says how. Delete has no effect then, and Verify compares the values of the part.
	Share *Share
}

func (o *SyncOptions) check() error {
	if err := o.Share.check(); err != nil || o.Nodes == "" {
		return err
	}
	if _, err := path.Match(o.Nodes, ""); err != nil {
		return fmt.Errorf("%w: %q is no pattern of paths (%w)", zarr.ErrInvalidArgument, o.Nodes, err)
	}
	if o.Delete {
		return fmt.Errorf("%w: nodes that do not match the pattern would be deleted; sync all of them, or do not delete", zarr.ErrInvalidArgument)
	}
	return nil
}

// SyncReport counts what [Sync] found and did or, in a dry run, would do.
type SyncReport struct {
	Arrays, Groups int   // nodes of src
	Documents      int64 // written

	Kept, KeptBytes int64 // values that were not copied
	New             int64 // copied values that dst did not have
	Replaced        int64 // copied values that dst had
	// Again counts those of the replaced values that had the same size and were written
	// less than [SyncSlack] after those in src: the times do not tell whether they are
	// equal. Between folders there are none, because their bytes are compared.
	Again int64
	Bytes int64 // of copied values
	// Cleared counts chunks that dst had and src does not store: they are fill values.
	Cleared int64
	// Dropped counts chunks that no document describes and documents of former formats
	// that were deleted. Left counts those that stay without SyncOptions.Delete.
	Dropped, Left int64
	// DroppedNodes are the paths of nodes of dst that were deleted or, without
	// SyncOptions.Delete, stay, and ReplacedNodes those of arrays that were removed and
	// copied anew. The nodes below them are not listed.
	DroppedNodes, ReplacedNodes []string

	Other         int64 // values in src that no document describes, which are not copied
	Verified      int64 // values that were compared at the end
	VerifiedBytes int64
}

// add adds the report on a node below.
func (r *SyncReport) add(name string, o SyncReport) {
	for _, n := range []struct {
		to   *int64
		more int64
	}{
		{&r.Documents, o.Documents}, {&r.Kept, o.Kept}, {&r.KeptBytes, o.KeptBytes}, {&r.New, o.New}, {&r.Replaced, o.Replaced}, {&r.Again, o.Again}, {&r.Bytes, o.Bytes},
		{&r.Cleared, o.Cleared}, {&r.Dropped, o.Dropped}, {&r.Left, o.Left}, {&r.Other, o.Other},
		{&r.Verified, o.Verified}, {&r.VerifiedBytes, o.VerifiedBytes},
	} {
		*n.to += n.more
	}
	r.Arrays, r.Groups = r.Arrays+o.Arrays, r.Groups+o.Groups
	for _, at := range o.DroppedNodes {
		r.DroppedNodes = append(r.DroppedNodes, path.Join(name, at))
	}
	for _, at := range o.ReplacedNodes {
		r.ReplacedNodes = append(r.ReplacedNodes, path.Join(name, at))
	}
}
