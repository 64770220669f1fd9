// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"cmp"
	"context"

	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// relabel changes only the document, if the stored chunks fit the new grid already. It
// reports whether nothing else is to be done.
func (s *session) relabel(ctx context.Context, old *snapshot.Array) (done bool, err error) {
	fits := func(old *snapshot.Array) (*draft, error) {
		d, err := s.draft(old, old.Engine.Keys)
		if d == nil || err != nil || !d.keepsChunks() {
			return nil, err
		}
		return d, nil
	}
	d, err := fits(old)
	if d == nil || err != nil {
		return false, err
	}
	if err := s.publishPolicy(ctx, d); err != nil {
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
		d, err := fits(old)
		if done = d != nil; err != nil || d == nil {
			return nil, nil, err
		}
		raw, err := d.planned.Doc.Marshal(s.hold.at.Limits)
		s.ledger.report.Policy = d.policy
		return &publish.Change{Document: raw}, d.planned, err
	})
	s.ledger.report.Changed = done && err == nil
	return done, err
}

// fitAttributes publishes the policy that fits the new grid, in format 2, where
// attributes have a document of their own. It comes before the new grid. If that is not
// published, nothing is lost: no array of format 2 can follow such a policy.
func (s *session) fitAttributes(ctx context.Context) error {
	if s.array.core.Node.Format() != 2 || s.destination != nil {
		return nil
	}
	old, err := s.array.fresh(ctx)
	if err != nil {
		return err
	}
	// The policy depends on the grids only, so any keys will do.
	d, err := s.draft(old, old.Engine.Keys)
	if err != nil || d == nil {
		return err
	}
	return s.publishPolicy(ctx, d)
}

// publishPolicy publishes the policy of a draft in format 2.
func (s *session) publishPolicy(ctx context.Context, d *draft) error {
	if d.policy == "" || d.planned.Doc.Format() != 2 || d.copies {
		return nil
	}
	s.ledger.report.Policy = d.policy
	return s.array.core.UpdateAttributesV2(ctx, func(object []byte) ([]byte, error) {
		p, err := s.array.policies(d.old, d.planned)
		if err != nil {
			return nil, err
		}
		edited, _, err := p.edit(object)
		return edited, err
	})
}

// publication makes the new grid of an array visible, once its chunks are staged.
type publication struct {
	session *session
	hold    *hold
	record  *lineage.Record // of the rechunk, once it is stored
}

func newPublication(s *session) *publication { return &publication{session: s, hold: s.hold} }

// run compares what is staged with what is stored, and publishes the new document.
func (p *publication) run(ctx context.Context) error {
	if err := p.session.fitAttributes(ctx); err != nil {
		return err
	}
	array := p.session.array.core
	lock, err := array.Lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := array.UpdateAs(ctx, array.Node.Node, p.change); err != nil {
		return err
	}
	if err := p.checkNotLost(ctx); err != nil {
		return err
	}
	return p.finish(ctx)
}

// checkNotLost returns an error if this rechunk has published nothing because another
// process has given it up and published a grid that needs no change by this request.
func (p *publication) checkNotLost(ctx context.Context) error {
	if p.record != nil {
		return nil
	}
	return p.hold.check(ctx)
}

// change returns the change that publishes the new document.
func (p *publication) change(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
	p.record = nil // the record of an attempt that was not published
	w, err := p.session.work(old)
	if err != nil || w == nil {
		return nil, nil, err
	}
	raw, err := w.draft.planned.Doc.Marshal(w.hold.at.Limits)
	if err != nil {
		return nil, nil, err
	}
	w.ledger.report.Policy = cmp.Or(w.ledger.report.Policy, w.draft.policy)
	// Arrays of this process that were opened before refuse indices of the old planes.
	if p.session.array.movesPlanes() {
		w.draft.planned.Numbering = new(snapshot.Numbering)
	}
	stage := func(ctx context.Context, _ store.Batch) (err error) {
		p.record, err = w.settle(ctx, old.Doc)
		return err
	}
	return &publish.Change{Document: raw, Warn: true, Stage: stage}, w.draft.planned, nil
}

// fewStale is the number of chunks that are staged under the lock. More are staged again
// outside of it, unless that was tried several times.
const fewStale = 64

