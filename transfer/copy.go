// SPDX-License-Identifier: Apache-2.0

// Package transfer copies, moves and mirrors nodes without decoding them.
//
// [Copy] and [Move] put arrays and groups elsewhere, within a store or in another one.
// They copy chunks, documents, attributes and consolidated metadata as they are stored,
// in both formats. So nodes that Varve does not understand are copied, too, and files
// of other programs. A copy leaves out the chunks of former grids, which no document
// describes; a move takes them along. [Sync] makes an existing copy equal to its source
// again. Several processes may share its work ([Share]). Package convert changes the
// format of nodes.
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
package transfer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// Options configure [Copy] and [Move]. A nil *Options means the zero Options.
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

// String says in one line how many nodes and values there are.
func (r Report) String() string {
	return quantity.Of(int64(r.Arrays), "array") + ", " + quantity.Of(int64(r.Groups), "group") + ", " +
		quantity.Of(r.Values, "value") + ", " + quantity.Bytes(r.Bytes)
}

// Copy copies the node at src and everything below it to dst, except chunks that no
// document describes ([Report.Superseded]). If something is at dst and
// Options.Overwrite is not set, the error wraps [fs.ErrExist]. If one place is inside the
// other, it wraps [zarr.ErrInvalidArgument]. If there is no node at src, it wraps
// [fs.ErrNotExist]. The package comment describes what a failure leaves.
func Copy(ctx context.Context, src, dst *zarr.Location, opt *Options) (Report, error) {
	c, err := newCopier(ctx, src, dst, opt)
	if err == nil {
		err = c.run(ctx)
	}
	return c.result("copy", err)
}

// copier is one run of Copy or Move.
type copier struct {
	pair      *copying.Copy
	versions  *versions  // of the copied values; nil unless the source is to be removed
	documents []document // in the order in which they are written
	layouts   layouts    // of the arrays, by their directories
	whole     bool       // copy superseded chunks, too, because the source is removed
	report    Report
}

func newCopier(ctx context.Context, src, dst *zarr.Location, opt *Options) (*copier, error) {
	if opt == nil {
		opt = new(Options)
	}
	c, err := copying.New(ctx, src, dst, copying.Options(*opt))
	return &copier{pair: c}, err
}

// result returns the report, and an error with operation and node.
func (c *copier) result(op string, err error) (Report, error) {
	c.report.Restarted = c.pair.Restarted
	if err != nil {
		err = copying.Wrap(op, c.pair.Source.Location.Path(), err)
	}
	return c.report, err
}

// run runs the protocol.
func (c *copier) run(ctx context.Context) error {
	if err := c.survey(ctx); err != nil {
		return err
	}
	if err := c.pair.CheckNodes(c.directories()); err != nil {
		return err
	}
	if c.pair.DryRun {
		if err := c.pair.CheckPlace(ctx); err != nil {
			return err
		}
		return c.count(ctx)
	}
	// Step 2. A crash from here on leaves the note, and values that readers do not see.
	if err := c.pair.Prepare(ctx); err != nil {
		return err
	}
	if archive.IsNew(c.pair.Target.Store) {
		if err := c.fillArchive(ctx); err != nil {
			return err
		}
	} else {
		if err := c.copyValues(ctx); err != nil {
			return err
		}
		// Steps 4 to 6. The last document makes the copy visible.
		if err := c.publish(ctx); err != nil {
			return err
		}
	}
	return copying.UpdateAbove(ctx, c.pair.Target.Location, c.pair.Options.Options)
}

