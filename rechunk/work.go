// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// checkRoom returns an error if a chunk of the new grid does not fit into the memory, or
// all of them not into the store.
func (s *session) checkRoom(ctx context.Context, old *snapshot.Array) error {
	d, err := s.draft(old, old.Engine.Keys)
	if err != nil || d == nil {
		return err
	}
	w := newWork(s, d)
	plan, err := w.layout()
	if err != nil {
		return err
	}
	return s.checkSpace(ctx, w, plan)
}

// draft is what a request makes of one state of an array.
type draft struct {
	job     *staging.Job
	old     *snapshot.Array
	planned *snapshot.Array // the array as it will be
	policy  string          // what becomes of the stored growth policy, or ""
	move    staging.Move
	keys    *metadata.KeyEncoding // that are wanted; nil for any
	copies  bool                  // it will be a new array
}

// work stages the chunks of a draft.
type work struct {
	draft  *draft
	opt    Options
	hold   *hold
	ledger *ledger
	stock  *stock
	saver  *saver // of a share; nil to store records at once
	staged bool   // all tasks must be done already, by those who share them
}

// stock is what is stored of a draft, as listed last.
type stock struct {
	sources, targets *staging.Table
	wanted           []int64 // the chunks of the target that have elements
}

// newWork returns the work for a draft of which nothing is listed.
func newWork(s *session, d *draft) *work {
	return &work{draft: d, opt: s.opt, hold: s.hold, ledger: s.ledger, stock: new(stock), staged: s.publishOnly}
}

// errKeysTaken is the error of a claim whose keys are those of the present grid.
var errKeysTaken error = final("the array has the chunk keys of this rechunk already, because another program has published or reverted one; give this one up (" + remedy.Abandon + ") and begin again")

// work returns what is to be staged for a state of the array, or nil if the array has the
// wanted grid.
func (s *session) work(old *snapshot.Array) (*work, error) {
	// Never stage over the chunks of the present grid, whatever a claim says.
	if s.destination == nil && sameKeys(s.hold.claim.Keys, old.Engine.Keys, old.Grid.Rank()) {
		return nil, errKeysTaken
	}
	d, err := s.draft(old, s.hold.claim.Keys)
	if err != nil || d == nil {
		return nil, err
	}
	return newWork(s, d), nil
}

// draft returns what the request makes of a state of the array, with chunks that have
// these keys, or nil if the array has the wanted grid.
func (s *session) draft(old *snapshot.Array, keys metadata.KeyEncoding) (*draft, error) {
	t, err := s.target(old)
	if err == nil && t == nil && s.destination != nil {
		t = &target{doc: old.Document()} // a copy
	}
	if err != nil || t == nil {
		return nil, err
	}
	doc := t.doc.WithKeyEncoding(keys)
	source, err := s.array.bind(old.Doc, func(e *engine.Array) {
		e.Store, e.Budget, e.RequireChunks = staging.Witness{Store: e.Store}, s.opt.engine(), false
	})
	if err != nil {
		return nil, err
	}
	place := func(e *engine.Array) { e.Store, e.Path = s.hold.at.Store, s.hold.at.Path }
	next, err := s.array.bind(doc, place)
	if err != nil {
		return nil, fmt.Errorf("the new grid: %w", err)
	}
	policies, err := s.array.policies(old, next)
	if err != nil {
		return nil, err
	}
	policy, err := policies.fitPolicy()
	if err != nil {
		return nil, err
	}
	into, err := s.array.bind(doc, func(e *engine.Array) { place(e); e.Budget = s.opt.engine() })
	if err != nil {
		return nil, err
	}
	// Refuse what readers would refuse before anything is staged.
	if err := checkLargest(into); err != nil {
		return nil, err
	}
	job, err := staging.NewJob(source, into, t.move)
	if err != nil {
		return nil, err
	}
	return &draft{job: job, old: old, planned: next, policy: policy, move: t.move, keys: t.keys, copies: s.array.copies}, nil
}

// checkLargest returns an error if a chunk, or an inner chunk of a shard, exceeds
// Limits.Chunk.
func checkLargest(s *snapshot.Array) error {
	units := s.Grid
	if s.Engine.Chain.Divided() {
		var err error
		if units, err = s.Inner(); err != nil {
			return err
		}
	}
	shape := make([]int64, units.Rank())
	for i := range shape {
		a := units.Axis(i)
		shape[i] = a.Longest(grid.Interval{Stop: a.Chunks()})
	}
	_, err := s.Engine.ChunkBytes(shape)
	return err
}

// listAll lists what is stored now, with versions.
func (w *work) listAll(ctx context.Context) error { return w.listBy(ctx, staging.List) }

// listSource lists the source. Unless others share the tasks, what is staged and wanted
// follows it.
func (w *work) listSource(ctx context.Context) (err error) {
	if !w.hold.shared {
		return w.listAll(ctx)
	}
	w.stock.sources, err = staging.List(ctx, w.draft.job.Source)
	return err
}

// listToStage lists what is stored now, without versions if there are no records to
// compare with.
func (w *work) listToStage(ctx context.Context) error {
	if len(w.ledger.records) == 0 {
		return w.listBy(ctx, staging.ListKeys)
	}
	return w.listAll(ctx)
}

