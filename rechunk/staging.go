// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/staging"
)

// stager returns the executor of the work.
func (w *work) stager() *staging.Stager {
	s := &staging.Stager{
		Job: w.Job, Store: w.at.Store, Durability: w.Node.Durability, Requests: w.requests(),
		Text: w.block(), Sources: func() *staging.Table { return w.sources },
	}
	if s.Shared = w.shares; w.keeper != nil {
		s.Held = w.held
	}
	if w.into != nil {
		s.Apart = budget.New(w.engine())
	}
	return s
}

// requests returns the number of requests that a task has in flight.
func (w *work) requests() int { return engine.InFlight(w.at.Store, 0, tasks) }

// stage stages everything that is not staged yet, block by block.
func (w *work) stage(ctx context.Context) error {
	plan, err := w.layout()
	if err != nil {
		return err
	}
	if w.staged {
		if err := w.checkDone(ctx, plan); err != nil {
			return err
		}
	}
	if err := w.listToStage(ctx); err != nil {
		return err
	}
	list, err := w.stale()
	if err != nil || len(list) == 0 {
		return err
	}
	s := w.stager()
	if len(plan.Stages) > 1 && (len(w.session.records) == 0 || !w.readsLittle(list)) {
		if s.From, err = w.fill(ctx, plan); err != nil {
			return err
		}
		// More may be stale than when the scratch was begun.
		if list, err = w.stale(); err != nil {
			return err
		}
	}
	return w.stageBlocks(ctx, s, plan, list)
}

// stageBlocks stages chunks, block by block, and stores their records.
func (w *work) stageBlocks(ctx context.Context, s *staging.Stager, plan *blocks.Plan, list [][]int64) error {
	p := w.progress(len(plan.Stages), len(plan.Stages), len(w.wanted), len(list))
	return w.stageAll(ctx, s, w.parts(last(plan), list), func(ctx context.Context, box grid.Box, records []staging.Record) error {
		if err := w.save(ctx, recordsOf(w.at, w.claim.ID), records); err != nil {
			return err
		}
		p.add(box)
		return w.keep(ctx, box, records)
	})
}

// stageEach stages single chunks, from the source. It runs under the lock, so it has no
// progress, and does not store records: a crash loses little work.
func (w *work) stageEach(ctx context.Context, list [][]int64) error {
	return w.stageAll(ctx, w.stager(), boxesAt(list), w.keep)
}

// keep remembers records.
func (w *work) keep(_ context.Context, _ grid.Box, records []staging.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session.records = append(w.session.records, records...)
	return nil
}

// boxesAt returns the boxes of single chunks.
func boxesAt(list [][]int64) []grid.Box {
	boxes := make([]grid.Box, len(list))
	for i, index := range list {
		boxes[i] = boxAt(index)
	}
	return boxes
}

// boxAt returns the box of one index.
func boxAt(index []int64) grid.Box {
	box := make(grid.Box, len(index))
	for i, k := range index {
		box[i] = grid.Interval{Start: k, Stop: k + 1}
	}
	return box
}

// stageAll stages boxes of chunks, two at a time, and calls done with the records of each
// box.
func (w *work) stageAll(
	ctx context.Context, s *staging.Stager, parts []grid.Box,
	done func(ctx context.Context, box grid.Box, records []staging.Record) error,
) error {
	group, within := parallel.New(ctx)
	if group.SetLimit(tasks); w.single {
		group.SetLimit(1)
	}
	s.Done = w.count
	for _, box := range parts {
		if within.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := w.stillClaimed(within); err != nil {
				return err
			}
			records, err := s.Stage(within, box)
			if err != nil {
				return err
			}
			return done(within, box, records)
		})
	}
	return group.Wait(nil)
}

// stillClaimed returns an error if another process has given this rechunk up: what it
// stores might be in the way of a later one. Where the store has locks, none does.
func (w *work) stillClaimed(ctx context.Context) error {
	if w.locked {
		return nil
	}
	return w.checkClaim(ctx)
}

// count adds to the report what was staged.
func (w *work) count(c staging.Counts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Staged.Add(Counts(c))
}

// parts returns the boxes of target chunks that are staged together. They are the blocks
// of which all chunks are to be staged, and single chunks of other blocks.
func (w *work) parts(blocks *grid.Grid, list [][]int64) []grid.Box {
	type block struct {
		box   grid.Box
		stale [][]int64
	}
	found := map[int64]*block{}
	var order []int64
	for _, index := range list {
		c, _ := w.Target.Grid.Chunk(index)
		at, _, err := blocks.Locate(c.Start)
		if err != nil {
			continue // impossible: both grids have the same extent
		}
		n := numberOf(blocks, at)
		b := found[n]
		if b == nil {
			is, _ := blocks.Chunk(at)
			b = new(block)
			b.box, _ = w.Target.Grid.Touched(is.Box())
			found[n] = b
			order = append(order, n)
		}
		b.stale = append(b.stale, index)
	}
	slices.Sort(order)
	var parts []grid.Box
	for _, n := range order {
		b := found[n]
		if all, ok := b.box.Len(); ok && all == int64(len(b.stale)) || len(w.session.records) == 0 {
			parts = append(parts, b.box)
			continue
		}
		for _, index := range b.stale {
			parts = append(parts, boxAt(index))
		}
	}
	return parts
}
