// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/sharing"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
)

// checkShare returns an error unless the share is one of the plan, as the array is now.
func (p *participant) checkShare(ctx context.Context, share sharing.Share) error {
	old, err := p.s.array.fresh(ctx)
	if err != nil {
		return err
	}
	if err := p.s.planAs(ctx); err != nil {
		return err
	}
	d, err := p.s.draft(old, old.Engine.Keys)
	if err != nil {
		return err
	}
	if d == nil {
		return errNoTasks
	}
	_, err = newWork(p.s, d).layoutFor(share)
	return err
}

// errNoTasks means that a plan has no tasks any more: the array has the grid already.
var errNoTasks = errors.New("nothing has to be staged")

// layoutFor returns the stages of the work, which may be nil, of which share must be one.
func (w *work) layoutFor(share sharing.Share) (*blocks.Plan, error) {
	if w == nil || w.draft.keepsChunks() {
		return nil, errNoTasks
	}
	plan, err := w.layout()
	if err != nil {
		return nil, err
	}
	return plan, checkShare(share, len(plan.Stages))
}

// requireScratch returns the scratch of an earlier stage, which must be complete.
func (w *work) requireScratch(ctx context.Context, l *level) (*staging.Reading, error) {
	stale, err := w.staleIn(ctx, l)
	if err != nil {
		return nil, err
	}
	if len(stale) > 0 {
		return nil, unfinishedError(l.stage-1, l.scratch.Target.Grid, stale)
	}
	return w.reading(l), nil
}

// participant is a process that executes shares of a rechunk.
type participant struct {
	array   *zarr.Array
	request Request
	opt     *Options

	mu    sync.Mutex
	s     *session
	leave func() error // nil while this process has not joined
	work  *sharedWork  // nil if nothing is known about the array
}

// Tasks returns what executes the tasks of a plan that several processes share. It is for
// the programs that execute plans (docs/jobs.md), because its type is internal. If the
// request is invalid, the error wraps [zarr.ErrInvalidArgument]. Nothing is read or
// changed by this call.
func Tasks(a *zarr.Array, r Request, opt *Options) (sharing.Tasks[Report], error) {
	p, err := newParticipant(a, r, opt)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func newParticipant(a *zarr.Array, r Request, opt *Options) (*participant, error) {
	s, err := newSession(a, r, opt)
	if err != nil {
		return nil, s.array.fail(operationOf(r), err)
	}
	return &participant{array: a, request: r, opt: opt, s: s}, nil
}

// Needed implements [sharing.Tasks].
func (p *participant) Needed(ctx context.Context) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.s
	if s.destination != nil {
		return true, nil
	}
	old, err := s.array.fresh(ctx)
	if err != nil {
		return true, s.array.fail(operationOf(p.request), err)
	}
	t, err := s.target(old)
	return t != nil, s.array.fail(operationOf(p.request), err)
}

// Do implements [sharing.Tasks].
func (p *participant) Do(ctx context.Context, share sharing.Share) (*Report, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.s.ledger.report = Report{}
	err := p.do(ctx, share)
	if errors.Is(err, errNoTasks) { // as after the publication
		err = nil
	}
	report := p.s.ledger.report
	return &report, p.s.array.fail(p.s.array.name(), err)
}

// Leave implements [sharing.Tasks].
func (p *participant) Leave() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leave == nil {
		return nil
	}
	if err := p.leave(); err != nil {
		return p.s.array.fail(p.s.array.name(), err) // others still see this process: call Leave again
	}
	p.leave = nil
	return nil
}

// Publish implements [sharing.Tasks].
func (p *participant) Publish(ctx context.Context) (*Report, error) {
	return execute(ctx, p.array, p.request, p.opt, true)
}

func (p *participant) do(ctx context.Context, share sharing.Share) error {
	if err := p.s.array.writable(); err != nil {
		return err
	}
	if err := p.join(ctx, share); err != nil {
		return err
	}
	w := p.work
	if err := checkShare(share, len(w.plan.Stages)); err != nil {
		return err
	}
	if err := w.refreshRecords(ctx, share); err != nil {
		return err
	}
	err := w.execute(ctx, share)
	if errors.Is(err, sharing.ErrUnfinished) { // perhaps the source has changed: list everything again
		p.work = nil
	}
	return err
}

