// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Abandon gives up a rechunk that is not finished, and deletes the chunks that it has
// staged. The array stays as it is. Another rechunk does so by itself, unless several
// processes share the tasks. If no rechunk has begun, Abandon does nothing. If one
// runs in another process, the error wraps [ErrClaimed], as far as the store has locks to
// tell.
//
// In a store without locks, that process renews a lease while it runs. The error wraps
// ErrClaimed until a minute has passed without that, unless [Options.TakeOver] is set.
// What several processes share, or a program of before has begun, has no lease.
func Abandon(ctx context.Context, a *zarr.Array, opt *Options) error {
	s := newSessionIn(a, opt)
	err := s.writable()
	if err == nil {
		err = s.alone(ctx, s.abandon)
	}
	return s.Fail("abandon", err)
}

// abandoning is the operation of a claim whose staged chunks are being deleted.
const abandoning = "abandon"

func (s *session) abandon(ctx context.Context) error {
	s.letGo(ctx) // it may be the claim of this session
	claim, err := s.claimed(ctx, "")
	if err != nil || claim == nil {
		return err
	}
	if !s.mayResume(claim) {
		return mayRun(claim)
	}
	return s.giveUp(ctx, claim)
}

// giveUp gives up the rechunk of a claim.
func (s *session) giveUp(ctx context.Context, claim *lineage.Claim) error {
	if s.into != nil {
		return s.giveUpThere(ctx, claim)
	}
	if !s.locked {
		s.avoid = &claim.Keys
	}
	// From here on the process that began it can no longer publish: it compares the
	// claim after its warning, and the fence below changes the document after that.
	ours, err := s.takeToGiveUp(ctx, claim)
	if err != nil {
		return err
	}
	err = s.holding(ctx, ours, func() error {
		lock, err := s.Lock.Exclude(ctx)
		if err != nil {
			return err
		}
		defer lock.Release()
		if err := s.unstageAll(ctx, claim); err != nil {
			return err
		}
		return s.dropRecords(ctx, claim.ID)
	})
	if err != nil {
		return err
	}
	return s.at.Drop(ctx, ours)
}

// takeToGiveUp replaces a claim by one that says that its staged chunks are deleted.
func (s *session) takeToGiveUp(ctx context.Context, claim *lineage.Claim) (*lineage.Claim, error) {
	ours := *claim
	ours.ID, ours.Operation, ours.Fingerprint = newID(), abandoning, "abandoned"
	s.sign(&ours, abandoning)
	return &ours, s.at.Replace(ctx, claim, &ours, s.Node.Durability)
}

// unstageAll deletes the staged chunks of a claim. In a store without locks, another
// writer may get in the way. The claim must not be dropped before all are gone: nobody
// would know whose they are. So it is an error if the store cannot delete them.
func (s *session) unstageAll(ctx context.Context, claim *lineage.Claim) error {
	for range mostRounds {
		done := false
		err := s.Update(ctx, s.Node.Node, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
			if claim.InPlace {
				done = true
				return s.unstageMerged(ctx, old, claim)
			}
			// It was published, and only its claim is left.
			if done = sameKeys(claim.Keys, old.Engine.Keys, old.Grid.Rank()); done {
				return nil, nil, nil
			}
			stays := new(staying)
			return &publish.Change{
				Reclaim: func(ctx context.Context, b store.Batch) error {
					return s.unstage(ctx, old.Engine.Keys, claim.Keys, old.Grid.Rank(), b)
				},
				Kept: stays.add,
				Tidy: func(context.Context, store.Batch) error {
					if stays.refused {
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
func (s *session) unstage(ctx context.Context, now, keys metadata.KeyEncoding, rank int, b store.Batch) error {
	example := string(keys.AppendKey(nil, make([]int64, rank)))
	keys, _, _ = parseKey(example, rank, now)
	for e, err := range store.List(ctx, s.at.Store, s.at.Path, true) {
		if err != nil {
			return err
		}
		if _, ok := keys.ParseKey(e.Name, rank, nil); !ok {
			continue
		}
		if err := b.Delete(ctx, s.at.Path.MustKey(e.Name)); err != nil {
			return err
		}
	}
	return nil
}

// unstageMerged returns the change that deletes the staged chunks of a merge in place,
// unless it was published. Earlier versions of this package made such merges.
func (s *session) unstageMerged(ctx context.Context, old *snapshot.Array, c *lineage.Claim) (*publish.Change, *snapshot.Array, error) {
	records, err := s.at.Records(ctx)
	if err != nil || isPublished(records, c, old) {
		return nil, nil, err
	}
	remove := func(ctx context.Context, _ store.Batch) error { return s.at.RemoveMerged(ctx, c.ID) }
	return &publish.Change{Reclaim: remove, Tidy: old.TidyAside}, old, nil
}

// isPublished reports whether the merge in place of a claim was published.
func isPublished(records []*lineage.Record, c *lineage.Claim, now *snapshot.Array) bool {
	return slices.ContainsFunc(lineage.Chain(records, now.Doc), func(r *lineage.Record) bool { return r.ID == c.ID })
}

// dropRecords deletes the records of a rechunk that was not published.
func (s *session) dropRecords(ctx context.Context, id string) error {
	records, err := s.at.Records(ctx)
	if err != nil {
		return err
	}
	old, err := s.Fresh(ctx)
	if err != nil {
		return err
	}
	published := lineage.Chain(records, old.Doc)
	for _, r := range records {
		if r.InPlace && slices.Contains(published, r) {
			continue
		}
		if r.ID == id && (r.InPlace || !hasKeys(r.Successor(), old.Engine.Keys, old.Grid.Rank())) {
			if err := s.at.Remove(ctx, r); err != nil {
				return err
			}
		}
	}
	return removeOwn(ctx, s.at, id)
}
