// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

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
	// that a rechunk has replaced, or continue one that was interrupted.
	c.whole = true
	if err == nil {
		err = c.pair.Source.CheckDirect("the path")
	}
	if err == nil && !c.pair.DryRun {
		// Record the versions of copied values, to detect later writes before the
		// removal.
		c.versions = new(versions)
		err = c.removable(ctx)
	}
	if err == nil {
		err = c.run(ctx)
	}
	if err == nil && !c.pair.DryRun {
		// The source goes only if it has not changed since it was copied.
		if err = src.Delete(publish.WithCheck(ctx, c.checkUnchanged), c.pair.Writing()); err != nil {
			err = fmt.Errorf("%w: the node was copied, but the source was not removed: %w", zarr.ErrIncomplete, err)
		}
	}
	return c.result("move", err)
}

// removable checks, before anything is copied, that the source can be removed and that
// the copy will be durable.
func (c *copier) removable(ctx context.Context) error {
	if archive.IsNew(c.pair.Target.Store) {
		// Until Close, the copy exists only in memory or in an incomplete file. A
		// crash would lose both nodes.
		return fmt.Errorf("%w: an archive is complete only once it is closed; copy to it, close it, and then delete the source", zarr.ErrUnsupported)
	}
	// A probe: deleting a note that does not exist shows whether the source is
	// writable.
	if _, err := store.Write(ctx, c.pair.Source.Store, store.Delete(c.pair.Source.Path.MustKey(copying.NoteName)), store.Sync); err != nil {
		return fmt.Errorf("the source cannot be changed: %w", err)
	}
	if err := store.DirectoriesOf(c.pair.Source.Store).CheckTree(c.pair.Source.Path); err != nil {
		return fmt.Errorf("the source cannot be removed: %w", err)
	}
	return publish.CheckRemovable(ctx, publish.Node{Store: c.pair.Source.Store, Path: c.pair.Source.Path, SingleWriter: c.pair.SingleWriter, Locking: c.pair.Locking})
}

// checkUnchanged checks that no value of the source has changed since it was copied. The
// caller holds the locks of all its nodes.
func (c *copier) checkUnchanged(ctx context.Context) error {
	now := &copier{pair: &copying.Copy{Options: c.pair.Options, Source: c.pair.Source}, versions: new(versions), whole: true}
	// Read documents and versions again, now that the locks keep writers out.
	if err := now.survey(ctx); err != nil {
		return err
	}
	err := now.each(ctx, func(ctx context.Context, rel string) (int64, error) {
		info, err := store.Stat(ctx, c.pair.Source.Store, c.pair.Source.Path.MustKey(rel))
		if err == nil {
			now.versions.add(rel, info)
		}
		return info.Size, err
	})
	if err != nil {
		return err
	}
	// A difference means that something was written before the removal took its locks, or
	// without a lock.
	if !slices.Equal(now.documents, c.documents) || now.versions.sum != c.versions.sum {
		return fmt.Errorf("%w: it was changed while it was copied, and the copy may lack the change; the source stays; remove the copy and move it again", zarr.ErrConflict)
	}
	return nil
}

// copyValue copies one value.
func (c *copier) copyValue(ctx context.Context, v *copying.Values, rel string) (int64, error) {
	from, to := c.pair.Source.Path.MustKey(rel), c.pair.Target.Path.MustKey(rel)
	if c.versions == nil {
		return v.Copy(ctx, to, from)
	}
	// Take the version before reading. checkUnchanged then detects a later write.
	info, err := store.Stat(ctx, c.pair.Source.Store, from)
	if err != nil {
		return 0, err
	}
	n, err := v.Copy(ctx, to, from)
	if err == nil {
		c.versions.add(rel, info)
	}
	return n, err
}

// versions accumulates names and versions of values as a sum of digests. The sum does not
// depend on the order, and takes the same memory for millions of values.
type versions struct {
	mu  sync.Mutex
	sum [sha256.Size / 8]uint64
}

func (v *versions) add(name string, info store.Info) {
	text := fmt.Appendf(nil, "%q %d %q", name, info.Size, info.Version.String())
	digest := sha256.Sum256(text)
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.sum {
		v.sum[i] += binary.LittleEndian.Uint64(digest[8*i:])
	}
}
