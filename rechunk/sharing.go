// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
)

// Sharing executes shares of a rechunk, one after the other, as [Stage] does. It
// lists the stored chunks once for each stage, not once for each share, so a process may
// execute many small shares. It may be used by several goroutines, whose shares wait for
// each other: each uses all cores.
//
// From the first share on, nobody can publish until Leave is called.
type Sharing struct {
	mu    sync.Mutex
	s     *session
	leave func() error // nil while this process has not joined
	work  *sharedWork  // nil if nothing is known about the array
}

// NewSharing returns a Sharing. The errors, of a request that cannot be shared for
// example, are those of [Stage]. Nothing is read or changed before the first share.
func NewSharing(a *zarr.Array, r Request, opt *Options) (*Sharing, error) {
	s, err := newSession(a, r, opt)
	if err == nil {
		err = s.writable()
	}
	if err != nil {
		return nil, s.Fail(r.operation(), err)
	}
	return &Sharing{s: s}, nil
}

// Do executes a share, unless another process has done so. The report says what was done
// for this share.
func (p *Sharing) Do(ctx context.Context, share Share) (*Report, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.s.report = Report{}
	err := p.do(ctx, share)
	if errors.Is(err, errNothing) { // as after the publication
		err = nil
	}
	report := p.s.report
	return &report, p.s.Fail(p.s.name(), err)
}

// Leave lets others publish. Another share may follow: then this process joins again.
// After an error, call it again.
func (p *Sharing) Leave() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leave == nil {
		return nil
	}
	if err := p.leave(); err != nil {
		return p.s.Fail(p.s.name(), err) // others still see this process: call Leave again
	}
	p.leave = nil
	return nil
}

func (p *Sharing) do(ctx context.Context, share Share) error {
	if err := p.join(ctx, share); err != nil {
		return err
	}
	w := p.work
	if err := share.valid(len(w.plan.Stages)); err != nil {
		return err
	}
	if err := w.recall(ctx, share); err != nil {
		return err
	}
	err := w.execute(ctx, share)
	if errors.Is(err, ErrUnfinished) { // perhaps the source has changed: list everything again
		p.work = nil
	}
	return err
}

// join makes sure that nobody publishes meanwhile, and that the work is known.
func (p *Sharing) join(ctx context.Context, share Share) error {
	switch {
	case p.leave != nil && p.work != nil:
		return nil
	case p.leave != nil:
		return p.know(ctx)
	}
	s := p.s
	if err := s.identify(ctx); err != nil {
		return err
	}
	// A share that is not one of the plan must not leave a claim.
	if err := s.checkShare(ctx, share); err != nil {
		return err
	}
	if s.Memory <= 0 {
		return fmt.Errorf("%w: processes that share the tasks of a plan need the same Options.Memory, above 0", zarr.ErrInvalidArgument)
	}
	leave, err := s.join(ctx)
	if err != nil {
		return err
	}
	if err := p.know(ctx); err != nil {
		return errors.Join(err, leave())
	}
	p.leave = leave
	return nil
}

// know plans the work, unless it is that of the last time.
func (p *Sharing) know(ctx context.Context) error {
	old, err := p.s.Fresh(ctx)
	if err != nil {
		return err
	}
	if p.work != nil && p.work.old.Version == old.Version && p.work.id == p.s.claim.ID {
		return nil
	}
	p.work = nil
	w, err := p.s.work(old)
	if err != nil {
		return err
	}
	plan, err := w.layoutFor(Share{})
	if err != nil {
		return err
	}
	shared := &sharedWork{work: w, plan: plan, id: p.s.claim.ID, lists: make([]*backlog, len(plan.Stages))}
	if shared.levels, err = w.scratch(plan); err == nil {
		p.work = shared
	}
	return err
}

// sharedWork is the work of a process that executes shares.
type sharedWork struct {
	*work
	plan   *blocks.Plan
	levels []*level
	id     string     // of the claim
	lists  []*backlog // by stage; nil if a stage is not listed
}

// backlog has what a stage makes, and what was done when the store was listed.
type backlog struct {
	stager *staging.Stager
	job    *staging.Job                // of the stage
	dir    store.Path                  // of the records
	wanted [][]int64                   // the indices of blocks or, in the last stage, of chunks; nil once they are divided
	parts  map[int64][][]int64         // the same, by the number of the share
	of     int64                       // the number of shares
	done   map[string]struct{}         // the markers that there were
	names  []string                    // the objects with records that there were
	others map[string][]staging.Record // those of other divisions of the tasks, by their names
	failed bool                        // the last share has failed
}

// recall looks again which records there are if another process has done the share since:
// engines offer a task again after a failure, even if it has succeeded.
func (w *sharedWork) recall(ctx context.Context, share Share) error {
	list := w.lists[share.Stage]
	if list == nil {
		return nil
	}
	marker := share.marker(w.plan)
	if _, known := list.done[marker]; known {
		return nil
	}
	done, err := w.isMarked(ctx, share)
	if !done || err != nil {
		return err
	}
	// In this order, so that what is marked is in the records.
	if list.done, err = w.marked(ctx); err == nil {
		list.names, err = namesIn(ctx, w.at.Store, list.dir, false)
	}
	return err
}

