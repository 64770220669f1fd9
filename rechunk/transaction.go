// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/dimension"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/store"
)

// Part is the rechunk of one array as a part of [DoAll].
type Part struct {
	Array   *zarr.Array
	Request Request
	// Alone permits the array to differ in length afterwards from the other arrays of its
	// group that have the dimension.
	Alone bool
}

// DoAll rechunks several arrays of one store, and publishes all of them in one
// transaction, such as when a range is dropped from all arrays that have a dimension.
// After a crash at any time either all arrays have changed or none has, once the next
// writer has completed or undone the transaction. A call with the same parts resumes it.
//
// Arrays directly below one group that share the name of a dimension must agree along it
// afterwards, including arrays that do not change ([zarr.Group.CheckDimensions]).
// Otherwise the error wraps [zarr.ErrInvalidArgument], unless Alone is set. Other errors
// are those of [Do]. If the transaction is decided and not all of it is visible yet, the
// error wraps [zarr.ErrIncomplete], and the next writer completes it.
//
// The reports have the order of the parts.
func DoAll(ctx context.Context, parts []Part, opt *Options) ([]*Report, error) {
	reports := make([]*Report, len(parts))
	t, err := newTransaction(parts, opt)
	if err != nil {
		return reports, err
	}
	for i, s := range t.sessions {
		reports[i] = &s.ledger.report
	}
	for _, s := range t.sessions {
		if err := s.array.writable(); err != nil {
			return reports, s.array.fail(s.array.request.operation(), err)
		}
	}
	if len(parts) == 0 {
		return reports, nil
	}
	if err := t.prepare(ctx); err != nil {
		return reports, err
	}
	return reports, t.exclusively(ctx, t.run)
}

// NewPlans predicts what [DoAll] would do, as [NewPlan] does.
func NewPlans(ctx context.Context, parts []Part, opt *Options) ([]*Plan, error) {
	t, err := newTransaction(parts, opt)
	if err != nil {
		return nil, err
	}
	if err := t.prepare(ctx); err != nil {
		return nil, err
	}
	plans := make([]*Plan, len(parts))
	for i, s := range t.sessions {
		if plans[i], err = s.plan(ctx); err != nil {
			return nil, s.array.fail(s.array.request.operation(), err)
		}
	}
	return plans, nil
}

// transaction is one call of [DoAll].
type transaction struct {
	parts    []Part
	sessions []*session
	ordered  []*session // by path: all calls lock in this order, so they cannot deadlock
}

func newTransaction(parts []Part, opt *Options) (*transaction, error) {
	if opt.orZero().Into != nil {
		return nil, fmt.Errorf("%w: "+remedy.Into+" is for one array", zarr.ErrInvalidArgument)
	}
	t := &transaction{parts: parts}
	for i, p := range parts {
		if p.Array == nil {
			return nil, fmt.Errorf("%w: part %d has no array", zarr.ErrInvalidArgument, i)
		}
		s := newSessionIn(p.Array, opt)
		if p.Request == nil {
			return nil, s.array.fail(operationOf(nil), errNoRequest)
		}
		s.array.request = p.Request
		t.sessions = append(t.sessions, s)
	}
	t.order()
	return t, nil
}

// order sorts the sessions by path.
func (t *transaction) order() {
	t.ordered = slices.SortedFunc(slices.Values(t.sessions), func(a, b *session) int { return cmp.Compare(a.hold.at.Path.String(), b.hold.at.Path.String()) })
}

// each calls do for every session, and names the array in its error.
func (t *transaction) each(do func(*session) error) error {
	for _, s := range t.ordered {
		if err := do(s); err != nil {
			return s.array.fail(s.array.name(), err)
		}
	}
	return nil
}

// prepare completes the requests, and gives each session the request of the whole
// transaction.
func (t *transaction) prepare(ctx context.Context) error {
	for i, s := range t.ordered {
		if i > 0 && s.hold.at.Path == t.ordered[i-1].hold.at.Path {
			return s.array.fail(s.array.request.operation(), fmt.Errorf("%w: the array is named twice", zarr.ErrInvalidArgument))
		}
	}
	if err := t.each(func(s *session) error { return s.array.identify(ctx) }); err != nil {
		return err
	}
	var all []member
	for _, s := range t.ordered {
		all = append(all, member{s.hold.at.Path.String(), s.array.request.operation(), s.array.request})
	}
	for _, s := range t.sessions {
		s.array.request = jointRequest{s.array.request, all}
	}
	return nil
}

