// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// resumed returns the claim of a process with the same request, which this one resumes,
// or nil.
func (s *session) resumed(ctx context.Context) (*lineage.Claim, error) {
	print, err := s.array.fingerprint()
	if err != nil {
		return nil, err
	}
	c, err := s.hold.at.Claim(ctx)
	if c != nil && c.Fingerprint != print {
		c = nil
	}
	return c, err
}

// begin claims the array, or resumes the rechunk that has the same request. It gives
// up another one whose process has ended.
func (s *session) begin(ctx context.Context, old *snapshot.Array) error {
	print, err := s.array.fingerprint()
	if err != nil {
		return err
	}
	s.hold.stopRenewing(ctx)
	for range mostRounds {
		c, err := s.hold.claimed(ctx, print)
		if err != nil {
			return err
		}
		if c != nil && c.Fingerprint != print && !s.publishOnly && s.hold.mayGiveUp(c) {
			// Giving up changes the document of a store without locks, so look again.
			if err = newAbandonment(s).run(ctx, c); err == nil {
				old, err = s.array.fresh(ctx)
			}
			if err != nil {
				return err
			}
			continue
		}
		if c != nil {
			return s.resume(ctx, c, print, old.Grid.Rank())
		}
		if err := s.vacuumFirst(ctx, old); err != nil {
			return err
		}
		keys, err := s.freeKeys(ctx, old)
		if s.needsVacuum(err) {
			continue
		}
		if err != nil {
			return err
		}
		c = s.hold.newClaim(s.array.request.operation(), keys, print, old)
		err = s.hold.at.Take(ctx, c, s.hold.durability)
		if errors.Is(err, lineage.ErrClaimed) {
			continue // another process was faster: look at its claim
		}
		if err != nil {
			return err
		}
		// Another rechunk may have been published between the choice of the keys
		// and the claim. From here on, none can be.
		if old, err = s.array.fresh(ctx); err == nil {
			keys, err = s.freeKeys(ctx, old)
		}
		if err == nil && keys == c.Keys {
			s.hold.claim, s.ledger.began = c, c.Shape
			s.hold.startRenewing(ctx)
			return nil
		}
		if err = errors.Join(err, s.hold.at.Drop(ctx, c)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: others begin and end all the time", ErrClaimed)
}

// likelyKeys returns the keys that a rechunk would use: those of one that has stopped
// and would be resumed, or free ones. The staged chunks of one that has stopped and would
// be given up may have taken the last free keys.
func (s *session) likelyKeys(ctx context.Context, old *snapshot.Array, print string) (metadata.KeyEncoding, error) {
	c, err := s.hold.at.Claim(ctx)
	if err == nil && c != nil && c.Fingerprint == print {
		return c.Keys, nil
	}
	keys, freeErr := s.freeKeys(ctx, old)
	if c != nil && !c.Shared && errors.Is(freeErr, ErrNoKeys) {
		return c.Keys, nil
	}
	return keys, errors.Join(err, freeErr)
}

// planAs makes the session plan its stages as the rechunk with this request does that
// has begun, if any: the array may have grown since.
func (s *session) planAs(ctx context.Context) error {
	c, err := s.resumed(ctx)
	if c != nil {
		s.ledger.began = c.Shape
	}
	return err
}

// freeKeys returns keys that no chunk of the array uses, and that will do.
func (s *session) freeKeys(ctx context.Context, old *snapshot.Array) (metadata.KeyEncoding, error) {
	t, err := s.array.request.target(old)
	if err != nil {
		return 0, err
	}
	var want *metadata.KeyEncoding
	if t != nil {
		want = t.keys
	}
	return freeKeys(ctx, s.hold.at, old.Doc, want, s.hold.avoided, graceOf(s.opt.Grace))
}

// resume takes over a claim with the same request.
func (s *session) resume(ctx context.Context, c *lineage.Claim, print string, rank int) error {
	if c.Fingerprint != print {
		if s.destination != nil { // there is no array to open yet
			return fmt.Errorf("%w: %s; the same %s finishes it, "+remedy.Delete+" of the new array gives it up", ErrClaimed, c.Text(), c.Operation)
		}
		return claimedError(c)
	}
	if !s.hold.mayResume(c) {
		return mayRunError(c)
	}
	s.hold.claim, s.ledger.began = c, c.Shape
	// A shared claim has no lease and no holder: its processes come and go.
	if s.hold.shared && !c.Shared {
		shared := *c
		shared.Shared, shared.Lease, shared.Holder = true, 0, ""
		if err := s.hold.at.Replace(ctx, c, &shared, s.hold.durability); err != nil {
			return err
		}
		s.hold.claim = &shared
	}
	if s.hold.shared {
		return s.notice(ctx)
	}
	err := s.takeOver(ctx, c)
	if err == nil {
		s.ledger.records, err = loadRecords(ctx, s.hold.at, recordsOf(s.hold.at, c.ID), rank, s.opt.memory())
	}
	return err
}

// takeOver makes this process the holder of a claim that it resumes.
func (s *session) takeOver(ctx context.Context, c *lineage.Claim) error {
	s.hold.claim = c
	if !s.hold.needsLease(c) {
		return nil
	}
	ours := *c
	s.hold.sign(&ours, c.Operation)
	// On the condition that the claim has not changed: of several processes that see the
	// lease lapse, one gets it.
	if err := s.hold.at.Replace(ctx, c, &ours, s.hold.durability); err != nil {
		return err
	}
	s.hold.claim = &ours
	// A new array has no document that its former holder could publish on.
	if !c.IsOwn() && s.destination == nil {
		if err := s.array.disturb(ctx); err != nil {
			return err
		}
	}
	s.hold.startRenewing(ctx)
	return nil
}

// notice finds out whether anything is staged. A process that executes shares reads only
// the records of these, and later: there may be very many, and others wait for the lock.
func (s *session) notice(ctx context.Context) error {
	names, err := namesIn(ctx, s.hold.at.Store, recordsOf(s.hold.at, s.hold.claim.ID), store.Flat)
	if len(names) > 0 {
		s.ledger.records = []staging.Record{} // see releaseUnstaged
	}
	return err
}

// Abandon gives up a rechunk that is not finished, and deletes the chunks that it has
// staged. The array stays as it is. Another rechunk gives it up by itself, unless several
// processes share the tasks. If no rechunk has begun, Abandon does nothing. If the store
// has locks, and the rechunk runs in another process, the error wraps [ErrClaimed].
//
// In a store without locks, that process renews a lease while it runs. The error wraps
// ErrClaimed until a minute has passed without a renewal, unless [Options.TakeOver] is
// set. Rechunks that several processes share, or that an earlier version of this package
// has begun, have no lease.
//
// If the claim of the rechunk is damaged, Abandon deletes it. Nobody knows then under
// which keys chunks were staged: [Vacuum] reports them as unexplained and keeps them.
func Abandon(ctx context.Context, a *zarr.Array, opt *Options) error {
	s := newSessionIn(a, opt)
	err := s.array.writable()
	if err == nil {
		err = s.hold.exclusively(ctx, s.abandon)
	}
	if errors.Is(err, lineage.ErrDamagedClaim) {
		err = s.hold.dropDamaged(ctx)
	}
	return s.array.fail("abandon", err)
}

// dropDamaged deletes a damaged claim. A process that has made it cannot publish any
// more, because it compares the claim.
func (h *hold) dropDamaged(ctx context.Context) error {
	leave, err := enter(h.at, true)
	if err != nil {
		return err
	}
	defer leave()
	unlock, _, err := lockDir(ctx, h.at.Store, h.at.Path.MustKey(lockName), patience)
	if err != nil {
		return err
	}
	return errors.Join(h.at.DropDamaged(ctx), unlock())
}

func (s *session) abandon(ctx context.Context) error {
	s.hold.stopRenewing(ctx) // it may be the claim of this call
	claim, err := s.hold.claimed(ctx, "")
	if err != nil || claim == nil {
		return err
	}
	if !s.hold.mayResume(claim) {
		return mayRunError(claim)
	}
	return newAbandonment(s).run(ctx, claim)
}

// abandonment gives up a rechunk that is not finished.
type abandonment struct {
	array *subject
	hold  *hold
	to    *destination // nil in place
}

func newAbandonment(s *session) *abandonment { return &abandonment{s.array, s.hold, s.destination} }

// run gives up the rechunk of a claim.
func (a *abandonment) run(ctx context.Context, claim *lineage.Claim) error {
	if a.to != nil {
		return a.removePlace(ctx, claim)
	}
	// Its process may only be slow, and store a chunk under these keys at any time.
	if !a.hold.locked {
		a.hold.avoided = &claim.Keys
	}
	// From here on the process that began it can no longer publish: it compares the
	// claim after its warning, and the fence below changes the document after that.
	ours, err := a.take(ctx, claim)
	if err != nil {
		return err
	}
	err = a.hold.whileRenewing(ctx, ours, func() error {
		lock, err := a.array.core.Lock().Exclude(ctx)
		if err != nil {
			return err
		}
		defer lock.Release()
		// Chunks first: after a crash in between, the records say what is left.
		if err := a.unstageAll(ctx, claim); err != nil {
			return err
		}
		return a.dropRecords(ctx, claim.ID)
	})
	if err != nil {
		return err
	}
	return a.hold.at.Drop(ctx, ours)
}

// removePlace gives up a new array that is not finished.
func (a *abandonment) removePlace(ctx context.Context, claim *lineage.Claim) error {
	// A published array stays, and so does a node that another program has made.
	found, err := tree.Format(ctx, a.hold.at.Store, a.hold.at.Path)
	if err == nil && found != 0 {
		err = errOccupied
	}
	if err != nil {
		return err
	}
	ours, err := a.take(ctx, claim)
	if err == nil {
		err = a.hold.whileRenewing(ctx, ours, func() error {
			return publish.Batch(ctx, a.hold.at.Store, a.hold.durability, func(ctx context.Context, b store.Batch) error {
				return a.unstage(ctx, claim.Keys, claim.Keys, len(claim.Shape), b)
			})
		})
	}
	// The claim goes last: it says whose values these are. The note lets zarr.Delete
	// remove the place as long as there are any.
	if err == nil {
		err = removeOwn(ctx, a.hold.at, claim.ID)
	}
	if err == nil {
		_, err = store.Write(ctx, a.hold.at.Store, store.Delete(a.to.noteKey()), store.Sync)
	}
	if err != nil {
		return err
	}
	return a.hold.at.Drop(ctx, ours)
}

// take replaces a claim by one that says that its staged chunks are deleted.
func (a *abandonment) take(ctx context.Context, claim *lineage.Claim) (*lineage.Claim, error) {
	ours := *claim
	ours.ID, ours.Operation, ours.Fingerprint = newID(), operationAbandon, "abandoned"
	a.hold.sign(&ours, operationAbandon)
	return &ours, a.hold.at.Replace(ctx, claim, &ours, a.hold.durability)
}

// unstageAll deletes the staged chunks of a claim. In a store without locks, another
// writer may get in the way. The claim must not be dropped before all are gone: nobody
// would know whose they are. So it is an error if the store cannot delete them.
func (a *abandonment) unstageAll(ctx context.Context, claim *lineage.Claim) error {
	for range mostRounds {
		done := false
		err := a.array.core.UpdateAs(ctx, a.array.core.Node.Node, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
			if claim.InPlace {
				done = true
				return a.unstageMerged(ctx, old, claim)
			}
			// It was published, and only its claim is left.
			if done = sameKeys(claim.Keys, old.Engine.Keys, old.Grid.Rank()); done {
				return nil, nil, nil
			}
			kept := new(keptValues)
			return &publish.Change{
				Reclaim: func(ctx context.Context, b store.Batch) error {
					return a.unstage(ctx, old.Engine.Keys, claim.Keys, old.Grid.Rank(), b)
				},
				Kept: kept.add,
				Tidy: func(context.Context, store.Batch) error {
					if kept.refused {
						return fmt.Errorf("%w: %s", zarr.ErrUnsupported, noConditions)
					}
					done = true
					return nil
				},
			}, old, nil
		})
		if err != nil || done {
			return err
		}
	}
	return errBusy
}

// unstage deletes the chunks that are staged under some keys, beside those of now.
func (a *abandonment) unstage(ctx context.Context, now, keys metadata.KeyEncoding, rank int, b store.Batch) error {
	example := string(keys.AppendKey(nil, make([]int64, rank)))
	keys, _, _ = parseKey(example, rank, now)
	for e, err := range store.List(ctx, a.hold.at.Store, a.hold.at.Path, store.Deep) {
		if err != nil {
			return err
		}
		if _, ok := keys.ParseKey(e.Name, rank, nil); !ok {
			continue
		}
		if _, err := b.Write(ctx, store.Delete(a.hold.at.Path.MustKey(e.Name))); err != nil {
			return err
		}
	}
	return nil
}

// unstageMerged returns the change that deletes the staged chunks of a merge in place,
// unless it was published. Earlier versions of this package made such merges.
func (a *abandonment) unstageMerged(ctx context.Context, old *snapshot.Array, c *lineage.Claim) (*publish.Change, *snapshot.Array, error) {
	records, err := a.hold.at.Records(ctx)
	if err != nil || isPublished(records, c, old) {
		return nil, nil, err
	}
	remove := func(ctx context.Context, _ store.Batch) error { return a.hold.at.RemoveMerged(ctx, c.ID) }
	return &publish.Change{Reclaim: remove, Tidy: old.TidyAside}, old, nil
}

// isPublished reports whether the merge in place of a claim was published.
func isPublished(records []*lineage.Record, c *lineage.Claim, now *snapshot.Array) bool {
	return slices.ContainsFunc(lineage.Chain(records, now.Doc), func(r *lineage.Record) bool { return r.ID == c.ID })
}

// dropRecords deletes the records of a rechunk that was not published.
func (a *abandonment) dropRecords(ctx context.Context, id string) error {
	records, err := a.hold.at.Records(ctx)
	if err != nil {
		return err
	}
	old, err := a.array.fresh(ctx)
	if err != nil {
		return err
	}
	published := lineage.Chain(records, old.Doc)
	for _, r := range records {
		// A merge in place that was published has the ID of its claim, too.
		if r.InPlace && slices.Contains(published, r) {
			continue
		}
		if r.ID == id && (r.InPlace || !hasKeys(r.Successor(), old.Engine.Keys, old.Grid.Rank())) {
			if err := a.hold.at.Remove(ctx, r); err != nil {
				return err
			}
		}
	}
	return removeOwn(ctx, a.hold.at, id)
}
