// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
)

// errAlone is the error of processes that share the tasks of a re-gridding in place.
var errAlone = fmt.Errorf("%w: one process alone replaces chunks in place (regrid.Do)", zarr.ErrInvalidArgument)

// replaceInPlace re-grids the array in place; see inplace.go.
func (s *session) replaceInPlace(ctx context.Context, old *snapshot.Array) error {
	if s.staged {
		return errAlone
	}
	r, err := s.replacement(old, planID)
	if err != nil || r == nil {
		return err
	}
	if err := s.prepare(ctx, old); err != nil {
		return err
	}
	return s.again(ctx, s.replaceOnce)
}

// replaceOnce stages what is missing and tries to publish.
func (s *session) replaceOnce(ctx context.Context) error {
	old, err := s.Fresh(ctx)
	if err != nil {
		return err
	}
	r, err := s.replacement(old, s.claim.ID)
	if err != nil {
		return err
	}
	if r != nil {
		if err := r.stage(ctx); err != nil {
			return err
		}
	}
	return s.publishInPlace(ctx)
}

// list lists what is stored now, after it has made sure that every chunk that is to be
// replaced is stored.
func (r *replacement) list(ctx context.Context) error {
	for range mostRounds {
		if err := r.work.list(ctx); err != nil {
			return err
		}
		r.divide(r.wanted, r.sources)
		var missing [][]int64
		for _, n := range r.all {
			index := r.Index(n)
			was, is, reused := r.Reused(index)
			if !reused {
				continue
			}
			if err := r.errAlike(index, was, is); err != nil {
				return err
			}
			if !r.sources.Has(index) {
				missing = append(missing, index)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		if err := r.fill(ctx, r.old, missing); err != nil {
			return err
		}
	}
	return errAgain // a writer deletes them again and again
}

// fill stores chunks of fill values where none are stored.
func (r *replacement) fill(ctx context.Context, s *snapshot.Array, list [][]int64) error {
	err := publish.Batch(ctx, r.Node.Store, r.Node.Durability, func(ctx context.Context, b store.Batch) error {
		for _, index := range list {
			how := engine.Writing{Batch: b, Valid: s.Grid.Shape(), KeepFill: true}
			if err := s.Engine.Claim(ctx, boxAt(index), how); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		return nil // another writer has stored one of them; list again
	}
	return err
}

// stage stages everything that is not staged yet, chunk by chunk.
func (r *replacement) stage(ctx context.Context) error {
	if err := r.list(ctx); err != nil {
		return err
	}
	list, err := r.stale()
	if err != nil || len(list) == 0 {
		return err
	}
	if _, err := r.layout(); err != nil { // finds out whether several chunks fit into the memory
		return err
	}
	p := r.progress(1, 1, len(r.wanted), len(list))
	return r.stageAll(ctx, r.stager(), boxesAt(list), func(ctx context.Context, box grid.Box, records []staging.Record) error {
		if err := saveRecords(ctx, r.at, recordsOf(r.at, r.claim.ID), records, r.Node.Durability); err != nil {
			return err
		}
		p.add(box)
		return r.keep(ctx, box, records)
	})
}

// publishInPlace compares what is staged with what is stored, publishes the new document,
// and moves the staged chunks to their keys.
func (s *session) publishInPlace(ctx context.Context) error {
	if err := s.fitAttributes(ctx); err != nil {
		return err
	}
	lock, err := s.Lock.Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	err = s.Update(ctx, s.Node.Node, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		r, err := s.replacement(old, s.claim.ID)
		if err != nil {
			return nil, nil, err
		}
		if r == nil { // the array has the grid, perhaps because it has shrunk
			return nil, nil, s.forgetAttempts(ctx)
		}
		raw, err := r.document()
		if err != nil {
			return nil, nil, err
		}
		s.report.Policy = cmp.Or(s.report.Policy, r.policy)
		stage := func(ctx context.Context, _ store.Batch) error { return r.settle(ctx) }
		return &publish.Change{Document: raw, Warn: true, Stage: stage, Reclaim: r.next.FetchAside, Tidy: r.next.TidyAside}, r.next, nil
	})
	if err != nil {
		return err
	}
	if s.lineage == nil {
		if err := s.at.RemoveMerged(ctx, s.claim.ID); err != nil {
			return err
		}
	}
	return s.finish(ctx)
}

// forgetAttempts removes the records of attempts that were not published.
func (s *session) forgetAttempts(ctx context.Context) error {
	records, err := s.at.Records(ctx)
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.ID == s.claim.ID {
			if err := s.at.Remove(ctx, r); err != nil {
				return err
			}
		}
	}
	s.lineage = nil
	return nil
}

// settle stages what has changed, and sets the staged chunks aside.
func (r *replacement) settle(ctx context.Context) error {
	return r.stageChanged(ctx, r.list, r.setAside)
}

// setAside sets the staged chunks aside, and stores the record of the re-gridding.
func (r *replacement) setAside(ctx context.Context) error {
	if err := r.clear(ctx); err != nil {
		return err
	}
	// Nothing is staged for a chunk that has only fill values. But something else is
	// stored under its key.
	var hollow [][]int64
	for _, n := range r.all {
		_, takes := slices.BinarySearch(r.wanted, n)
		if index := r.Index(n); !takes || !r.targets.Has(index) {
			hollow = append(hollow, index)
		}
	}
	if err := r.fill(ctx, r.Target, hollow); err != nil {
		return err
	}
	group, within := parallel.New(ctx)
	group.SetLimit(max(1, engine.InFlight(r.Node.Store, 0, tasks)))
	for _, n := range r.all {
		index := r.Index(n)
		// Chunks that the old grid does not have may be stored under their keys at once.
		to, from := r.next.Engine.Key(index), r.Target.Engine.Key(index)
		if _, is, reused := r.Reused(index); reused {
			to = r.at.Path.MustKey(engine.AsideName(is, string(r.next.Engine.Keys.AppendKey(nil, index))))
		}
		group.Go(func() error {
			_, err := store.Clone(within, r.Node.Store, to, from, store.Version{}, 0, r.Node.Durability)
			return err
		})
	}
	if err := group.Wait(nil); err != nil {
		return fmt.Errorf("setting merged chunks aside: %w", err)
	}
	return r.putInPlace(ctx)
}

// putInPlace stores the record of the re-gridding, before the document is published.
func (r *replacement) putInPlace(ctx context.Context) error {
	if err := r.forgetAttempts(ctx); err != nil {
		return err
	}
	record, err := lineage.NewRecord(r.claim.ID, r.claim.Operation, r.old.Doc, r.next.Doc, r.Node.Limits)
	if err != nil {
		return err
	}
	record.By, record.InPlace = holder(r.claim.Operation), true
	if err := r.at.Put(ctx, record, r.Node.Durability); err != nil {
		return err
	}
	r.session.lineage = record
	// As long as this is stored, the staged chunks are, too.
	return r.at.PutChunks(ctx, record, staging.AppendRecords(nil, nil), r.Node.Durability)
}

// abandonInPlace returns the change that deletes the staged chunks of a re-gridding in
// place, unless it was published.
func (s *session) abandonInPlace(ctx context.Context, old *snapshot.Array, c *lineage.Claim) (*publish.Change, *snapshot.Array, error) {
	records, err := s.at.Records(ctx)
	if err != nil || s.isPublished(records, c, old) {
		return nil, nil, err
	}
	dir := s.at.MergedDir(c.ID)
	return &publish.Change{Reclaim: func(ctx context.Context, b store.Batch) error {
		for e, err := range store.List(ctx, s.at.Store, dir, true) {
			if err == nil {
				err = b.Delete(ctx, dir.MustKey(e.Name))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, Tidy: old.TidyAside}, old, nil
}
