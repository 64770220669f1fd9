// Package rewrite makes nodes anew from nodes that there are.
//
// [Copy] and [Move] put arrays and groups elsewhere, within a store or from one to
// another. Nothing is decoded: chunks, documents, attributes and consolidated metadata
// are copied as they are stored, in format 3 and in format 2, so that nodes which this
// program does not understand are copied as well.
//
// # Protocol
//
//  1. The documents of all nodes are read, and a summary of each is kept.
//  2. The place is made ready: the groups above it are there, and nothing else is at it. A note says that a copy was begun.
//  3. All else is copied.
//  4. The documents are read again. Where one is another now, chunks may be of both times: the copy fails with [zarr.ErrConflict].
//  5. The documents are written, those of inner nodes first and that of the copied node last: it is the moment from which on it is there.
//  6. The note goes, and the consolidated metadata of the groups above is brought up to date.
//
// A death before step 5 is through leaves nothing that readers see, and the note, by
// which another copy to the same place knows that it may remove what is left. A copy is
// no snapshot of elements that are written meanwhile.
//
// A source that is part of an unfinished change of several nodes wraps
// [zarr.ErrConflict]: its documents do not go together, and the journal stays behind.
// Chunks that an unfinished trim has put aside are copied, and moved to their places by
// the next writer of the copy. Both are found by their keys where the store cannot be
// listed.
package rewrite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// Options say how nodes are copied. A nil *Options means the zero Options.
type Options struct {
	// Options are those with which nodes are opened where a store has to be asked for its
	// chunks one by one, with limits, codecs and durability. Write is not needed.
	zarr.Options
	// Overwrite removes a node that is at the destination first. It is not one step: a
	// crash in between leaves nothing there. A destination behind a symbolic link in its
	// store wraps [zarr.ErrInvalidArgument] then.
	Overwrite bool
	// DryRun changes nothing, and counts what would be copied.
	DryRun bool
	// FillAll permits a conversion to format 2 to store any number of chunks that the
	// source does not store. Without it more than [MostFilled] of them, or
	// [MostFilledBytes], wrap [ErrManyMissing], and nothing is changed.
	FillAll bool
	// Progress is called by [Convert] once it begins to change something, and whenever
	// one more of its steps is done: a missing chunk that is stored, documents that are
	// written, looked at again or removed. It may be called from several goroutines at
	// once.
	Progress func(done, total int64)
}

// Report counts what was copied, or would be.
type Report struct {
	Arrays, Groups int   // nodes; those with a document that tells neither are counted in neither
	Values         int64 // stored values, as chunks, besides documents
	Bytes          int64 // of values and documents
	// Reserved counts the nodes of format 3 whose names begin with "__", which that
	// format reserves. They keep their names, since zarr-python reads and writes them.
	Reserved int
	// Lost counts the symbolic links below the source that lead out of its store or to
	// nothing. The copy is without them.
	Lost int
}

// Copy copies the node at src, with everything below it, to dst, where nothing may be
// unless Options.Overwrite is set: that wraps [fs.ErrExist]. A place within the other is
// an error that wraps [zarr.ErrInvalidArgument], a source without a node
// [fs.ErrNotExist]. See the package's protocol for what a failure leaves.
func Copy(ctx context.Context, src, dst *zarr.Location, opt *Options) (Report, error) {
	c, err := newCopier(ctx, src, dst, opt)
	if err == nil {
		err = c.run(ctx)
	}
	if err != nil {
		return c.report, wrap("copy", src.Path(), err)
	}
	return c.report, nil
}