// settle stages what has changed until nothing has, deletes what does not belong to the
// new grid, and stores the record of the rechunk. It runs after writers were warned, so a
// chunk that is stored after the last comparison is written again by its writer.
func (w *work) settle(ctx context.Context, old *metadata.Array) (*lineage.Record, error) {
	// Another process may have taken the claim, to resume or to abandon it. After the
	// warning, it cannot do so unnoticed: it changes the document, too.
	if err := w.hold.check(ctx); err != nil {
		return nil, err
	}
	for range mostRounds {
		if err := w.listAll(ctx); err != nil {
			return nil, err
		}
		stale, err := w.stale()
		if err != nil {
			return nil, err
		}
		// Writers wait for the lock. Leave it to stage many chunks, but not for ever:
		// with writers that change more chunks than a round stages, only the lock ends
		// it.
		if len(stale) > fewStale && w.ledger.report.Again < mostRounds/2 {
			return nil, errAgain
		}
		if len(stale) == 0 {
			// Listing and staging took time. A process that was stopped meanwhile must
			// not delete chunks of the one that has taken its claim over.
			if err := w.hold.checkLease(ctx); err != nil {
				return nil, err
			}
			if err := w.clear(ctx); err != nil {
				return nil, err
			}
			return w.putLineage(ctx, old)
		}
		// Under the lock there is no progress, and no records are stored: a crash loses
		// little work.
		if err := w.stageAll(ctx, w.stager(), boxesAt(stale), w.ledger.remember); err != nil {
			return nil, err
		}
	}
	return nil, errAgain
}

// clear deletes staged chunks that have only fill values by now, or lie beyond the grid.
func (w *work) clear(ctx context.Context) error {
	return publish.Batch(ctx, w.hold.at.Store, w.hold.durability, func(ctx context.Context, b store.Batch) error {
		for index := range w.draft.job.Surplus(w.stock.wanted, w.stock.targets) {
			if _, err := b.Write(ctx, store.Delete(w.draft.job.Target.Engine.Key(index))); err != nil {
				return err
			}
		}
		// The array has shrunk since they were staged.
		for _, index := range w.stock.targets.BeyondExtent {
			if _, err := b.Write(ctx, store.Delete(w.draft.job.Target.Engine.Key(index))); err != nil {
				return err
			}
		}
		return nil
	})
}

// putLineage stores the record of the rechunk, before the document is published.
func (w *work) putLineage(ctx context.Context, old *metadata.Array) (*lineage.Record, error) {
	// Each attempt has a record, also those of a crashed process whose work this one has
	// resumed. A record is found by its document, and those were never published.
	if err := w.hold.forgetAttempts(ctx); err != nil {
		return nil, err
	}
	r, err := lineage.NewRecord(w.hold.claim.ID, w.hold.claim.Operation, old, w.draft.planned.Doc, w.hold.at.Limits)
	if err != nil {
		return nil, err
	}
	r.By, r.Moved, r.Batch = holder(w.hold.claim.Operation), w.draft.move.Segments != nil, w.opt.Batch
	r.GrowthBefore, r.GrowthAfter = growthOf(old.Attributes), growthOf(w.draft.planned.Doc.Attributes)
	if err := w.hold.at.Put(ctx, r, w.hold.durability); err != nil {
		return nil, err
	}
	// Revert compares the stored chunks with these, to find out what was written since.
	return r, w.hold.at.PutChunks(ctx, r, staging.AppendRecords(nil, w.stock.targets.Records()), w.hold.durability)
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

// finish takes the steps after the document is published. The claim goes last. As long as
// it is there, the next call with this request finds out that it was published, and takes
// the other steps. A crash in here leaves them to [Vacuum].
func (p *publication) finish(ctx context.Context) error {
	ctx = store.Finishing(ctx)
	err := p.conclude(ctx)
	if err == nil {
		err = p.hold.drop(ctx)
	}
	return publish.Incomplete(err)
}

// conclude begins the grace of the superseded grid, and removes the records.
func (p *publication) conclude(ctx context.Context) error {
	if p.session.ledger.report.Changed = p.record != nil; p.record != nil {
		if err := p.hold.at.BeginGrace(ctx, p.record, p.hold.durability); err != nil {
			return err
		}
	}
	return removeOwn(ctx, p.hold.at, p.hold.claim.ID)
}
