// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// CompactOptions are the options of [Array.CompactShards]. A nil *CompactOptions is the
// zero value.
type CompactOptions struct {
	// DryRun writes nothing, and returns the same report. The array need not be opened
	// for writing.
	DryRun bool
	// Progress, if not nil, is called for each stored shard, one call at a time.
	Progress func(shard []int64)
}

// CompactReport counts what [Array.CompactShards] has done.
type CompactReport struct {
	Shards  int64 // stored shards that are not damaged
	Changed int64 // of these, the shards that were rewritten
	Before  int64 // bytes of all these shards before the call
	After   int64 // bytes of all these shards after it
}

// CompactShards rewrites stored shards so that their inner chunks follow each other in
// the order of [Options.Shards], without bytes that belong to no inner chunk. It copies
// encoded inner chunks and decodes nothing, even if inner chunks are shards themselves.
// Elements and grid stay as they are.
//
// A shard that is compact already costs one or two requests for its index, and is not
// written. Any other shard is replaced in one step. If the store can compare versions and
// the shard has changed since it was read, it is read again. If the store is a
// [store.Splicer], the bytes do not pass through this process. In other stores a shard is
// read into memory, and one that is larger than [Options.Budget] is processed alone. If
// the call is interrupted, every shard is whole, and another call continues.
//
// A damaged shard is not changed: its index points outside of the shard, an inner chunk
// has an impossible length, or inner chunks share bytes. The other shards are compacted,
// and the error wraps [ErrCorrupt] and names the first damaged ones. If chunks are not
// shards, or are compressed as a whole, the error wraps [ErrUnsupported].
func (a *Array) CompactShards(ctx context.Context, opt *CompactOptions) (CompactReport, error) {
	if opt == nil {
		opt = &CompactOptions{}
	}
	o := *opt
	if progress := o.Progress; progress != nil {
		// The engine reuses the index, and the caller may keep it.
		o.Progress = func(shard []int64) { progress(slices.Clone(shard)) }
	}
	report, err := a.compactShards(ctx, o)
	return report, a.fail("compact", err)
}

func (a *Array) compactShards(ctx context.Context, opt CompactOptions) (report CompactReport, err error) {
	s := a.state.Load()
	compact := func(s *snapshot.Array, _ bool) error {
		done, err := a.compactState(ctx, s, opt)
		report.add(done)
		return err
	}
	if opt.DryRun {
		err = a.untilFresh(ctx, s, compact)
		return report, err
	}
	if err := a.writable(); err != nil {
		return report, err
	}
	lock, err := a.lock().Share(ctx)
	if err != nil {
		return report, err
	}
	defer lock.Release()
	// A shard that another process trims meanwhile counts as damaged, so untilFresh tries
	// again.
	if s.Engine.Chain.DistinguishesShapes() {
		err = a.untilFresh(ctx, s, compact)
	} else { // stored bytes may decode as another shape: exclude writers that trim shards
		err = a.withoutGrowth(ctx, lock, s, compact)
	}
	return report, err
}

// untilFresh calls do with the newest state. If do finds damage, the state may have
// become stale meanwhile: then untilFresh calls do again.
func (a *Array) untilFresh(ctx context.Context, s *snapshot.Array, do func(s *snapshot.Array, shared bool) error) error {
	for range writeTries {
		now, err := a.look(ctx, s)
		if err == nil {
			err = do(now, false)
		}
		if !errors.Is(err, ErrCorrupt) {
			return err
		}
		newest, staleErr := a.look(ctx, now)
		if newest == now || staleErr != nil {
			return errors.Join(err, staleErr)
		}
		s = newest
	}
	return errUnsettled
}

// errNoShards is the error for arrays whose inner chunks cannot be read alone.
var errNoShards = fmt.Errorf("%w: the chunks are not shards, or another codec compresses each shard as a whole, so that its inner chunks cannot be read alone", ErrUnsupported)

// compactState compacts the shards of one state of the array.
func (a *Array) compactState(ctx context.Context, s *snapshot.Array, opt CompactOptions) (done engine.Compacted, err error) {
	cells := grid.BoxOf(s.Grid.Chunks())
	if !s.Engine.Chain.Divided() {
		return done, errNoShards
	}
	if opt.DryRun {
		return s.Engine.Compact(ctx, cells, engine.Compacting{Done: opt.Progress})
	}
	var damaged error
	err = a.batch(ctx, func(ctx context.Context, b store.Batch) error {
		done, err = s.Engine.Compact(ctx, cells, engine.Compacting{Batch: b, Done: opt.Progress})
		if errors.Is(err, ErrCorrupt) && ctx.Err() == nil {
			// Returning this error would discard the batch instead of committing the good
			// shards.
			damaged, err = err, nil
		}
		return err
	})
	return done, errors.Join(damaged, err)
}

// add adds the counts of one more pass over the same shards. Sizes after the pass replace
// earlier ones; what earlier passes saved stays in Before.
func (r *CompactReport) add(done engine.Compacted) {
	// Earlier passes made the shards smaller, so the sizes before this pass are not the
	// original ones.
	saved := r.Before - r.After
	r.Shards, r.After = done.Chunks, done.After
	r.Before = done.Before + saved
	r.Changed += done.Changed
}