// execute does what is to be done for a share.
func (w *sharedWork) execute(ctx context.Context, share Share) error {
	list := w.lists[share.Stage]
	if list == nil {
		var err error
		if list, err = w.list(ctx, share.Stage); err != nil {
			return err
		}
		w.lists[share.Stage] = list
	}
	if of := max(1, share.Of); list.parts == nil || list.of != of {
		w.divide(list, share.Stage, of)
	}
	w.saver = &saver{of: share.marker(w.plan)}
	mine, err := w.missing(ctx, list, share)
	if err == nil && len(mine) > 0 {
		err = w.do(ctx, list, share.Stage, mine)
	}
	if err != nil {
		return errors.Join(err, w.failed(ctx, list, share.Stage))
	}
	list.failed = false
	delete(list.parts, share.Task)
	marker := share.marker(w.plan)
	if _, marked := list.done[marker]; marked {
		return nil
	}
	if err := w.mark(ctx, share); err != nil {
		return err
	}
	list.done[marker] = struct{}{}
	return nil
}

// failed is called after a share has failed, of which a part may be done. The store is
// listed again only if two fail in a row, because the listing may be very long.
func (w *sharedWork) failed(ctx context.Context, list *backlog, stage int) (err error) {
	if list.failed {
		w.lists[stage] = nil
		return nil
	}
	list.failed = true
	list.names, err = namesIn(store.Finishing(ctx), w.at.Store, list.dir, false)
	return err
}

// do makes blocks or chunks, and stores their records.
func (w *sharedWork) do(ctx context.Context, list *backlog, stage int, mine [][]int64) (err error) {
	if stage == len(w.levels) {
		err = w.stageBlocks(ctx, list.stager, w.plan, mine)
	} else {
		err = w.make(ctx, list.stager, w.levels[stage], mine)
	}
	return errors.Join(err, w.flush(store.Finishing(ctx)))
}

// missing returns what of a share is not made yet, or was made from other versions of the
// source. If no process has stored records of it, that is all, and nothing is asked for.
// If a share of the last stage was done, its chunks are those of the records: whoever
// publishes looks at them.
func (w *sharedWork) missing(ctx context.Context, list *backlog, share Share) ([][]int64, error) {
	mine := list.parts[share.Task]
	w.session.records = nil
	if len(mine) == 0 {
		return nil, nil
	}
	records, err := w.recordsOf(ctx, list)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return mine, nil
	}
	w.session.records = records
	there := list.job.Recorded(records)
	if _, done := list.done[share.marker(w.plan)]; !done || share.Stage < len(w.levels) {
		if there, err = staging.Look(ctx, list.job.Target, mine, engine.InFlight(w.at.Store, 0, tasks)); err != nil {
			return nil, err
		}
	}
	numbers := make([]int64, len(mine))
	for i, index := range mine {
		numbers[i] = list.job.Number(index)
	}
	slices.Sort(numbers)
	var stale [][]int64
	for index, err := range list.job.Stale(numbers, w.sources, there, list.job.Records(records)) {
		if err != nil {
			return nil, err
		}
		stale = append(stale, slices.Clone(index))
	}
	return stale, nil
}

// recordsOf returns the records that may be about a share: its own, and those of other
// divisions of the tasks, which are read once.
func (w *sharedWork) recordsOf(ctx context.Context, list *backlog) (records []staging.Record, err error) {
	var own []string
	read := func(names ...string) ([]staging.Record, error) {
		return readRecords(ctx, w.at, list.dir, names, w.Source.Grid.Rank(), w.memory())
	}
	for _, name := range list.names {
		switch w.saver.kinship(name) {
		case ownRecords:
			own = append(own, name)
		case foreignRecords:
			if _, known := list.others[name]; !known {
				if list.others[name], err = read(name); err != nil {
					return nil, err
				}
			}
			records = append(records, list.others[name]...)
		}
	}
	more, err := read(own...)
	return append(records, more...), err
}

// list lists the source for a stage, and what is done. What is marked as done is in the
// records that are listed after it.
func (w *sharedWork) list(ctx context.Context, stage int) (list *backlog, err error) {
	list = &backlog{stager: w.stager(), job: w.Job, dir: recordsOf(w.at, w.id), others: map[string][]staging.Record{}}
	if list.done, err = w.marked(ctx); err != nil {
		return nil, err
	}
	if stage < len(w.levels) {
		l := w.levels[stage]
		list.stager.Job, list.stager.To = l.Job, l.Scratch
		list.job, list.dir = l.Job, l.recordsDir()
	}
	if list.names, err = namesIn(ctx, w.at.Store, list.dir, false); err != nil {
		return nil, err
	}
	if stage == 0 {
		w.sources, err = staging.List(ctx, w.Source)
	} else {
		list.stager.From, err = w.from(ctx, w.levels[stage-1])
	}
	if err != nil {
		return nil, err
	}
	numbers, err := list.job.Wanted(w.sources)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		list.wanted = append(list.wanted, list.job.Index(n))
	}
	if w.wanted = numbers; stage < len(w.levels) {
		w.levels[stage].wanted = len(numbers)
	}
	return list, nil
}

// from returns the scratch of the stage before, which must be complete, and lists the
// source.
func (w *sharedWork) from(ctx context.Context, l *level) (*staging.Reading, error) {
	if err := w.load(ctx, []*level{l}); err != nil {
		return nil, err
	}
	return w.required(ctx, l)
}

// divide divides the list of a stage into shares.
func (w *sharedWork) divide(list *backlog, stage int, of int64) {
	wanted := list.wanted
	for _, part := range list.parts { // into another number than before
		wanted = append(wanted, part...)
	}
	list.parts, list.of, list.wanted = map[int64][][]int64{}, of, nil
	for _, index := range wanted {
		blocks, at := last(w.plan), index
		if stage < len(w.levels) {
			blocks = w.levels[stage].Target.Grid
		} else if c, ok := w.Target.Grid.Chunk(index); ok {
			at, _, _ = blocks.Locate(c.Start)
		}
		k := shareOf(blocks, w.began, at, of)
		list.parts[k] = append(list.parts[k], index)
	}
}
