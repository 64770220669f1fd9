// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
)

// Share is a part of the tasks of a stage: those of one of several processes that execute
// a plan together. See [Plan.Stages].
type Share struct {
	// Stage counts from 0.
	Stage int
	// Task and Of say which of how many equal parts of the tasks, from 0 on. Of 0 is all
	// tasks.
	Task, Of int64
}

// ErrUnfinished means that an earlier stage of a plan is not complete.
var ErrUnfinished error = final("an earlier stage is not complete")

// Stage executes a share of a re-gridding, which several processes may do at once, on
// several machines. Tasks that are done already are not repeated, unless what they were
// made from has changed. When all stages are complete, [Publish] makes the result
// visible. All calls need the same request and the same [Options.Memory], which may not
// be 0: the stages follow from them.
//
// If an earlier stage is not complete, the error wraps [ErrUnfinished] and names a task.
// If the array has the wanted grid already, as after Publish, there is nothing to do.
func Stage(ctx context.Context, a *zarr.Array, r Request, share Share, opt *Options) (*Report, error) {
	s, err := newSession(a, r, opt)
	if err == nil {
		err = s.writable()
	}
	if err == nil {
		err = s.share(ctx, share)
	}
	return &s.report, s.Fail(r.operation(), err)
}

// Publish makes the result of the stages visible, as [Do] does. It makes again the few
// chunks whose sources have changed since. If other processes still execute tasks, the
// error wraps [ErrClaimed]; in a store without locks, also if such a process has died,
// unless [Options.TakeOver] is set. If a stage is not complete, the error wraps
// [ErrUnfinished].
func Publish(ctx context.Context, a *zarr.Array, r Request, opt *Options) (*Report, error) {
	s, err := newSession(a, r, opt)
	if err == nil {
		err = s.writable()
	}
	if err == nil {
		s.staged = true
		err = s.runAlone(ctx)
	}
	return &s.report, s.Fail(r.operation(), err)
}

// valid returns an error unless the share is one of a plan with so many stages.
func (p Share) valid(stages int) error {
	switch {
	case p.Stage < 0 || p.Stage >= stages:
		return fmt.Errorf("%w: stage %d of %d stages, which count from 0", zarr.ErrInvalidArgument, p.Stage, stages)
	case p.Of < 0 || p.Task < 0 || p.Task >= max(1, p.Of):
		return fmt.Errorf("%w: task %d of %d, which count from 0", zarr.ErrInvalidArgument, p.Task, p.Of)
	}
	return nil
}

// has reports whether the share has a block, given its index in the grid of the blocks.
func (p Share) has(blocks *grid.Grid, index []int64) bool {
	if p.Of <= 1 {
		return true
	}
	all, _ := blocks.NumChunks()
	number := numberOf(blocks, index)
	// The first block of part k is k*all/Of, rounded up.
	part, ok := checked.Mul(number, p.Of)
	if !ok {
		return number%p.Of == p.Task // as good for so many
	}
	return part/all == p.Task
}

// share executes a share.
func (s *session) share(ctx context.Context, share Share) error {
	if s.replacesInPlace() {
		return errAlone
	}
	if err := s.identify(ctx); err != nil {
		return err
	}
	// A share that is not one of the plan must not leave a claim.
	err := s.checkShare(ctx, share)
	switch {
	case errors.Is(err, errNothing): // as after the publication
		return nil
	case err != nil:
		return err
	}
	if s.Memory <= 0 {
		return fmt.Errorf("%w: processes that share the tasks of a plan need the same Options.Memory, above 0", zarr.ErrInvalidArgument)
	}
	leave, err := s.join(ctx)
	if err != nil {
		return err
	}
	if err = s.shareAs(ctx, share); errors.Is(err, errNothing) {
		err = nil
	}
	return errors.Join(err, leave())
}

// checkShare returns an error unless the share is one of the plan, as the array is now.
func (s *session) checkShare(ctx context.Context, share Share) error {
	old, err := s.Fresh(ctx)
	if err != nil {
		return err
	}
	if err := s.planAs(ctx); err != nil {
		return err
	}
	w, err := s.workWith(old, old.Engine.Keys)
	if err != nil {
		return err
	}
	_, err = w.layoutFor(share)
	return err
}

// errNothing means that a plan has no tasks any more: the array has the grid already.
var errNothing = errors.New("nothing has to be staged")

// layoutFor returns the stages of the work, which may be nil, of which share must be one.
func (w *work) layoutFor(share Share) (*blocks.Plan, error) {
	if w == nil || w.stays() {
		return nil, errNothing
	}
	plan, err := w.layout()
	if err != nil {
		return nil, err
	}
	return plan, share.valid(len(plan.Stages))
}

