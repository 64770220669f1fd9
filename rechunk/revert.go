// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
)

// ErrNoRevert means that the grid before the last rechunk cannot be published again.
var ErrNoRevert error = final("the grid before cannot be published again")

// Revert publishes the grid again that the array had before its last rechunk. That is
// possible as long as nothing was written since, and as long as [Vacuum] has not deleted
// the old chunks; otherwise the error wraps [ErrNoRevert]. Attributes stay as they are,
// but a stored growth policy that the rechunk has changed comes back.
func Revert(ctx context.Context, a *zarr.Array) error {
	s := newSessionIn(a, nil)
	err := s.array.writable()
	if err == nil {
		err = s.hold.exclusively(ctx, newReversion(s, "").run)
	}
	return s.array.fail("revert", err)
}

// reversion publishes the grid again that an array had before its last rechunk.
type reversion struct {
	array  *subject
	hold   *hold
	batch  string          // that the record of the reversion gets, or ""
	of     string          // the batch that is reverted, or "" for any rechunk
	record *lineage.Record // of the reversion, once it is stored
}

func newReversion(s *session, of string) *reversion {
	return &reversion{array: s.array, hold: s.hold, batch: s.opt.Batch, of: of}
}

func (r *reversion) run(ctx context.Context) error {
	if err := r.hold.checkUnclaimed(ctx); err != nil {
		return err
	}
	lock, err := r.array.core.Lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := r.array.core.UpdateAs(ctx, r.array.core.Node.Node, r.change(ctx)); err != nil {
		return err
	}
	return r.beginGrace(store.Finishing(ctx))
}

// beginGrace notes when the grid was superseded that was reverted.
func (r *reversion) beginGrace(ctx context.Context) error {
	return r.hold.at.BeginGrace(ctx, r.record, r.hold.durability)
}

// checkUnclaimed returns an error if a rechunk of the array is not finished.
func (h *hold) checkUnclaimed(ctx context.Context) error {
	c, err := h.at.Claim(ctx)
	if err != nil || c == nil {
		return err
	}
	return claimedError(c)
}

// errNoFormer means that no grid but the present one is stored. Its text also says that
// no element is lost, because readers of the message fear for them.
var errNoFormer = fmt.Errorf("%w: there is no rechunk to revert, or its former grid has been removed by a vacuum; "+
	"nothing is lost, the present grid has all elements, and "+remedy.Rechunk+" gives them any other grid", ErrNoRevert)

// change returns the change that publishes the grid before again.
func (r *reversion) change(ctx context.Context) changer {
	return func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		last, err := r.hold.lastRecord(ctx, old)
		if err == nil && r.of != "" && last.Batch != r.of {
			err = fmt.Errorf("%w: another rechunk was published meanwhile", ErrNoRevert)
		}
		if err != nil {
			return nil, nil, err
		}
		next, err := r.formerArray(old, last)
		if err != nil {
			return nil, nil, err
		}
		if last.Moved {
			next.Numbering = new(snapshot.Numbering)
		}
		raw, err := next.Doc.Marshal(r.hold.at.Limits)
		if err != nil {
			return nil, nil, err
		}
		stage := func(ctx context.Context, _ store.Batch) error {
			// After the warning: a chunk that is written from here on is written again
			// by its writer, to the grid that is published.
			if err := r.checkUnchanged(ctx, old, last); err != nil {
				return err
			}
			if r.record != nil { // of an attempt that was not published
				if err := r.hold.at.Remove(ctx, r.record); err != nil {
					return err
				}
				r.record = nil
			}
			made, err := lineage.NewRecord(newID(), operationRevert, old.Doc, next.Doc, r.hold.at.Limits)
			if err != nil {
				return err
			}
			made.GrowthBefore, made.GrowthAfter = growthOf(old.Doc.Attributes), growthOf(next.Doc.Attributes)
			made.By, made.Moved, made.Batch = holder(operationRevert), last.Moved, r.batch
			r.record = made
			return r.hold.at.Put(ctx, made, r.hold.durability)
		}
		return &publish.Change{Document: raw, Warn: true, Stage: stage}, next, nil
	}
}

// formerArray returns the array with the grid before the last rechunk.
func (r *reversion) formerArray(old *snapshot.Array, last *lineage.Record) (*snapshot.Array, error) {
	doc, err := last.Superseded().WithAttributes(old.Doc.Attributes)
	if err != nil {
		return nil, err
	}
	next, err := r.array.bind(doc, nil)
	if err != nil {
		return nil, err
	}
	attributes, err := (&policies{before: old, after: next, keepsCuts: true}).reverted(doc.Attributes, last)
	if err == nil {
		next.Doc, err = doc.WithAttributes(attributes)
	}
	return next, err
}

// lastRecord returns the record of the last rechunk.
func (h *hold) lastRecord(ctx context.Context, old *snapshot.Array) (*lineage.Record, error) {
	records, err := h.at.Records(ctx)
	if err != nil {
		return nil, err
	}
	chain := lineage.Chain(records, old.Doc)
	if len(chain) == 0 {
		return nil, errNoFormer
	}
	// Earlier versions of this package merged in place, over the old chunks.
	if chain[0].InPlace {
		return nil, fmt.Errorf("%w: chunks were replaced in place, so the old ones are gone", ErrNoRevert)
	}
	if last := chain[0]; slices.Equal(last.Successor().Shape, old.Doc.Shape) {
		return last, nil
	}
	return nil, fmt.Errorf("%w: the array has another shape since", ErrNoRevert)
}

