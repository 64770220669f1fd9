// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

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

// layout plans the stages of the work.
func (w *work) layout() (*blocks.Plan, error) {
	p := planner{
		job: w.draft.job, moves: !w.draft.move.IsZero(), opt: w.opt, store: w.hold.at.Store,
		began: w.ledger.began, size: int64(w.draft.job.Target.Engine.Size),
	}
	plan, err := p.plan()
	w.ledger.serial = w.ledger.serial || p.serial
	return plan, err
}

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
		boxes[i] = engine.BoxAt(index)
	}
	return boxes
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

// count adds to the report what was staged.
func (l *ledger) count(c staging.Counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report.Staged.include(Counts(c))
}