func (s *session) shareAs(ctx context.Context, share Share) error {
	old, err := s.Fresh(ctx)
	if err != nil {
		return err
	}
	w, err := s.work(old)
	if err != nil {
		return err
	}
	plan, err := w.layoutFor(share)
	if err != nil {
		return err
	}
	return w.stageShare(ctx, plan, share)
}

// stageShare executes a share of the tasks of a stage.
func (w *work) stageShare(ctx context.Context, plan *blocks.Plan, share Share) error {
	levels, err := w.scratch(plan)
	if err != nil {
		return err
	}
	if err := w.load(ctx, levels); err != nil {
		return err
	}
	s := w.stager()
	if share.Stage > 0 {
		if s.From, err = w.required(ctx, levels[share.Stage-1]); err != nil {
			return err
		}
	}
	if share.Stage == len(levels) {
		return w.stageLast(ctx, s, plan, share)
	}
	l := levels[share.Stage]
	stale, err := w.staleIn(ctx, l)
	if err != nil {
		return err
	}
	s.Job, s.To = l.Job, l.Scratch
	return w.make(ctx, s, l, slices.DeleteFunc(stale, func(index []int64) bool { return !share.has(l.Target.Grid, index) }))
}

// stageLast stages a share of the chunks of the new grid.
func (w *work) stageLast(ctx context.Context, s *staging.Stager, plan *blocks.Plan, share Share) error {
	// What was required has listed the source.
	if s.From == nil {
		if err := w.list(ctx); err != nil {
			return err
		}
	}
	list, err := w.stale()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(index []int64) bool {
		c, _ := w.Target.Grid.Chunk(index)
		at, _, err := last(plan).Locate(c.Start)
		return err != nil || !share.has(last(plan), at)
	})
	if err := w.stageBlocks(ctx, s, plan, list); err != nil {
		return err
	}
	return w.done(ctx, share)
}

// required returns the scratch of an earlier stage, which must be complete.
func (w *work) required(ctx context.Context, l *level) (*staging.Reading, error) {
	stale, err := w.staleIn(ctx, l)
	if err != nil {
		return nil, err
	}
	if len(stale) > 0 {
		return nil, unfinished(l.stage-1, l.Target.Grid, stale)
	}
	return w.reading(l), nil
}

// unfinished returns an error that names the tasks of a stage that are not done.
func unfinished(stage int, blocks *grid.Grid, missing [][]int64) error {
	more := ""
	if n := len(missing) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	all, _ := blocks.NumChunks()
	return fmt.Errorf("%w: stage %d lacks task %d%s of %d", ErrUnfinished, stage, numberOf(blocks, missing[0]), more, all)
}

// The shares of the last stage that are done have an object each. So whoever publishes
// can tell a share that nobody has executed from chunks that have changed since.
const doneDir = "done/"

// done notes that a share of the last stage is done.
func (w *work) done(ctx context.Context, share Share) error {
	name := fmt.Sprintf("%s%d-%d", doneDir, max(1, share.Of), share.Task)
	_, err := store.Put(ctx, w.at.Store, recordsOf(w.at, w.claim.ID).MustKey(name), []byte("{}"), w.Node.Durability)
	return err
}

// checkBegun returns an error unless a share of the re-gridding has begun. Publishing
// alone must not leave a claim.
func (s *session) checkBegun(ctx context.Context, old *snapshot.Array) error {
	c, err := s.at.Claim(ctx)
	if err != nil || c != nil {
		return err
	}
	if s.into != nil {
		if err := s.checkFree(ctx, old.Doc); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: no task of any stage is done", ErrUnfinished)
}

// checkDone returns an error unless all shares of the last stage are done.
func (w *work) checkDone(ctx context.Context, plan *blocks.Plan) error {
	names, err := namesIn(ctx, w.at.Store, recordsOf(w.at, w.claim.ID).MustKey(doneDir+"-").Dir(), false)
	if err != nil {
		return err
	}
	tasks := map[int64]map[int64]bool{}
	for _, name := range names {
		var task, of int64
		if n, err := fmt.Sscanf(name, "%d-%d", &of, &task); n < 2 || err != nil {
			continue
		}
		if tasks[of] == nil {
			tasks[of] = map[int64]bool{}
		}
		tasks[of][task] = true
	}
	stage, best := len(plan.Stages)-1, int64(0)
	for of, done := range tasks {
		if int64(len(done)) == of {
			return nil
		}
		if len(done) > len(tasks[best]) {
			best = of
		}
	}
	if best == 0 {
		return fmt.Errorf("%w: no task of stage %d is done", ErrUnfinished, stage)
	}
	missing := int64(0)
	for tasks[best][missing] {
		missing++
	}
	return fmt.Errorf("%w: stage %d lacks task %d/%d", ErrUnfinished, stage, missing, best)
}