// checkShared returns an error if arrays of one group would differ along a dimension. A
// transaction of another writer becomes visible array by array, so checkShared compares
// again until that transaction is complete.
func (t *transaction) checkShared(ctx context.Context) (err error) {
	for range mostRounds {
		states := map[*session]*snapshot.Array{}
		if err = t.compare(ctx, states); !errors.Is(err, zarr.ErrInvalidArgument) {
			return err
		}
		changed := false
		lookErr := t.each(func(s *session) error {
			if err := s.array.core.FinishOthers(ctx); err != nil {
				return err
			}
			now, err := s.array.fresh(ctx)
			changed = changed || now != states[s]
			return err
		})
		if lookErr != nil || !changed {
			return errors.Join(err, lookErr)
		}
	}
	return err
}

// checkShared returns an error if arrays of one group would differ in length along a
// dimension with the shapes that after returns.
func checkShared(ctx context.Context, op string, arrays []*zarr.Array, after []func(shape []int64) []int64) error {
	if len(arrays) == 0 {
		return nil
	}
	list, changes := make([]*array.Array, len(arrays)), make([]dimension.Change, len(arrays))
	for i, a := range arrays {
		list[i] = a.Core()
		changes[i] = list[i].Reshaping(after[i])
	}
	at, err := array.CheckShared(ctx, list, changes)
	return failure.On(arrays[at], op, err)
}

// compare returns an error if arrays of one group would differ along a dimension in these
// states, which it sets.
func (t *transaction) compare(ctx context.Context, states map[*session]*snapshot.Array) error {
	var arrays []*zarr.Array
	var after []func([]int64) []int64
	for i, s := range t.sessions {
		old, err := s.array.fresh(ctx)
		if err != nil {
			return s.array.fail(s.array.request.operation(), err)
		}
		// CheckShared still compares the others with an array that may differ, because it
		// reads the members of the group. It does not check that array itself.
		if states[s] = old; t.parts[i].Alone {
			continue
		}
		now, err := s.target(old)
		if err != nil {
			return s.array.fail(s.array.request.operation(), err)
		}
		shape := old.Grid.Shape()
		if now != nil {
			shape = now.doc.Shape
		}
		arrays = append(arrays, t.parts[i].Array)
		after = append(after, func(was []int64) []int64 {
			for k := range was {
				was[k] += shape[k] - old.Grid.Axis(k).Extent()
			}
			return was
		})
	}
	if len(arrays) == 0 {
		return nil
	}
	return checkShared(ctx, t.sessions[0].array.request.operation(), arrays, after)
}

// exclusively calls do while no other process stages chunks of any of the arrays. It
// nests the locks of staging in the order of the paths.
func (t *transaction) exclusively(ctx context.Context, do func(context.Context) error) error {
	for _, s := range slices.Backward(t.ordered) {
		within := do
		do = func(ctx context.Context) error {
			// Errors of do name their array already. Those of the lock itself do not.
			err, ran := error(nil), false
			own := s.hold.exclusively(ctx, func(ctx context.Context) error {
				ran, err = true, within(ctx)
				return nil
			})
			if own != nil {
				own = s.array.fail(s.array.name(), own)
			}
			if !ran {
				return own
			}
			return errors.Join(err, own)
		}
	}
	return do(ctx)
}

// run stages all arrays and publishes them.
func (t *transaction) run(ctx context.Context) error {
	if done, err := t.concludeEarlier(ctx); done || err != nil {
		return err
	}
	if err := t.each(func(s *session) error { return s.array.checkUnmoved(ctx) }); err != nil {
		return err
	}
	// Before anything is claimed, because nothing has to be given up after an error here.
	if err := t.checkShared(ctx); err != nil {
		return err
	}
	work, err := t.changingArrays(ctx)
	if err != nil || len(work.ordered) == 0 {
		return err
	}
	if err := work.begin(ctx); err != nil {
		return err
	}
	// The batch is the ID of the first claim, so a process that resumes the claims has
	// the same one.
	for _, s := range work.ordered {
		s.opt.Batch = work.ordered[0].hold.claim.ID
	}
	for range mostRounds {
		// All arrays are staged before one is published. A round finds what was written
		// to the first array while the last one was staged.
		err = work.each(func(s *session) error { return s.stageMissing(ctx) })
		if err == nil {
			err = work.publish(ctx)
		}
		if !errors.Is(err, errAgain) {
			break
		}
		for _, s := range work.ordered {
			s.ledger.report.Again++
		}
	}
	return err
}

