// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"cmp"
	"context"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// completePublished takes the steps that a process has not taken because it crashed after
// it had published: it begins the grace, and drops the claim.
func (h *hold) completePublished(ctx context.Context, old *snapshot.Array) error {
	c, err := h.claimed(ctx, "")
	if err != nil || c == nil || !sameKeys(c.Keys, old.Engine.Keys, old.Grid.Rank()) {
		return err
	}
	if !h.mayResume(c) {
		return nil // its process may still run, and will do it
	}
	records, err := h.at.Records(ctx)
	if err != nil {
		return err
	}
	if c.InPlace && !isPublished(records, c, old) {
		return nil
	}
	for _, r := range records {
		if r.ID != c.ID {
			continue
		}
		// Vacuum deletes a superseded grid only after its grace, which must not begin
		// before the publication.
		if err := h.at.BeginGrace(ctx, r, h.durability); err != nil {
			return err
		}
	}
	// The claim tells that this request was done, so it goes last.
	if err := removeOwn(ctx, h.at, c.ID); err != nil {
		return err
	}
	return h.at.Drop(ctx, c)
}

// relabel changes only the document, if the stored chunks fit the new grid already. It
// reports whether nothing else is to be done.
func (s *session) relabel(ctx context.Context, old *snapshot.Array) (done bool, err error) {
	fits := func(old *snapshot.Array) (*work, error) {
		w, err := s.workWith(old, old.Engine.Keys)
		if w == nil || err != nil || !w.keepsChunks() {
			return nil, err
		}
		return w, nil
	}
	w, err := fits(old)
	if w == nil || err != nil {
		return false, err
	}
	if err := w.fitAttributes(ctx); err != nil {
		return false, err
	}
	lock, err := s.array.core.Lock().Exclude(ctx)
	if err != nil {
		return false, err
	}
	defer lock.Release()
	// Another writer may have published since: under the lock the chunks need not fit any
	// more. Then the rechunk is staged as usual.
	err = s.array.core.UpdateAs(ctx, s.array.core.Node.Node, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		w, err := fits(old)
		if done = w != nil; err != nil || w == nil {
			return nil, nil, err
		}
		raw, err := w.document()
		s.ledger.report.Policy = w.policy
		return &publish.Change{Document: raw}, w.planned, err
	})
	s.ledger.report.Changed = done && err == nil
	return done, err
}

// errAgain is the conflict of a comparison that found too much to stage under the lock.
var errAgain = fmt.Errorf("%w: chunks were written meanwhile", zarr.ErrConflict)

// errLost is the error of a rechunk whose claim is gone.
var errLost error = final("another process has given this rechunk up")

// check returns an error if the claim is not that of this session any more.
func (h *hold) check(ctx context.Context) error {
	c, err := h.at.Claim(ctx)
	if err == nil && (c == nil || !c.SameHolder(h.claim)) {
		err = errLost
	}
	return err
}

// publish compares what is staged with what is stored, and publishes the new document.
func (s *session) publish(ctx context.Context) error {
	if err := s.fitAttributes(ctx); err != nil {
		return err
	}
	lock, err := s.array.core.Lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := s.array.core.UpdateAs(ctx, s.array.core.Node.Node, s.publication); err != nil {
		return err
	}
	if err := s.checkNotLost(ctx); err != nil {
		return err
	}
	return s.finish(ctx)
}

// checkNotLost returns an error if this rechunk has published nothing because another
// process has given it up and published a grid that needs no change by this request.
func (s *session) checkNotLost(ctx context.Context) error {
	if s.record != nil {
		return nil
	}
	return s.hold.check(ctx)
}

// publication returns the change that publishes the new document.
func (s *session) publication(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
	s.record = nil // the record of an attempt that was not published
	w, err := s.work(old)
	if err != nil || w == nil {
		return nil, nil, err
	}
	raw, err := w.document()
	if err != nil {
		return nil, nil, err
	}
	s.ledger.report.Policy = cmp.Or(s.ledger.report.Policy, w.policy)
	// Arrays of this process that were opened before refuse indices of the old planes.
	if w.session.array.movesPlanes() {
		w.planned.Numbering = new(snapshot.Numbering)
	}
	stage := func(ctx context.Context, _ store.Batch) error { return w.settle(ctx, old.Doc) }
	return &publish.Change{Document: raw, Warn: true, Stage: stage}, w.planned, nil
}

// fewStale is the number of chunks that are staged under the lock. More are staged again
// outside of it, unless that was tried several times.
const fewStale = 64

