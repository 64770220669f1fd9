// SPDX-License-Identifier: Apache-2.0

// Package rechunk gives a living array another chunk grid. Readers and writers use the
// array meanwhile, and never see a part of the change.
//
//	report, err := rechunk.Do(ctx, a, rechunk.Compaction{Axis: 0, UpTo: 365}, nil)
//
// A [Request] says what is wanted: a [Compaction] merges neighbouring chunks, a
// [Regularization] gives all chunks one shape, and a [Rechunking] cuts the array in any
// other way. A [Removal] and an [Insertion] take planes out and put planes in. [NewPlan]
// predicts what a request does and costs, without changing anything. [Do] executes a
// request, and [DoAll] executes those of several arrays in one transaction.
//
// # Protocol
//
// Chunk keys are positions in a grid, so a new grid gives old keys new meanings. But the
// core specification has several encodings of keys, which have no key in common. A
// rechunk stores the new chunks under another encoding, and overwrites no stored chunk:
//
//  1. Claim the array, with a key encoding that no chunk uses ([ErrClaimed] tells of
//     another rechunk).
//  2. Stage: store all chunks of the new grid under their keys. Chunks that do not change
//     are linked or copied by the store, and shards are put together from encoded inner
//     chunks. All others are decoded and encoded again. Each staged chunk has a record
//     of the versions that it was made from.
//  3. Take the lock of the array, or raise the fence in a store without locks, and give
//     the document a new version, which warns writers. Compare the records with what is
//     stored now, and stage again what has changed. If the array has grown or shrunk
//     meanwhile, the new grid is computed again from the request.
//  4. Publish the new grid and its key encoding by one conditional write of the document.
//  5. Refresh consolidated metadata, and note when the old grid was superseded.
//
// A crash before step 4 leaves the old array; another call with the same request resumes
// the work. After step 4 the array has the new grid. Readers that opened it before read
// the old chunks, which [Vacuum] deletes when their grace is over.
// Until then [Revert] publishes the old grid again.
//
// Writers of a region take no lock. They look at the document when they have stored their
// chunks. If it was rechunked meanwhile they write again, to the new grid; if they see
// the warning of step 3 they wait for the lock, or make step 4 fail.
//
// Where a new chunk takes parts of many old ones, step 2 has stages: each writes scratch
// objects that the next one reads, and the last one writes the chunks. Several processes
// can execute parts of the stages, and one of them takes the other steps. The programs
// varve and varve-beam do so.
//
// With [Options.Into] the result is a new array, and the old one stays.
package rechunk

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/sharing"
	"varve.dev/zarr/internal/snapshot"
)

// Do rechunks an array, which must be open for writing. The elements stay as they are,
// except for those that a [Removal] takes out.
//
// If another process rechunks the array, the error wraps [ErrClaimed]. If that process
// has ended, the same request resumes its work, and another request gives its work up.
// If all chunk keys are in use, the error wraps [ErrNoKeys]. If writers publish all the
// time, it wraps [zarr.ErrConflict]. In all these cases nothing has changed for
// readers.
func Do(ctx context.Context, a *zarr.Array, r Request, opt *Options) (*Report, error) {
	return execute(ctx, a, r, opt, false)
}

// execute rechunks an array. publishOnly demands that all stages are complete already.
func execute(ctx context.Context, a *zarr.Array, r Request, opt *Options, publishOnly bool) (*Report, error) {
	s, err := newSession(a, r, opt)
	if s.publishOnly = publishOnly; err == nil {
		err = s.array.writable()
	}
	if err == nil {
		err = s.hold.exclusively(ctx, s.run)
	}
	return &s.ledger.report, s.array.fail(operationOf(r), err)
}

// run stages and publishes.
func (s *session) run(ctx context.Context) error {
	if s.destination != nil {
		return s.create(ctx)
	}
	if err := s.array.identify(ctx); err != nil {
		return err
	}
	old, err := s.array.fresh(ctx)
	if err != nil {
		return err
	}
	// An earlier process with this request may have moved the planes. Then nothing is
	// left to do, and the check of the planes must not see their new indices.
	if done, err := s.concludeEarlier(ctx, old); done || err != nil {
		return err
	}
	if err := s.array.checkUnmoved(ctx); err != nil {
		return err
	}
	t, err := s.target(old)
	if err != nil || t == nil {
		return err
	}
	// If the stored chunks fit the new grid, no claim and no free keys are needed.
	if done, err := s.relabel(ctx, old); done || err != nil {
		return err
	}
	if err := s.prepare(ctx, old); err != nil {
		return err
	}
	return s.retry(ctx, s.round)
}