// join makes sure that nobody publishes meanwhile, and that the work is known.
func (p *participant) join(ctx context.Context, share sharing.Share) error {
	switch {
	case p.leave != nil && p.work != nil:
		return nil
	case p.leave != nil:
		return p.planWork(ctx)
	}
	s := p.s
	if err := s.array.identify(ctx); err != nil {
		return err
	}
	// A share that the plan does not have must not leave a claim.
	if err := p.checkShare(ctx, share); err != nil {
		return err
	}
	if s.opt.Memory <= 0 {
		return fmt.Errorf("%w: processes that share the tasks of a plan need "+remedy.SameMemory, zarr.ErrInvalidArgument)
	}
	leave, err := p.begin(ctx)
	if err != nil {
		return err
	}
	// The plan is made after the process has joined: from here on nobody can publish.
	if err := p.planWork(ctx); err != nil {
		return errors.Join(err, leave())
	}
	p.leave = leave
	return nil
}

// joinTime is how long a process waits for others that begin or end a share.
const joinTime = 10 * time.Second

// begin begins a share of the tasks: others may execute shares too, but none may publish,
// until leave has returned nil.
func (p *participant) begin(ctx context.Context) (leave func() error, err error) {
	exit, err := enter(p.s.hold.at, false)
	if err != nil {
		return nil, err
	}
	p.s.hold.shared = true
	end, err := p.beginLocked(ctx)
	if err != nil {
		exit()
		return nil, err
	}
	left := false
	return func() error {
		if err := end(); err != nil {
			return err
		}
		if !left {
			exit()
		}
		left = true
		return nil
	}, nil
}

func (p *participant) beginLocked(ctx context.Context) (leave func() error, err error) {
	s := p.s
	unlock, locked, err := lockDir(ctx, s.hold.at.Store, s.hold.at.Path.MustKey(lockName), joinTime)
	if err != nil {
		return nil, err
	}
	s.hold.locked = locked
	// The lock is held only while the claim is made or found. Then shares run beside each
	// other, each with a lock of its own.
	defer func() { err = errors.Join(err, unlock()) }()
	old, err := s.array.fresh(ctx)
	if err == nil {
		err = s.prepare(ctx, old)
	}
	if err != nil {
		return nil, err
	}
	key := s.hold.sharesDir().MustKey(newID() + "/" + shareName)
	release, _, err := lockDir(ctx, s.hold.at.Store, key, -1)
	if err != nil {
		return nil, err
	}
	released := false
	leave = func() error { // may be repeated after an error
		if _, err := store.Write(store.Finishing(ctx), s.hold.at.Store, store.Delete(key), store.Sync); err != nil || released {
			return err
		}
		released = true
		return release()
	}
	// In a store without locks, a publisher closes the claim first and looks for shares
	// afterwards. Here the share is stored first and the claim is read afterwards, so at
	// least one of the two processes sees the other.
	if err := putHolder(ctx, s.hold.at.Store, key); err != nil {
		return nil, errors.Join(err, leave())
	}
	c, err := s.hold.at.Claim(ctx)
	if err == nil && (c == nil || c.ID != s.hold.claim.ID || c.Closed) {
		err = fmt.Errorf("%w: it is being published", ErrClaimed)
	}
	if err != nil {
		return nil, errors.Join(err, leave())
	}
	return leave, nil
}

// planWork plans the work, unless it is that of the last time.
func (p *participant) planWork(ctx context.Context) error {
	old, err := p.s.array.fresh(ctx)
	if err != nil {
		return err
	}
	if p.work != nil && p.work.work.draft.old.Version == old.Version && p.work.id == p.s.hold.claim.ID {
		return nil
	}
	p.work = nil
	w, err := p.s.work(old)
	if err != nil {
		return err
	}
	plan, err := w.layoutFor(sharing.Share{})
	if err != nil {
		return err
	}
	shared := &sharedWork{work: w, hold: w.hold, plan: plan, id: p.s.hold.claim.ID, lists: make([]*backlog, len(plan.Stages))}
	if shared.levels, err = w.scratch(plan); err == nil {
		p.work = shared
	}
	return err
}

