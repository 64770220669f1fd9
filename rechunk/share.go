// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
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

// Stage executes a share of a rechunk, which several processes may do at once, on
// several machines. Tasks that are done already are not repeated, unless what they were
// made from has changed. When all stages are complete, [Publish] makes the result
// visible. All calls need the same request and the same [Options.Memory], which may not
// be 0: the stages follow from them.
//
// If an earlier stage is not complete, the error wraps [ErrUnfinished] and names a task.
// If the array has the wanted grid already, as after Publish, there is nothing to do. A
// process that executes many shares uses a [Sharing].
func Stage(ctx context.Context, a *zarr.Array, r Request, share Share, opt *Options) (*Report, error) {
	p, err := NewSharing(a, r, opt)
	if err != nil {
		return new(Report), err
	}
	report, err := p.Do(ctx, share)
	return report, errors.Join(err, p.Leave())
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

// shareOf returns which of so many parts of the tasks a block belongs to, given its
// index. Blocks of the shape that the array had when the rechunk began stay in their
// part if it grows.
func shareOf(blocks *grid.Grid, began, index []int64, of int64) int64 {
	if of <= 1 {
		return 0
	}
	number, all := int64(0), int64(1)
	for i, k := range index {
		axis := blocks.Axis(i)
		n := axis.Chunks()
		if len(began) == len(index) && began[i] > 0 && began[i] < axis.Extent() {
			last, _, _ := axis.Locate(began[i] - 1)
			n = last + 1
		}
		if k >= n { // it was appended since
			return numberOf(blocks, index) % of
		}
		number, all = number*n+k, all*n
	}
	// The first block of part k is k*all/of, rounded up.
	part, ok := checked.Mul(number, of)
	if !ok {
		return number % of // as good for so many
	}
	return part / all
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
	return fmt.Errorf("%w: stage %d lacks block %d%s of %d: execute all its tasks again; what is done is not repeated", ErrUnfinished, stage, numberOf(blocks, missing[0]), more, all)
}

// checkBegun returns an error unless a share of the rechunk has begun. Publishing
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