// create makes a new array.
func (s *session) create(ctx context.Context) error {
	old, err := s.array.fresh(ctx)
	if err != nil {
		return err
	}
	if err := s.prepare(ctx, old); err != nil {
		return err
	}
	return newCreation(s).run(ctx)
}

// prepare claims what is staged, or resumes it.
func (s *session) prepare(ctx context.Context, old *snapshot.Array) error {
	// Refuse before a claim is stored: others would have to give it up.
	if err := s.checkRoom(ctx, old); err != nil {
		return err
	}
	if s.publishOnly {
		if err := s.checkBegun(ctx, old); err != nil {
			return err
		}
	}
	if s.destination != nil {
		return newCreation(s).occupy(ctx, old)
	}
	if err := s.checkExpected(ctx, old); err != nil {
		return err
	}
	if err := s.begin(ctx, old); err != nil {
		return err
	}
	return s.confirmPlanes(ctx)
}

// checkBegun returns an error unless a share of the rechunk has begun. Publishing
// alone must not leave a claim.
func (s *session) checkBegun(ctx context.Context, old *snapshot.Array) error {
	c, err := s.hold.at.Claim(ctx)
	if err != nil || c != nil {
		return err
	}
	if s.destination != nil {
		if err := s.destination.checkFree(ctx, old.Doc); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: no task of any stage is done", sharing.ErrUnfinished)
}

// checkExpected returns an error if the array has another extent than the request
// expects. A request that is resumed has begun when it had that extent.
func (s *session) checkExpected(ctx context.Context, old *snapshot.Array) error {
	m, is := singleRequest(s.array.request).(planeMover)
	if !is {
		return nil
	}
	axis, expect := m.planesAt()
	// The array may have grown since the request that is resumed has begun.
	if c, err := s.resumed(ctx); expect == 0 || c != nil || err != nil {
		return err
	}
	if n := old.Grid.Axis(axis).Extent(); n != expect {
		return &grid.AxisError{Axis: axis, Err: fmt.Errorf("%w; it has %s, not %d", errUnexpected, quantity.Count(n, "planes"), expect)}
	}
	return nil
}

// confirmPlanes is checkUnmoved once the array is claimed. From then on planes cannot
// move.
func (s *session) confirmPlanes(ctx context.Context) error {
	err := s.array.checkUnmoved(ctx)
	if err != nil {
		err = errors.Join(err, s.releaseUnstaged(ctx))
	}
	return err
}

// releaseUnstaged drops the claim if nothing is staged.
func (s *session) releaseUnstaged(ctx context.Context) error {
	if s.hold.claim == nil || s.ledger.records != nil {
		return nil
	}
	return s.hold.drop(ctx)
}

// round stages what is missing and tries to publish.
func (s *session) round(ctx context.Context) error {
	if err := s.stageMissing(ctx); err != nil {
		return err
	}
	return newPublication(s).run(ctx)
}

// stageMissing stages what is missing for the present state of the array.
func (s *session) stageMissing(ctx context.Context) error {
	old, err := s.array.fresh(ctx)
	if err != nil {
		return err
	}
	w, err := s.work(old)
	if err != nil || w == nil {
		return err
	}
	if err = w.stage(ctx); err != nil && ctx.Err() == nil {
		return s.array.overtaken(ctx, old, err)
	}
	return err
}

// concludeEarlier takes the steps that a process has not taken because it crashed after
// it had published the array. If its request was this one, and moves planes, done
// reports that nothing is left to do: to do it again would move other planes.
func (s *session) concludeEarlier(ctx context.Context, old *snapshot.Array) (done bool, err error) {
	if s.array.movesPlanes() {
		if done, err = s.publishedEarlier(ctx, old); err != nil {
			return false, err
		}
	}
	s.ledger.report.Changed = done
	return done, s.hold.completePublished(ctx, old)
}

// publishedEarlier reports whether a process has published this request and has not
// taken the steps after that.
func (s *session) publishedEarlier(ctx context.Context, old *snapshot.Array) (bool, error) {
	print, err := s.array.fingerprint()
	if err != nil {
		return false, err
	}
	c, err := s.hold.claimed(ctx, print)
	return err == nil && c != nil && c.Fingerprint == print && sameKeys(c.Keys, old.Engine.Keys, old.Grid.Rank()) && s.hold.mayResume(c), err
}

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