// concludeEarlier takes the steps that a process has not taken because it crashed after
// it had published the arrays. It reports whether the requests were these. As long as
// one array has its claim, all of them were published by it.
func (t *transaction) concludeEarlier(ctx context.Context) (done bool, err error) {
	var states []*snapshot.Array
	err = t.each(func(s *session) error {
		old, err := s.array.fresh(ctx)
		if err != nil {
			return err
		}
		states = append(states, old)
		is, err := s.publishedEarlier(ctx, old)
		done = done || is && s.array.movesPlanes()
		return err
	})
	for i, s := range t.ordered {
		if err == nil {
			s.ledger.report.Changed = done
			err = s.array.fail(s.array.request.operation(), s.hold.completePublished(ctx, states[i]))
		}
	}
	return done, err
}

// changingArrays returns the transaction of the arrays that change at all.
func (t *transaction) changingArrays(ctx context.Context) (*transaction, error) {
	work := &transaction{parts: t.parts}
	return work, t.each(func(s *session) error {
		old, err := s.array.fresh(ctx)
		if err != nil {
			return err
		}
		if now, err := s.target(old); err != nil || now == nil {
			return err
		}
		work.ordered = append(work.ordered, s)
		return nil
	})
}

// begin claims all arrays. If one cannot be claimed, it drops the claims on the others.
func (t *transaction) begin(ctx context.Context) error {
	var taken []*session
	err := t.each(func(s *session) error {
		resumes, err := s.resumed(ctx)
		if err != nil {
			return err
		}
		old, err := s.array.fresh(ctx)
		if err != nil {
			return err
		}
		if err := s.prepare(ctx, old); err != nil || resumes != nil {
			return err
		}
		taken = append(taken, s)
		return nil
	})
	if err == nil {
		return nil
	}
	// Claims that were resumed stay: what they have staged is not lost.
	for _, s := range taken {
		err = errors.Join(err, s.releaseUnstaged(ctx))
	}
	return err
}

// publish compares what is staged with what is stored, and publishes all new documents.
func (t *transaction) publish(ctx context.Context) error {
	if err := t.each(func(s *session) error { return s.fitAttributes(ctx) }); err != nil {
		return err
	}
	all := map[*session]*publication{}
	for _, s := range t.ordered {
		all[s] = newPublication(s)
	}
	err := t.update(ctx, func(s *session) changer { return all[s].change })
	if err == nil {
		err = t.each(func(s *session) error { return all[s].checkNotLost(ctx) })
	}
	if err != nil {
		return err
	}
	// Two passes: no claim is dropped before all graces have begun. One that stays tells
	// that all arrays were published.
	ctx = store.Finishing(ctx)
	err = t.each(func(s *session) error { return all[s].conclude(ctx) })
	if err == nil {
		err = t.each(func(s *session) error { return s.hold.drop(ctx) })
	}
	return publish.Incomplete(err)
}

// changer returns the change that a document needs.
type changer = func(*snapshot.Array) (*publish.Change, *snapshot.Array, error)

// update publishes the changes of all documents.
func (t *transaction) update(ctx context.Context, change func(*session) changer) error {
	// In the order of paths, as all transactions do, so that two of them cannot deadlock.
	for _, s := range t.ordered {
		lock, err := s.array.core.Lock().Exclude(ctx)
		if err != nil {
			return s.array.fail(s.array.name(), err)
		}
		defer lock.Release()
		defer s.array.core.Flush(ctx)
	}
	return publish.Retry(ctx, func() error {
		var parts []publish.Participant
		for _, s := range t.ordered {
			parts = append(parts, s.array.core.Participant(ctx, change(s)))
		}
		err := publish.UpdateAll(ctx, parts, tree.Refresh(t.ordered[0].array.core.Node.Limits))
		if !errors.Is(err, publish.ErrPending) {
			return err
		}
		// A crashed writer has left another transaction. Complete it or roll it back, and
		// try again on the documents that it leaves.
		return errors.Join(err, t.each(func(s *session) error { return s.array.core.FinishOthers(ctx) }))
	})
}