// sharedWork is the work of a process that executes shares.
type sharedWork struct {
	work   *work
	hold   *hold // of the work
	plan   *blocks.Plan
	levels []*level
	id     string     // of the claim
	lists  []*backlog // by stage; nil if a stage is not listed
}

// backlog has what a stage makes, and what was done when the store was listed.
type backlog struct {
	stager   *staging.Stager
	job      *staging.Job // of the stage
	dir      store.Path   // of the records
	division division
	done     map[string]struct{}         // the markers that there were
	names    []string                    // the objects with records that there were
	foreign  map[string][]staging.Record // those of other divisions of the tasks, by their names
	failed   bool                        // the last share has failed
}

// division divides what a stage makes: the indices of blocks or, in the last stage, of
// chunks.
type division struct {
	of    int64               // the number of shares
	parts map[int64][][]int64 // by the number of the share
	rest  [][]int64           // what is not divided yet
}

// refreshRecords looks again which records there are if another process has done the
// share since: engines offer a task again after a failure, even if it has succeeded.
func (w *sharedWork) refreshRecords(ctx context.Context, share sharing.Share) error {
	list := w.lists[share.Stage]
	if list == nil {
		return nil
	}
	marker := markerOf(share, w.plan)
	if _, known := list.done[marker]; known {
		return nil
	}
	done, err := w.hold.markers().contains(ctx, marker)
	if !done || err != nil {
		return err
	}
	// Markers first, records second: the records of a share are stored before its marker.
	if list.done, err = w.hold.markers().names(ctx); err == nil {
		list.names, err = namesIn(ctx, w.hold.at.Store, list.dir, store.Flat)
	}
	return err
}

