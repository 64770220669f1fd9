// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/access"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// RevertAll reverts the last operation on several arrays, of those that are given: a call
// of [DoAll], or all calls with one [Options.Batch]. One transaction publishes again, of
// all arrays that the operation has changed, the grids that they had before, as [Revert]
// does. It returns these arrays. The others stay.
//
// If one of them cannot be reverted, or was rechunked once more, the error wraps
// [ErrNoRevert] and nothing has changed. If the arrays of a group would then differ along
// a dimension, it wraps [zarr.ErrInvalidArgument]. After a crash at any time either all
// arrays are reverted or none is, once the next writer has completed or undone the
// transaction.
func RevertAll(ctx context.Context, arrays []*zarr.Array) ([]*zarr.Array, error) {
	t := new(transaction)
	for _, a := range arrays {
		s := newSessionIn(a, nil)
		if err := s.writable(); err != nil {
			return nil, s.Fail(reverting, err)
		}
		t.parts, t.sessions = append(t.parts, Part{Array: a}), append(t.sessions, s)
	}
	t.order()
	if err := t.each(func(s *session) error { return s.Finish(ctx) }); err != nil {
		return nil, err
	}
	work, err := t.lastBatch(ctx)
	if err != nil {
		return nil, err
	}
	if err := work.checkReverted(ctx); err != nil {
		return nil, err
	}
	var reverted []*zarr.Array
	for _, p := range work.parts {
		reverted = append(reverted, p.Array)
	}
	return reverted, work.alone(ctx, work.revert)
}

// lastBatch returns the transaction of the arrays that the last operation on several has
// changed. Which one was the last is by the clock of the store, or by that of this
// machine as long as no time is noted.
func (t *transaction) lastBatch(ctx context.Context) (*transaction, error) {
	chains := map[*session][]*lineage.Record{}
	last, since := "", time.Time{}
	err := t.each(func(s *session) error {
		old, err := s.Fresh(ctx)
		if err != nil {
			return err
		}
		records, err := s.at.Records(ctx)
		if err != nil {
			return err
		}
		chain := lineage.Chain(records, old.Doc)
		if chains[s] = chain; len(chain) == 0 || chain[0].Batch == "" {
			return nil
		}
		at, err := s.at.GraceSince(ctx, chain[0])
		if at.IsZero() { // its process crashed, or is about to note the time
			at = time.Now()
		}
		if at.After(since) || last == "" {
			last, since = chain[0].Batch, at
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(t.sessions, func(s *session) bool { return len(chains[s]) > 0 }) {
		return nil, errNoFormer
	}
	if last == "" {
		return nil, fmt.Errorf("%w: no operation has changed several of these arrays together, as far as is known; revert them one by one", ErrNoRevert)
	}
	work, id := new(transaction), newID()
	for i, s := range t.sessions {
		switch at := slices.IndexFunc(chains[s], func(r *lineage.Record) bool { return r.Batch == last }); {
		case at == 0:
			s.undoes, s.Batch = last, id
			work.parts, work.sessions = append(work.parts, t.parts[i]), append(work.sessions, s)
		case at > 0:
			return nil, s.Fail(reverting, fmt.Errorf("%w: it was rechunked once more since the last operation on several arrays (%s); revert that first",
				ErrNoRevert, chains[s][0].Operation))
		}
	}
	work.order()
	return work, nil
}

// checkReverted returns an error if arrays of one group would differ along a dimension.
func (t *transaction) checkReverted(ctx context.Context) error {
	var arrays []any
	var after []func([]int64) []int64
	for i, s := range t.sessions {
		old, err := s.Fresh(ctx)
		if err != nil {
			return s.Fail(reverting, err)
		}
		last, err := s.lastRecord(ctx, old)
		if err != nil {
			return s.Fail(reverting, err)
		}
		arrays = append(arrays, t.parts[i].Array)
		after = append(after, func([]int64) []int64 { return slices.Clone(last.Superseded().Shape) })
	}
	return access.CheckShared(ctx, reverting, arrays, after)
}

// revert publishes the grids before.
func (t *transaction) revert(ctx context.Context) error {
	if err := t.each(func(s *session) error { return s.unclaimed(ctx) }); err != nil {
		return err
	}
	if err := t.update(ctx, func(s *session) changer { return s.reversion(ctx) }); err != nil {
		return err
	}
	ctx = store.Finishing(ctx)
	err := t.each(func(s *session) error { return s.at.BeginGrace(ctx, s.lineage, s.Node.Durability) })
	if err != nil {
		return fmt.Errorf("%w: %w", publish.ErrIncomplete, err)
	}
	return nil
}
