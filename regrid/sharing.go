// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/staging"
)

// Sharing executes shares of a re-gridding, one after the other, as [Stage] does. It
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
	if err == nil && s.replacesInPlace() {
		err = errAlone
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
func (p *Sharing) Leave() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leave == nil {
		return nil
	}
	leave := p.leave
	p.leave = nil
	return p.s.Fail(p.s.name(), leave())
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
	if err := w.execute(ctx, share); err != nil {
		return err
	}
	return w.mark(ctx, share)
}

// join makes sure that nobody publishes meanwhile, and that the work is known.
func (p *Sharing) join(ctx context.Context, share Share) error {
	if p.leave != nil {
		return nil
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

// backlog has what is to be done for a stage, when the store was listed.
type backlog struct {
	stager *staging.Stager
	tasks  [][]int64           // the indices of blocks or, in the last stage, of chunks
	parts  map[int64][][]int64 // the same by parts
	of     int64               // the number of these parts
	done   map[string]struct{} // the markers that there were
}

// recall forgets the list of a stage if another process has done the share since: engines
// offer a task again after a failure, even if it has succeeded.
func (w *sharedWork) recall(ctx context.Context, share Share) error {
	list := w.lists[share.Stage]
	if list == nil {
		return nil
	}
	if _, known := list.done[share.marker(w.plan)]; known {
		return nil
	}
	done, err := w.isMarked(ctx, share)
	if done {
		w.lists[share.Stage] = nil
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
	of := max(1, share.Of)
	if list.parts == nil || list.of != of {
		w.divide(list, share.Stage, of)
	}
	mine := list.parts[share.Task]
	if len(mine) == 0 {
		return nil
	}
	var err error
	if share.Stage == len(w.levels) {
		err = w.stageBlocks(ctx, list.stager, w.plan, mine)
	} else {
		err = w.make(ctx, list.stager, w.levels[share.Stage], mine)
	}
	if err != nil {
		w.lists[share.Stage] = nil // a part of it may be done
		return err
	}
	delete(list.parts, share.Task)
	list.tasks = nil // it is divided
	list.done[share.marker(w.plan)] = struct{}{}
	return nil
}

// list lists the store for a stage. What is marked as done before that is in the records
// that are read after it.
func (w *sharedWork) list(ctx context.Context, stage int) (list *backlog, err error) {
	list = &backlog{stager: w.stager()}
	if list.done, err = w.marked(ctx); err != nil {
		return nil, err
	}
	if err := w.load(ctx, w.levels[max(0, stage-1):min(stage+1, len(w.levels))]); err != nil {
		return nil, err
	}
	if stage > 0 {
		if list.stager.From, err = w.required(ctx, w.levels[stage-1]); err != nil {
			return nil, err
		}
	}
	if stage < len(w.levels) {
		l := w.levels[stage]
		list.stager.Job, list.stager.To = l.Job, l.Scratch
		list.tasks, err = w.staleIn(ctx, l)
		return list, err
	}
	records, err := loadRecords(ctx, w.at, recordsOf(w.at, w.id), w.Source.Grid.Rank(), w.memory())
	if err != nil {
		return nil, err
	}
	w.session.records = records
	// What was required has listed the source.
	if stage == 0 {
		if err := w.work.list(ctx); err != nil {
			return nil, err
		}
	}
	list.tasks, err = w.stale()
	return list, err
}

// divide divides the list of a stage into parts.
func (w *sharedWork) divide(list *backlog, stage int, of int64) {
	tasks := list.tasks
	for _, part := range list.parts { // into another number than before
		tasks = append(tasks, part...)
	}
	list.parts, list.of, list.tasks = map[int64][][]int64{}, of, nil
	for _, index := range tasks {
		grid, at := last(w.plan), index
		if stage < len(w.levels) {
			grid = w.levels[stage].Target.Grid
		} else if c, ok := w.Target.Grid.Chunk(index); ok {
			at, _, _ = grid.Locate(c.Start)
		}
		k := shareOf(grid, w.began, at, of)
		list.parts[k] = append(list.parts[k], slices.Clone(index))
	}
}