// execute does what is to be done for a share.
func (w *sharedWork) execute(ctx context.Context, share sharing.Share) error {
	list := w.lists[share.Stage]
	if list == nil {
		var err error
		if list, err = w.list(ctx, share.Stage); err != nil {
			return err
		}
		w.lists[share.Stage] = list
	}
	if of := max(1, share.Of); list.division.parts == nil || list.division.of != of {
		w.divide(list, share.Stage, of)
	}
	w.work.saver = &saver{hold: w.hold, share: markerOf(share, w.plan)}
	// The records of a share carry its name, so that a repetition reads only these.
	mine, err := w.missing(ctx, list, share)
	if err == nil && len(mine) > 0 {
		err = w.makeMissing(ctx, list, share.Stage, mine)
	}
	if err != nil {
		return errors.Join(err, w.failed(ctx, list, share.Stage))
	}
	list.failed = false
	delete(list.division.parts, share.Task)
	marker := markerOf(share, w.plan)
	// The marker comes last. It promises that the records of the whole share are stored.
	if _, marked := list.done[marker]; marked {
		return nil
	}
	if err := w.hold.markers().put(ctx, marker); err != nil {
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
	list.names, err = namesIn(store.Finishing(ctx), w.hold.at.Store, list.dir, store.Flat)
	return err
}

// makeMissing makes blocks or chunks, and stores their records.
func (w *sharedWork) makeMissing(ctx context.Context, list *backlog, stage int, mine [][]int64) (err error) {
	if stage == len(w.levels) {
		err = w.work.stageBlocks(ctx, list.stager, w.plan, mine)
	} else {
		err = w.work.make(ctx, list.stager, w.levels[stage], mine)
	}
	return errors.Join(err, w.work.saver.flush(store.Finishing(ctx)))
}

// missing returns what of a share is not made yet, or was made from other versions of the
// source. If no process has stored records of it, that is all, and nothing is asked for.
// If a share of the last stage was done, its chunks are those of the records: whoever
// publishes looks at them.
func (w *sharedWork) missing(ctx context.Context, list *backlog, share sharing.Share) ([][]int64, error) {
	mine := list.division.parts[share.Task]
	w.work.ledger.records = nil
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
	w.work.ledger.records = records
	there := list.job.Recorded(records)
	// The publisher compares the chunks of the last stage once more. So only those of a
	// share that is not marked, and objects of scratch, are looked up here.
	if _, done := list.done[markerOf(share, w.plan)]; !done || share.Stage < len(w.levels) {
		if there, err = staging.Look(ctx, list.job.Target, mine, engine.InFlight(w.hold.at.Store, 0, tasks)); err != nil {
			return nil, err
		}
	}
	numbers := make([]int64, len(mine))
	for i, index := range mine {
		numbers[i] = list.job.Number(index)
	}
	slices.Sort(numbers)
	return list.job.Stale(numbers, w.work.stock.sources, there, list.job.Records(records))
}

// recordsOf returns the records that may be about a share: its own, and those of other
// divisions of the tasks, which are read once.
func (w *sharedWork) recordsOf(ctx context.Context, list *backlog) (records []staging.Record, err error) {
	var own []string
	read := func(names ...string) ([]staging.Record, error) {
		return readRecords(ctx, w.hold.at, list.dir, names, w.work.draft.job.Source.Grid.Rank(), w.work.opt.memory())
	}
	for _, name := range list.names {
		switch w.work.saver.kinship(name) {
		case ownRecords:
			own = append(own, name)
		// A share of another division may have made some of these chunks. Its records are
		// kept, because the next shares need them, too.
		case foreignRecords:
			if _, known := list.foreign[name]; !known {
				if list.foreign[name], err = read(name); err != nil {
					return nil, err
				}
			}
			records = append(records, list.foreign[name]...)
		}
	}
	more, err := read(own...)
	return append(records, more...), err
}

// list lists the source for a stage, and what is done. What is marked as done is in the
// records that are listed after it.
func (w *sharedWork) list(ctx context.Context, stage int) (list *backlog, err error) {
	list = &backlog{stager: w.work.stager(), job: w.work.draft.job, dir: recordsOf(w.hold.at, w.id), foreign: map[string][]staging.Record{}}
	// In this order, see refreshRecords.
	if list.done, err = w.hold.markers().names(ctx); err != nil {
		return nil, err
	}
	if stage < len(w.levels) {
		l := w.levels[stage]
		list.stager.Job, list.stager.Output = l.scratch.Job, l.scratch
		list.job, list.dir = l.scratch.Job, l.recordsDir()
	}
	if list.names, err = namesIn(ctx, w.hold.at.Store, list.dir, store.Flat); err != nil {
		return nil, err
	}
	if stage == 0 {
		w.work.stock.sources, err = staging.List(ctx, w.work.draft.job.Source)
	} else if err = w.work.load(ctx, w.levels[stage-1:stage]); err == nil {
		// The stage before must be complete. This lists the source, too.
		list.stager.Input, err = w.work.requireScratch(ctx, w.levels[stage-1])
	}
	if err != nil {
		return nil, err
	}
	numbers, err := list.job.Wanted(w.work.stock.sources)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		list.division.rest = append(list.division.rest, list.job.Index(n))
	}
	if w.work.stock.wanted = numbers; stage < len(w.levels) {
		w.levels[stage].wanted = len(numbers)
	}
	return list, nil
}

// divide divides the list of a stage into shares.
func (w *sharedWork) divide(list *backlog, stage int, of int64) {
	wanted := list.division.rest
	for _, part := range list.division.parts { // into another number than before
		wanted = append(wanted, part...)
	}
	list.division.parts, list.division.of, list.division.rest = map[int64][][]int64{}, of, nil
	for _, index := range wanted {
		blocks, at := lastBlocks(w.plan), index
		if stage < len(w.levels) {
			blocks = w.levels[stage].scratch.Target.Grid
		} else if c, ok := w.work.draft.job.Target.Grid.Chunk(index); ok {
			at, _, _ = blocks.Locate(c.Start)
		}
		k := shareOf(blocks, w.work.ledger.began, at, of)
		list.division.parts[k] = append(list.division.parts[k], index)
	}
}