// each calls do concurrently for every value other than documents and superseded chunks.
// It counts the values that exist and the bytes that do returns.
func (c *copier) each(ctx context.Context, do func(ctx context.Context, rel string) (int64, error)) error {
	g, ctx := parallel.New(ctx)
	values := make(chan string)
	var mu sync.Mutex
	for range copying.Workers(&c.pair.Options.Options) {
		g.Go(func() error {
			for rel := range values {
				n, err := do(ctx, rel)
				if errors.Is(err, fs.ErrNotExist) {
					continue // a concurrent writer deleted it, or the chunk is not stored
				}
				if err != nil {
					return err
				}
				mu.Lock()
				c.report.Values++
				c.report.Bytes += n
				mu.Unlock()
			}
			return nil
		})
	}
	var listed error
	for rel, err := range c.names(ctx) {
		if err != nil {
			listed = err
			break
		}
		if !copying.IsData(rel) {
			continue
		}
		if !c.whole && c.layouts.superseded(rel) {
			c.report.Superseded++
			continue
		}
		select {
		case values <- rel:
			continue
		case <-ctx.Done(): // after a failed call, begin no further ones
		}
		break
	}
	close(values)
	return g.Wait(listed)
}

// copyValues runs step 3.
func (c *copier) copyValues(ctx context.Context) error {
	v := c.pair.NewValues()
	return v.End(ctx, c.each(ctx, func(ctx context.Context, rel string) (int64, error) {
		return c.copyValue(ctx, v, rel)
	}))
}

// count counts the values that would be copied, and their bytes.
func (c *copier) count(ctx context.Context) error {
	return c.each(ctx, func(ctx context.Context, rel string) (int64, error) {
		info, err := store.Stat(ctx, c.pair.Source.Store, c.pair.Source.Path.MustKey(rel))
		return info.Size, err
	})
}

// publish runs steps 4 and 5 and deletes the note. It compares every document twice:
// all of them before it writes the first, and each one again before it writes that.
func (c *copier) publish(ctx context.Context) error {
	if err := c.compareDocuments(ctx); err != nil {
		return err
	}
	for i, d := range c.documents {
		raw, err := c.sameDocument(ctx, d)
		if err != nil {
			return err
		}
		if err := c.pair.PutDocument(ctx, c.pair.Target.Path.MustKey(d.rel), raw, i == len(c.documents)-1); err != nil {
			return err
		}
	}
	return c.pair.DeleteNote(ctx)
}

// fillArchive is copyValues and publish for a new archive. Nobody sees that before it is
// closed, so the documents come first: a reader that streams the file knows the hierarchy
// before its chunks. If the copy fails, they are taken back, and there is no node.
func (c *copier) fillArchive(ctx context.Context) (err error) {
	defer func() {
		if err == nil {
			return
		}
		for _, d := range c.documents {
			key := c.pair.Target.Path.MustKey(d.rel)
			_, failed := store.Write(context.WithoutCancel(ctx), c.pair.Target.Store, store.Delete(key), c.pair.Durability)
			err = errors.Join(err, failed)
		}
	}()
	for _, d := range slices.Backward(c.documents) { // those of upper nodes first
		raw, err := c.sameDocument(ctx, d)
		if err != nil {
			return err
		}
		if err := c.pair.PutDocument(ctx, c.pair.Target.Path.MustKey(d.rel), raw, false); err != nil {
			return err
		}
	}
	if err := c.copyValues(ctx); err != nil {
		return err
	}
	if err := c.compareDocuments(ctx); err != nil {
		return err
	}
	return c.pair.DeleteNote(ctx)
}

// compareDocuments returns an error if a document was changed since the survey.
func (c *copier) compareDocuments(ctx context.Context) error {
	for _, d := range c.documents {
		if _, err := c.sameDocument(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// sameDocument reads a document of the source. If a concurrent writer changed it, the
// copied chunks may belong to either version, which is an error.
func (c *copier) sameDocument(ctx context.Context, d document) ([]byte, error) {
	raw, err := c.readDocument(ctx, d.rel)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil || sha256.Sum256(raw) != d.digest {
		return nil, fmt.Errorf("%w: %s was changed while it was copied; copy it again", zarr.ErrSourceChanged, c.pair.Source.Path.MustKey(d.rel))
	}
	return raw, nil
}