// Move is [Copy], and then removes the source. Where the source cannot be changed nothing
// is copied, nor where its path leads through a symbolic link, or one below it leads to
// what the copy would not have. A failure after the copy wraps [zarr.ErrIncomplete]: the
// node is at both places then.
//
// The locks of all nodes at the source are held while it is removed, and it is looked at
// once more before: where anything was written since it was copied, the source stays, and
// the error wraps [zarr.ErrConflict], too. What is written between this look and the
// removal by a program that takes no locks is lost. So it is in a store without locks,
// and in arrays beyond the first thousand of a group, whose locks are not held all the
// time.
func Move(ctx context.Context, src, dst *zarr.Location, opt *Options) (Report, error) {
	c, err := newCopier(ctx, src, dst, opt)
	if err == nil {
		err = c.movable()
	}
	if err == nil && !c.DryRun {
		c.seen = new(versions)
		err = c.removable(ctx)
	}
	if err == nil {
		err = c.run(ctx)
	}
	if err == nil && !c.DryRun {
		if err = c.removeSource(ctx); err != nil {
			err = fmt.Errorf("%w: the node was copied, but not removed where it was: %w", zarr.ErrIncomplete, err)
		}
	}
	if err != nil {
		return c.report, wrap("move", src.Path(), err)
	}
	return c.report, nil
}

// wrap returns err as one of package zarr.
func wrap(op, path string, err error) error {
	var e *zarr.Error
	if errors.As(err, &e) {
		return err
	}
	return &zarr.Error{Op: op, Path: path, Axis: -1, Err: err}
}

// copier is one copy.
type copier struct {
	Options
	src, dst *zarr.Location
	from, to store.Store
	at, goal store.Path // of the node in from and in to

	above []store.Identity // of the destination and what it is in, as far as that is known
	lost  string           // one of the links that Report.Lost counts
	seen  *versions        // of the values that were copied; nil where they stay

	documents []document // those that are written first come first
	old       bool       // the node is of format 2
	report    Report
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
		// What a link leads to has another name, by which others know it: it is replaced
		// by that only.
		if err := direct(c.to, c.goal, "the destination"); err != nil {
			return c, err
		}
	}
	return c, c.checkApart(ctx)
}

// direct refuses a path with a symbolic link on its way, and says where it leads.
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
	if err := c.prepare(ctx); err != nil {
		return err
	}
	if err := c.copyValues(ctx); err != nil {
		return err
	}
	if err := c.publish(ctx); err != nil {
		return err
	}
	if err := c.dst.UpdateConsolidated(ctx, c.writing()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the consolidated metadata of the groups above is not up to date: %w", zarr.ErrIncomplete, err)
	}
	return nil
}

// writing returns the options of what is changed.
func (c *copier) writing() *zarr.Options {
	o := c.Options.Options
	o.Write = true
	return &o
}

// removable sees that the source can be changed, and that the copy stays, before anything
// is copied.
func (c *copier) removable(ctx context.Context) error {
	if _, ok := store.Driver(c.to).(*zipstore.Archive); ok {
		return fmt.Errorf("%w: an archive is there only once it is closed; copy to it, close it, and delete the source then", zarr.ErrUnsupported)
	}
	if err := store.Delete(ctx, c.from, c.at.Key(noteName)); err != nil {
		return fmt.Errorf("the source cannot be changed: %w", err)
	}
	if err := store.CheckTree(c.from, c.at); err != nil {
		return fmt.Errorf("the source cannot be removed: %w", err)
	}
	return publish.Removable(ctx, publish.Node{Store: c.from, Path: c.at, SingleWriter: c.SingleWriter, Locking: c.Locking})
}

// movable sees that all of the source would be at the destination, and that the source
// has no other name.
func (c *copier) movable() error {
	err := direct(c.from, c.at, "the path")
	switch {
	case err != nil:
		return err
	case c.report.Lost > 0:
		return fmt.Errorf("%w: %s is a symbolic link that leads out of the store or to nothing, and the copy would not have it; "+
			"remove the link, or copy without removing the source", zarr.ErrInvalidArgument, c.lost)
	}
	return nil
}

// removeSource removes the source, if it is still what was copied.
func (c *copier) removeSource(ctx context.Context) error {
	return c.src.DeleteIf(ctx, c.writing(), c.checkUnchanged)
}
