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

// CompactOptions says how shards are compacted. A nil *CompactOptions means the zero
// CompactOptions.
type CompactOptions struct {
	// DryRun only looks: the report is that of a call without it, and nothing is written.
	// An array that was opened to be read will do.
	DryRun bool
	// Progress, if not nil, is called for each stored shard, one call at a time.
	Progress func(shard []int64)
}

// CompactReport counts what [Array.CompactShards] has done.
type CompactReport struct {
	Shards  int64 // stored shards that are not damaged
	Changed int64 // of these, the shards that were rewritten
	Before  int64 // bytes of all these shards, before and after
	After   int64
}

// CompactShards rewrites stored shards so that their inner chunks follow each other in the
// order of [Options.Shards], without bytes that belong to no inner chunk. It copies encoded
// inner chunks and decodes nothing, even if inner chunks are shards themselves. Elements
// and grid stay as they are.
//
// A shard that is compact already costs one or two requests for its index, and is not
// written. Any other shard is replaced in one step, on the condition that it is still the
// version that was read, as far as the store can compare versions; otherwise it is read
// again. If the store is a [store.Splicer], the bytes do not pass through this process. In
// other stores a shard is read into memory, and one that is larger than [Options.Budget] is
// processed alone. Stopping at any time leaves whole shards; another call continues.
//
// A damaged shard is not changed: its index points outside of the shard, an inner chunk has
// an impossible length, or inner chunks share bytes. The other shards are compacted, and
// the error wraps [ErrCorrupt] and names the first damaged ones. If chunks are not shards,
// or are compressed as a whole, the error wraps [ErrUnsupported].
func (a *Array) CompactShards(ctx context.Context, opt *CompactOptions) (CompactReport, error) {
	if opt == nil {
		opt = &CompactOptions{}
	}
	o := *opt
	if progress := o.Progress; progress != nil {
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
	if s.Engine.Chain.TellsShapes() {
		err = a.untilFresh(ctx, s, compact)
	} else { // who trims shards meanwhile has to wait
		err = a.withoutGrowth(ctx, lock, s, compact)
	}
	return report, err
}

// untilFresh does something with the newest state, and does it anew where it finds damage
// and the state is not the newest any more.
func (a *Array) untilFresh(ctx context.Context, s *snapshot.Array, do func(s *snapshot.Array, shared bool) error) error {
	for range writeTries {
		now, err := a.fresh(ctx, s)
		if err == nil {
			err = do(now, false)
		}
		if !errors.Is(err, ErrCorrupt) {
			return err
		}
		newest, staleErr := a.fresh(ctx, now)
		if newest == now || staleErr != nil {
			return errors.Join(err, staleErr)
		}
		s = newest
	}
	return fmt.Errorf("%w while its shards were looked at, again and again", ErrConflict)
}

// errNoShards refuses arrays without inner chunks that can be had by themselves.
var errNoShards = fmt.Errorf("%w: the chunks are no shards, or their inner chunks cannot be had by themselves because a codec compresses the shard as a whole", ErrUnsupported)

// compactState puts the shards of a state in order.
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
			damaged, err = err, nil
		}
		return err
	})
	return done, errors.Join(damaged, err)
}

// add adds what was done when the shards were looked at again: they are what they have
// become.
func (r *CompactReport) add(done engine.Compacted) {
	saved := r.Before - r.After
	r.Shards, r.After = done.Chunks, done.After
	r.Before = done.Before + saved
	r.Changed += done.Changed
}
