// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"time"

	"varve.dev/zarr/internal/lease"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// Where the store has no locks, a claim has a lease: its process renews it while it
// works. Once it was not renewed for that time, by the clock of the store, another
// process may resume or give up the rechunk. The process may only have been stopped,
// so it looks at the claim before each block and when it publishes, and fails if another
// one has it. Each holder has an ID of its own, because a process that resumes a
// rechunk keeps the ID of that.
//
// Claims that several processes share have no lease: their holders come and go. Nor have
// those of programs that renew nothing, where silence means nothing: only a caller who
// knows that such a process has ended may take its claim over ([Options.TakeOver]).

// keeper renews a claim.
type keeper struct {
	at    lineage.Array
	d     store.Durability
	stop  context.CancelFunc
	ended chan struct{}

	lock    chan struct{}  // has room for one; guards what follows
	claim   *lineage.Claim // as it was stored last
	renewed time.Time      // just before that
	unsure  bool           // whether the last renewal was stored is not known
}

// keepRenewing renews a claim until [keeper.unlock] is called. In a store with locks it
// returns nil.
func (h *hold) keepRenewing(ctx context.Context, c *lineage.Claim) *keeper {
	if c.Lease == 0 {
		return nil
	}
	within, stop := context.WithCancel(ctx)
	k := &keeper{at: h.at, d: h.durability, claim: c, renewed: time.Now(), stop: stop, ended: make(chan struct{}), lock: make(chan struct{}, 1)}
	go func() {
		defer close(k.ended)
		lease.Keep(within, c.Lease, func(ctx context.Context) bool {
			k.lock <- struct{}{}
			defer func() { <-k.lock }()
			return !errors.Is(k.renew(ctx), errLost) // after any other error the next renewal tries again
		})
	}()
	return k
}

// renew renews the claim. If another process has it, the error is errLost.
func (k *keeper) renew(ctx context.Context) error {
	ctx = store.Finishing(ctx) // a renewal that is cancelled may be stored nevertheless
	for range mostRounds {
		// The time before the request: the lease counts from when the store has the
		// renewal, which is later. So this process stops before others may take over.
		now, next := time.Now(), *k.claim
		next.Renewed++
		err := k.at.Replace(ctx, k.claim, &next, k.d)
		if err == nil {
			k.claim, k.renewed, k.unsure = &next, now, false
			return nil
		}
		if !errors.Is(err, lineage.ErrClaimed) {
			k.unsure = true
			return err
		}
		if err := k.reload(ctx); err != nil {
			return err
		}
	}
	return errBusy
}

// checkLease returns an error unless the claim is that of this session for some time to
// come. A process that was stopped finds out so before it stores a chunk, without a
// request if it was not.
func (h *hold) checkLease(ctx context.Context) error {
	k := h.keeper
	if k == nil {
		return nil
	}
	k.lock <- struct{}{}
	defer func() { <-k.lock }()
	now := time.Now()
	// One of the two clocks may stand still while the machine sleeps, or be set.
	since := max(now.Sub(k.renewed), now.Round(0).Sub(k.renewed.Round(0)))
	// A quarter of the lease is left for the request that stores the next chunk.
	if since < k.claim.Lease*3/4 {
		return nil
	}
	return k.renew(ctx)
}

// reload reads the claim, which has another version than the one that was stored last: an
// earlier renewal may have been stored without an answer. If another process has the
// claim, the error is errLost.
func (k *keeper) reload(ctx context.Context) error {
	now, err := k.at.Claim(ctx)
	if err != nil {
		return err
	}
	if now == nil || !now.SameHolder(k.claim) {
		return errLost
	}
	k.claim, k.unsure = now, false
	return nil
}

// end ends the renewals, and returns the claim as it is stored, if it is still that of
// this process.
func (k *keeper) end(ctx context.Context) *lineage.Claim {
	k.stop()
	<-k.ended
	if k.unsure {
		_ = k.reload(store.Finishing(ctx)) // without an answer, its version is the last known one
	}
	return k.claim
}

// startRenewing renews the claim of the session until [session.stopRenewing] is called.
func (h *hold) startRenewing(ctx context.Context) {
	c := h.claim
	h.stopRenewing(ctx) // of an earlier one
	h.claim, h.keeper = c, h.keepRenewing(ctx, c)
}

// stopRenewing ends the renewals. After it, s.claim has the version that is stored.
func (h *hold) stopRenewing(ctx context.Context) {
	if h.keeper != nil {
		h.claim, h.keeper = h.keeper.end(ctx), nil
	}
}

// drop deletes the claim of the session.
func (h *hold) drop(ctx context.Context) error {
	h.stopRenewing(ctx)
	return h.at.Drop(ctx, h.claim)
}

// whileRenewing calls do, and renews a claim meanwhile. Afterwards the claim has the
// version that is stored.
func (h *hold) whileRenewing(ctx context.Context, c *lineage.Claim, do func() error) error {
	k := h.keepRenewing(ctx, c)
	err := do()
	if k != nil {
		*c = *k.end(ctx)
	}
	return err
}

// claimed returns the claim on the array, or nil. If only its lease tells whether its
// process still runs, it looks at that. print is the fingerprint of the request.
func (h *hold) claimed(ctx context.Context, print string) (*lineage.Claim, error) {
	c, err := h.at.Claim(ctx)
	if err != nil || c == nil || h.locked || h.takeOver || c.IsOwn() && c.Fingerprint == print {
		return c, err
	}
	return c, h.at.ReadLease(ctx, c)
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

// needsLease reports whether a claim of this session needs a lease.
func (h *hold) needsLease(c *lineage.Claim) bool {
	_, locks := store.As[store.Locker](h.at.Store)
	return !locks && !c.Shared
}

// sign names this process as the holder of a claim.
func (h *hold) sign(c *lineage.Claim, operation string) {
	c.By = holder(operation)
	if h.needsLease(c) {
		c.Holder, c.Lease = newID(), lease.Usual
	}
}

// disturb changes the document, after a claim was taken over. Its holder may
// have been stopped after it had looked at the claim for the last time, and before it
// published: then it looks again.
func (a *subject) disturb(ctx context.Context) error {
	for range mostRounds {
		now, err := a.fresh(ctx)
		if err == nil {
			err = publish.Disturb(ctx, a.core.Node.Node, now.Version)
		}
		switch {
		case errors.Is(err, publish.ErrPending): // its transaction is decided now
			if err := a.core.FinishOthers(ctx); err != nil {
				return err
			}
		// Another writer has changed the document, or there is no other one.
		case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrUnsupported):
			return nil
		default:
			return err
		}
	}
	return errBusy
}
