// SPDX-License-Identifier: Apache-2.0

// Package rewrite copies, moves and converts nodes.
//
// [Copy] and [Move] put arrays and groups elsewhere, within a store or in another one.
// They decode nothing: chunks, documents, attributes and consolidated metadata are copied
// as they are stored, in both formats. So nodes that Varve does not understand are
// copied, too, and files of other programs. A copy leaves out the chunks of former grids,
// which no document describes; a move takes them along. [Sync] makes an existing copy
// equal to its source again. [Convert] and [ConvertTo] change the format of nodes.
// Several processes may share the work of Sync and ConvertTo ([Share]).
//
// # Protocol
//
//  1. Read the documents of all nodes and keep a digest of each.
//  2. Prepare the destination: create the groups above it, make sure that it is empty,
//     and store a note that a copy has begun.
//  3. Copy everything but documents.
//  4. Read the documents again. If one has changed, chunks may belong to either version:
//     the copy fails with [zarr.ErrConflict].
//  5. Write the documents, those of inner nodes first and that of the copied node last.
//     The last one makes the copy visible.
//  6. Delete the note, and update the consolidated metadata of the groups above.
//
// A crash before step 5 is complete leaves values that readers do not see. It also leaves
// the note, which permits another copy to the same place to delete them. A copy is no
// snapshot of elements that are written meanwhile.
//
// If the source belongs to an unfinished transaction, the error wraps [zarr.ErrConflict]:
// its documents may not match, and the journal would not be copied. Chunks that an
// unfinished trim has set aside are copied, and the next writer of the copy moves them to
// their places. In a store that cannot be listed, both are found by their keys.
package rewrite

import (
	"context"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// Copy copies the node at src and everything below it to dst, except chunks that no
// document describes ([Report.Superseded]). If something is at dst and
// Options.Overwrite is not set, the error wraps [fs.ErrExist]. If one place is inside the
// other, it wraps [zarr.ErrInvalidArgument]. If there is no node at src, it wraps
// [fs.ErrNotExist]. The package comment describes what a failure leaves.
func Copy(ctx context.Context, src, dst *zarr.Location, opt *Options) (Report, error) {
	c, err := newCopier(ctx, src, dst, opt)
	if err == nil {
		err = opt.alone()
	}
	if err == nil {
		err = c.run(ctx)
	}
	if err != nil {
		return c.report, wrap("copy", src.Path(), err)
	}
	return c.report, nil
}

// Move copies a node as [Copy] does, with all of its chunks, and then removes the source.
//
// Nothing is copied if the source cannot be removed, or if its path contains a symbolic
// link. If the removal fails after the copy, the error wraps [zarr.ErrIncomplete], and
// the node is at both places.
//
// The removal locks all nodes of the source and compares them with the copied values. If
// anything was written since, the source stays, and the error wraps [zarr.ErrConflict] as
// well. A write between this comparison and the removal is lost if it takes no lock: in a
// store without locks, by a program that does not lock, or in an array beyond the first
// thousand of a group, whose locks are not held throughout.
func Move(ctx context.Context, src, dst *zarr.Location, opt *Options) (Report, error) {
	c, err := newCopier(ctx, src, dst, opt)
	// The removal deletes everything below the source. Somebody may still read chunks
	// that a rechunk has replaced, or go on with one that was interrupted.
	c.whole = true
	if err == nil {
		err = opt.alone()
	}
	if err == nil {
		err = direct(c.from, c.at, "the path")
	}
	if err == nil && !c.DryRun {
		// Record the versions of copied values, to detect later writes before the
		// removal.
		c.seen = new(versions)
		err = c.removable(ctx)
	}
	if err == nil {
		err = c.run(ctx)
	}
	if err == nil && !c.DryRun {
		if err = c.removeSource(ctx); err != nil {
			err = fmt.Errorf("%w: the node was copied, but the source was not removed: %w", zarr.ErrIncomplete, err)
		}
	}
	if err != nil {
		return c.report, wrap("move", src.Path(), err)
	}
	return c.report, nil
}

func newCopier(ctx context.Context, src, dst *zarr.Location, opt *Options) (*copier, error) {
	c := &copier{src: src, dst: dst, from: src.Store(), to: dst.Store()}
	if opt != nil {
		c.Options = *opt
	}
	var err error
	if c.at, err = store.ParsePath(src.Path()); err != nil {
		return c, err
	}
	if c.goal, err = store.ParsePath(dst.Path()); err != nil {
		return c, err
	}
	if c.Overwrite {
		// A link is another name of its target, which other programs may know by
		// its own name. Replace the target only if the caller names it directly.
		if err := direct(c.to, c.goal, "the destination"); err != nil {
			return c, err
		}
	}
	return c, c.checkApart(ctx)
}

// direct refuses a path that contains a symbolic link, and names the resolved path.
func direct(s store.Store, p store.Path, what string) error {
	plain, err := store.Resolve(s, p)
	if err == nil && plain != p {
		err = fmt.Errorf("%w: %s leads through a symbolic link; name %q, or remove the link", zarr.ErrInvalidArgument, what, "/"+plain.String())
	}
	return err
}

// run runs the protocol.
func (c *copier) run(ctx context.Context) error {
	if err := c.survey(ctx); err != nil {
		return err
	}
	if err := c.checkNodes(c.directories()); err != nil {
		return err
	}
	if c.DryRun {
		if err := c.checkPlace(ctx); err != nil {
			return err
		}
		return c.count(ctx)
	}
	// Step 2. A crash from here on leaves the note, and values that readers do not see.
	if err := c.prepare(ctx); err != nil {
		return err
	}
	if err := c.copyValues(ctx); err != nil {
		return err
	}
	// Steps 4 to 6. The last document makes the copy visible.
	if err := c.publish(ctx); err != nil {
		return err
	}
	return updateAbove(ctx, c.dst, c.Options.Options)
}

// removable checks, before anything is copied, that the source can be removed and that
// the copy will be durable.
func (c *copier) removable(ctx context.Context) error {
	if _, ok := store.Driver(c.to).(*zipstore.Archive); ok {
		// Until Close, the copy exists only in memory or in an incomplete file. A
		// crash would lose both nodes.
		return fmt.Errorf("%w: an archive is complete only once it is closed; copy to it, close it, and then delete the source", zarr.ErrUnsupported)
	}
	// A probe: deleting a note that does not exist shows whether the source is
	// writable.
	if err := store.Delete(ctx, c.from, c.at.MustKey(noteName)); err != nil {
		return fmt.Errorf("the source cannot be changed: %w", err)
	}
	if err := store.CheckTree(c.from, c.at); err != nil {
		return fmt.Errorf("the source cannot be removed: %w", err)
	}
	return publish.CheckRemovable(ctx, publish.Node{Store: c.from, Path: c.at, SingleWriter: c.SingleWriter, Locking: c.Locking})
}

// removeSource removes the source if it has not changed since it was copied.
func (c *copier) removeSource(ctx context.Context) error {
	return c.src.DeleteIf(ctx, c.writing(), c.checkUnchanged)
}