// checkUnchanged returns an error if a chunk was written after the rechunk.
func (r *reversion) checkUnchanged(ctx context.Context, old *snapshot.Array, last *lineage.Record) error {
	data, err := r.hold.at.Chunks(ctx, last)
	if errors.Is(err, fs.ErrNotExist) && last.Operation == operationRevert {
		return fmt.Errorf("%w: the last change of the grid was a revert, which is not reverted; repeat what it has undone", ErrNoRevert)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: it is not known what was published", ErrNoRevert)
	}
	if err != nil {
		return err
	}
	was, err := staging.ParseRecords(data, old.Grid.Rank())
	if err != nil {
		return fmt.Errorf("%w: %s is damaged, so it is not known what was published; the present grid has all elements, and "+remedy.Rechunk+" gives them any other grid: %w",
			ErrNoRevert, r.hold.at.ChunksKey(last), err)
	}
	now, err := staging.List(ctx, old)
	if err != nil {
		return err
	}
	// The old chunks lack what was written since. Other versions, or another number of
	// chunks, show that something was.
	changed := len(was) != now.Len()
	for _, c := range was {
		if changed = changed || now.Digest(c.Index) != c.Version; changed {
			return fmt.Errorf("%w: chunks were written since, such as %v", ErrNoRevert, c.Index)
		}
	}
	if changed {
		return fmt.Errorf("%w: chunks were written since", ErrNoRevert)
	}
	return nil
}

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
		if err := s.array.writable(); err != nil {
			return nil, s.array.fail(operationRevert, err)
		}
		t.parts, t.sessions = append(t.parts, Part{Array: a}), append(t.sessions, s)
	}
	t.order()
	if err := t.each(func(s *session) error { return s.array.core.FinishOthers(ctx) }); err != nil {
		return nil, err
	}
	work, batch, err := t.lastBatch(ctx)
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
	return reverted, work.exclusively(ctx, func(ctx context.Context) error { return work.revert(ctx, batch) })
}

// lastBatch returns the transaction of the arrays that the last operation on several has
// changed, and its batch. Which one was the last is by the clock of the store, or by that
// of this machine as long as no time is noted.
func (t *transaction) lastBatch(ctx context.Context) (work *transaction, last string, err error) {
	chains, since := map[*session][]*lineage.Record{}, time.Time{}
	err = t.each(func(s *session) error {
		old, err := s.array.fresh(ctx)
		if err != nil {
			return err
		}
		records, err := s.hold.at.Records(ctx)
		if err != nil {
			return err
		}
		chain := lineage.Chain(records, old.Doc)
		if chains[s] = chain; len(chain) == 0 || chain[0].Batch == "" {
			return nil
		}
		at, err := s.hold.at.GraceSince(ctx, chain[0])
		if at.IsZero() { // its process crashed, or is about to note the time
			at = time.Now()
		}
		if at.After(since) || last == "" {
			last, since = chain[0].Batch, at
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	// No array has a former grid: say so, rather than that no batch is known.
	if !slices.ContainsFunc(t.sessions, func(s *session) bool { return len(chains[s]) > 0 }) {
		return nil, "", errNoFormer
	}
	if last == "" {
		return nil, "", fmt.Errorf("%w: no operation is known that has changed several of these arrays together; revert them one by one", ErrNoRevert)
	}
	work = new(transaction)
	id := newID()
	for i, s := range t.sessions {
		// An array that is not in the batch stays. One that was rechunked after the batch
		// would have to be reverted twice.
		switch at := slices.IndexFunc(chains[s], func(r *lineage.Record) bool { return r.Batch == last }); {
		case at == 0:
			s.opt.Batch = id
			work.parts, work.sessions = append(work.parts, t.parts[i]), append(work.sessions, s)
		case at > 0:
			return nil, "", s.array.fail(operationRevert, fmt.Errorf("%w: it was rechunked once more since the last operation on several arrays (%s); revert that first",
				ErrNoRevert, chains[s][0].Operation))
		}
	}
	work.order()
	return work, last, nil
}

// checkReverted returns an error if arrays of one group would differ along a dimension.
func (t *transaction) checkReverted(ctx context.Context) error {
	var arrays []*zarr.Array
	var after []func([]int64) []int64
	for i, s := range t.sessions {
		old, err := s.array.fresh(ctx)
		if err != nil {
			return s.array.fail(operationRevert, err)
		}
		last, err := s.hold.lastRecord(ctx, old)
		if err != nil {
			return s.array.fail(operationRevert, err)
		}
		arrays = append(arrays, t.parts[i].Array)
		after = append(after, func([]int64) []int64 { return slices.Clone(last.Superseded().Shape) })
	}
	return checkShared(ctx, operationRevert, arrays, after)
}

// revert publishes the grids before a batch.
func (t *transaction) revert(ctx context.Context, batch string) error {
	if err := t.each(func(s *session) error { return s.hold.checkUnclaimed(ctx) }); err != nil {
		return err
	}
	all := map[*session]*reversion{}
	for _, s := range t.sessions {
		all[s] = newReversion(s, batch)
	}
	if err := t.update(ctx, func(s *session) changer { return all[s].change(ctx) }); err != nil {
		return err
	}
	ctx = store.Finishing(ctx)
	return publish.Incomplete(t.each(func(s *session) error { return all[s].beginGrace(ctx) }))
}