func (w *work) listBy(ctx context.Context, list func(context.Context, *snapshot.Array) (*staging.Table, error)) (err error) {
	if w.stock.sources, err = list(ctx, w.draft.job.Source); err != nil {
		return err
	}
	if w.stock.targets, err = list(ctx, w.draft.job.Target); err != nil {
		return err
	}
	w.stock.wanted, err = w.draft.job.Wanted(w.stock.sources)
	return err
}

// stale returns the target chunks that are to be staged.
func (w *work) stale() ([][]int64, error) {
	return w.draft.job.Stale(w.stock.wanted, w.stock.sources, w.stock.targets, w.draft.job.Records(w.ledger.records))
}

// keepsChunks reports whether the stored chunks fit already, so that only the document
// changes.
func (d *draft) keepsChunks() bool {
	return !d.copies && d.keys == nil && d.job.SameCells()
}

// stager returns the executor of the work.
func (w *work) stager() *staging.Stager {
	s := &staging.Stager{
		Job: w.draft.job, Store: w.hold.at.Store, Durability: w.hold.durability, Requests: w.requests(),
		Text: w.opt.block(), Sources: func() *staging.Table { return w.stock.sources },
	}
	// A store without locks: look at the lease before each chunk, because another process
	// takes the claim over once the lease has lapsed.
	if s.Shared = w.hold.shared; w.hold.keeper != nil {
		s.CheckLease = w.hold.checkLease
	}
	if w.draft.copies {
		s.CopyBudget = budget.New(w.opt.engine())
	}
	return s
}

// requests returns the number of requests that a task has in flight.
func (w *work) requests() int { return engine.InFlight(w.hold.at.Store, 0, tasks) }

// stage stages everything that is not staged yet, block by block.
func (w *work) stage(ctx context.Context) error {
	plan, err := w.layout()
	if err != nil {
		return err
	}
	if w.staged {
		if err := w.hold.markers().checkDone(ctx, plan); err != nil {
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
	// A resumed rechunk may lack a few chunks only. Making these from the source is
	// cheaper than completing the scratch.
	if len(plan.Stages) > 1 && (len(w.ledger.records) == 0 || !w.readsLittle(list)) {
		if s.Input, err = w.fill(ctx, plan); err != nil {
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
	p := w.opt.progress(len(plan.Stages), len(plan.Stages), len(w.stock.wanted), len(list))
	return w.stageAll(ctx, s, w.parts(lastBlocks(plan), list), func(ctx context.Context, box grid.Box, records []staging.Record) error {
		// The chunks are stored and synced. Only now a record may say so.
		if err := w.save(ctx, recordsOf(w.hold.at, w.hold.claim.ID), records); err != nil {
			return err
		}
		p.add(box)
		return w.ledger.remember(ctx, box, records)
	})
}

// remember remembers records.
func (l *ledger) remember(_ context.Context, _ grid.Box, records []staging.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, records...)
	return nil
}

// save stores records, at once or, for a share, with others.
func (w *work) save(ctx context.Context, dir store.Path, records []staging.Record) error {
	if w.saver != nil {
		return w.saver.save(ctx, dir, records)
	}
	return saveRecords(ctx, w.hold.at, dir, "", records, w.hold.durability)
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
	if group.SetLimit(tasks); w.ledger.serial {
		group.SetLimit(1)
	}
	s.Done = w.ledger.count
	for _, box := range parts {
		if within.Err() != nil {
			break
		}
		group.Go(func() error {
			// Before each block, so that a process which was stopped for long stores at
			// most one block into the keys of another rechunk.
			if err := w.hold.checkNotGivenUp(within); err != nil {
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

// checkNotGivenUp returns an error if another process has given this rechunk up: what it
// stores might be in the way of a later one. Where the store has locks, none does.
func (h *hold) checkNotGivenUp(ctx context.Context) error {
	if h.locked {
		return nil
	}
	return h.check(ctx)
}

// count adds to the report what was staged.
func (l *ledger) count(c staging.Counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report.Staged.include(Counts(c))
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
		c, _ := w.draft.job.Target.Grid.Chunk(index)
		at, _, err := blocks.Locate(c.Start)
		if err != nil {
			continue // impossible: both grids have the same extent
		}
		n := numberOf(blocks, at)
		b := found[n]
		if b == nil {
			is, _ := blocks.Chunk(at)
			b = new(block)
			b.box, _ = w.draft.job.Target.Grid.Touched(is.Box())
			found[n] = b
			order = append(order, n)
		}
		b.stale = append(b.stale, index)
	}
	slices.Sort(order)
	var parts []grid.Box
	for _, n := range order {
		b := found[n]
		// Without records nothing was staged before, so the block is made as a whole,
		// with its chunks that have only fill values: the latter cost nothing.
		if all, ok := b.box.Len(); ok && all == int64(len(b.stale)) || len(w.ledger.records) == 0 {
			parts = append(parts, b.box)
			continue
		}
		for _, index := range b.stale {
			parts = append(parts, boxAt(index))
		}
	}
	return parts
}
