// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
)

// wrap returns err as a [*zarr.Error].
func wrap(op, path string, err error) error {
	var e *zarr.Error
	if errors.As(err, &e) {
		return err
	}
	return &zarr.Error{Op: op, Path: path, Axis: -1, Err: err}
}

// writing returns the options for changes.
func (c *copier) writing() *zarr.Options {
	o := c.Options.Options
	o.Write = true
	return &o
}

// updateAbove updates the consolidated metadata of the groups above a node. The node is
// visible already, so a failure here does not undo that.
func updateAbove(ctx context.Context, at *zarr.Location, o zarr.Options) error {
	o.Write = true
	if err := at.UpdateConsolidated(ctx, &o); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the consolidated metadata of the groups above is not up to date: %w", zarr.ErrIncomplete, err)
	}
	return nil
}

// copier is one copy.
type copier struct {
	Options
	src, dst *zarr.Location
	from, to store.Store
	at, goal store.Path // of the node in from and in to

	above []store.Identity // identities of the destination and the directories above it, if known
	seen  *versions        // of the copied values; nil unless the source is to be removed

	spelled spellings // of names at the destination

	documents []document // in the order in which they are written
	layouts   layouts    // of the arrays, by their directories
	whole     bool       // copy superseded chunks, too, because the source is removed
	old       bool       // the node is of format 2
	report    Report

	derivation Derivation // of [Derive]
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

// workers returns the number of values that are copied concurrently.
func (c *copier) workers() int { return workers(&c.Options) }

func workers(o *Options) int {
	if o.Concurrency > 0 {
		return o.Concurrency
	}
	return max(8, 2*runtime.GOMAXPROCS(0))
}

// each calls do concurrently for every value other than documents and superseded chunks.
// It counts the values that exist and the bytes that do returns.
func (c *copier) each(ctx context.Context, do func(ctx context.Context, rel string) (int64, error)) error {
	g, ctx := parallel.New(ctx)
	g.SetLimit(c.workers())
	var mu sync.Mutex
	var listed error
	for rel, err := range c.names(ctx) {
		if err != nil {
			listed = err
			break
		}
		if !isData(rel) {
			continue
		}
		if !c.whole && c.layouts.superseded(rel) {
			c.report.Superseded++
			continue
		}
		g.Go(func() error {
			n, err := do(ctx, rel)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a concurrent writer deleted it, or the chunk is not stored
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			c.report.Values++
			c.report.Bytes += n
			return nil
		})
		// After a failed call, begin no further ones.
		if ctx.Err() != nil {
			break
		}
	}
	return g.Wait(listed)
}