// settle stages what has changed until nothing has, deletes what does not belong to the
// new grid, and stores the record of the rechunk. It runs after writers were warned, so a
// chunk that is stored after the last comparison is written again by its writer.
func (w *work) settle(ctx context.Context, old *metadata.Array) error {
	// Another process may have taken the claim, to resume or to abandon it. After the
	// warning, it cannot do so unnoticed: it changes the document, too.
	if err := w.session.hold.check(ctx); err != nil {
		return err
	}
	for range mostRounds {
		if err := w.listAll(ctx); err != nil {
			return err
		}
		stale, err := w.stale()
		if err != nil {
			return err
		}
		// Writers wait for the lock. Leave it to stage many chunks, but not for ever:
		// with writers that change more chunks than a round stages, only the lock ends
		// it.
		if len(stale) > fewStale && w.session.ledger.report.Again < mostRounds/2 {
			return errAgain
		}
		if len(stale) == 0 {
			// Listing and staging took time. A process that was stopped meanwhile must
			// not delete chunks of the one that has taken its claim over.
			if err := w.session.hold.checkLease(ctx); err != nil {
				return err
			}
			if err := w.clear(ctx); err != nil {
				return err
			}
			return w.putLineage(ctx, old)
		}
		// Under the lock there is no progress, and no records are stored: a crash loses
		// little work.
		if err := w.stageAll(ctx, w.stager(), boxesAt(stale), w.remember); err != nil {
			return err
		}
	}
	return errAgain
}

// clear deletes staged chunks that have only fill values by now, or lie beyond the grid.
func (w *work) clear(ctx context.Context) error {
	return publish.Batch(ctx, w.session.hold.at.Store, w.session.array.core.Node.Durability, func(ctx context.Context, b store.Batch) error {
		for index := range w.job.Surplus(w.wanted, w.targets) {
			if _, err := b.Write(ctx, store.Delete(w.job.Target.Engine.Key(index))); err != nil {
				return err
			}
		}
		// The array has shrunk since they were staged.
		for _, index := range w.targets.BeyondExtent {
			if _, err := b.Write(ctx, store.Delete(w.job.Target.Engine.Key(index))); err != nil {
				return err
			}
		}
		return nil
	})
}

// putLineage stores the record of the rechunk, before the document is published.
func (w *work) putLineage(ctx context.Context, old *metadata.Array) error {
	// Each attempt has a record, also those of a crashed process whose work this one has
	// resumed. A record is found by its document, and those were never published.
	if err := w.session.hold.forgetAttempts(ctx); err != nil {
		return err
	}
	w.session.record = nil
	r, err := lineage.NewRecord(w.session.hold.claim.ID, w.session.hold.claim.Operation, old, w.planned.Doc, w.session.array.core.Node.Limits)
	if err != nil {
		return err
	}
	r.By, r.Moved, r.Batch = holder(w.session.hold.claim.Operation), w.move.Segments != nil, w.session.opt.Batch
	r.GrowthBefore, r.GrowthAfter = growthOf(old.Attributes), growthOf(w.planned.Doc.Attributes)
	if err := w.session.hold.at.Put(ctx, r, w.session.array.core.Node.Durability); err != nil {
		return err
	}
	w.session.record = r
	// Revert compares the stored chunks with these, to find out what was written since.
	return w.session.hold.at.PutChunks(ctx, r, staging.AppendRecords(nil, w.targets.Records()), w.session.array.core.Node.Durability)
}

// forgetAttempts removes the records of attempts that were not published.
func (h *hold) forgetAttempts(ctx context.Context) error {
	records, err := h.at.Records(ctx)
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.ID == h.claim.ID {
			if err := h.at.Remove(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish begins the grace of the superseded grid, and drops the claim and its records. A
// crash in here leaves them to [Vacuum].
func (s *session) finish(ctx context.Context) error {
	ctx = store.Finishing(ctx)
	s.ledger.report.Changed = s.record != nil
	// The claim goes last. As long as it is there, the next call with this request
	// finds out that it was published, and takes the other steps.
	var err error
	if s.record != nil {
		err = s.hold.at.BeginGrace(ctx, s.record, s.hold.durability)
	}
	if err == nil {
		err = removeOwn(ctx, s.hold.at, s.hold.claim.ID)
	}
	if err == nil {
		err = s.hold.drop(ctx)
	}
	return publish.Incomplete(err)
}
