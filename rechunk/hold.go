// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"varve.dev/zarr/internal/lease"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
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

// ErrClaimed means that another rechunk of the array is not finished, and that it
// runs, or may run: several processes share it, or the store has no locks to tell. The
// same request resumes it; [Abandon] gives it up.
var ErrClaimed = lineage.ErrClaimed

// hold is what a call holds in a place of chunks: the claim, and the lock of staging.
type hold struct {
	at         lineage.Array // where is staged
	durability store.Durability
	takeOver   bool // that of [Options]

	claim  *lineage.Claim
	keeper *keeper // of the claim, or nil
	shared bool    // other processes may execute tasks, too
	// locked is set if the store has locks, and they show that no other process works.
	locked bool
	// avoided are keys to which a process may still write that was given up, or nil.
	avoided *metadata.KeyEncoding
}

// newHold returns the hold of a call that stages chunks beside those of an array.
func newHold(n tree.Node, takeOver bool) *hold {
	return &hold{at: lineage.Array{Store: n.Store, Path: n.Path, Limits: n.Limits}, durability: n.Durability, takeOver: takeOver}
}

// mayResume reports whether the process that made a claim has ended, or is this one, or
// shares its tasks with this one. A store with locks tells: the caller holds the lock of
// staging. Elsewhere the lease tells. Whoever works alone has closed a shared claim, and
// then it is its own; one that is open was made after that.
func (h *hold) mayResume(c *lineage.Claim) bool {
	if c.Shared && !c.Closed {
		return h.shared
	}
	_, locks := store.As[store.Locker](h.at.Store)
	return locks || h.takeOver || c.Lapsed() || c.IsOwn() || h.shared && c.Shared
}

// mayGiveUp reports whether a claim of another request can be given up for this one: its
// process has ended. Processes that share tasks may be between two of them.
func (h *hold) mayGiveUp(c *lineage.Claim) bool {
	return (h.locked || h.takeOver || c.Lapsed()) && (!c.Shared || c.Operation == operationAbandon)
}

// operationAbandon is the operation of a claim whose staged chunks are being deleted.
const operationAbandon = "abandon"

// claimed returns the claim on the array, or nil. If only its lease tells whether its
// process still runs, it looks at that. print is the fingerprint of the request.
func (h *hold) claimed(ctx context.Context, print string) (*lineage.Claim, error) {
	c, err := h.at.Claim(ctx)
	if err != nil || c == nil || h.locked || h.takeOver || c.IsOwn() && c.Fingerprint == print {
		return c, err
	}
	return c, h.at.ReadLease(ctx, c)
}

// newClaim returns a claim of this call.
func (h *hold) newClaim(operation string, keys metadata.KeyEncoding, print string, old *snapshot.Array) *lineage.Claim {
	c := &lineage.Claim{
		ID: newID(), Operation: operation, Fingerprint: print, Keys: keys,
		Shared: h.shared, Shape: old.Grid.Shape(),
	}
	h.sign(c, operation)
	return c
}

// sign names this process as the holder of a claim.
func (h *hold) sign(c *lineage.Claim, operation string) {
	c.By = holder(operation)
	if h.needsLease(c) {
		c.Holder, c.Lease = newID(), lease.Usual
	}
}

// needsLease reports whether a claim of this call needs a lease.
func (h *hold) needsLease(c *lineage.Claim) bool {
	_, locks := store.As[store.Locker](h.at.Store)
	return !locks && !c.Shared
}

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

func holder(operation string) store.Holder {
	host, _ := os.Hostname()
	return store.Holder{PID: os.Getpid(), Host: host, Operation: operation, Since: time.Now().UTC().Truncate(time.Second)}
}

// check returns an error if the claim is not that of this call any more.
func (h *hold) check(ctx context.Context) error {
	c, err := h.at.Claim(ctx)
	if err == nil && (c == nil || !c.SameHolder(h.claim)) {
		err = errLost
	}
	return err
}

// checkNotGivenUp returns an error if another process has given this rechunk up: what it
// stores might be in the way of a later one. Where the store has locks, none does.
func (h *hold) checkNotGivenUp(ctx context.Context) error {
	if h.locked {
		return nil
	}
	return h.check(ctx)
}

// claimedError is the error for a claim of another request.
func claimedError(c *lineage.Claim) error {
	if _, ok := c.Remaining(); ok && !c.Lapsed() {
		return mayRunError(c)
	}
	if c.Operation == operationAbandon {
		return fmt.Errorf("%w: %s; "+remedy.Abandon+" completes it", ErrClaimed, c.Text())
	}
	return fmt.Errorf("%w: %s", ErrClaimed, notFinished(c))
}

// notFinished says what has made a claim, and what ends it.
func notFinished(c *lineage.Claim) string {
	text := c.Text()
	if c.Shared { // its holder is whoever was the last to look whether it can be published
		text = fmt.Sprintf("a %.20s whose tasks several processes share", c.Operation)
	}
	return fmt.Sprintf("%s; the same %.20s finishes it, "+remedy.Abandon+" gives it up", text, c.Operation)
}

// mayRunError is the error for a claim whose process may still run. The store has no
// locks that would tell.
func mayRunError(c *lineage.Claim) error {
	if left, ok := c.Remaining(); ok {
		return fmt.Errorf("%w: %s, which may still run: its lease ends in %v, unless it renews it; wait, or say that it has ended ("+remedy.TakeOver+")",
			ErrClaimed, c.Text(), max(left, 0).Round(time.Second))
	}
	return fmt.Errorf("%w: %s, which may still run, and has no lease that would tell; if it has ended, say so ("+remedy.TakeOver+")", ErrClaimed, c.Text())
}

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

// keepRenewing renews a claim until [keeper.end] is called. In a store with locks it
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

// checkLease returns an error unless the claim is that of this call for some time to
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

// startRenewing renews the claim until [hold.stopRenewing] is called.
func (h *hold) startRenewing(ctx context.Context) {
	c := h.claim
	h.stopRenewing(ctx) // of an earlier one
	h.claim, h.keeper = c, h.keepRenewing(ctx, c)
}

// stopRenewing ends the renewals. After it, h.claim has the version that is stored.
func (h *hold) stopRenewing(ctx context.Context) {
	if h.keeper != nil {
		h.claim, h.keeper = h.keeper.end(ctx), nil
	}
}

// drop deletes the claim of the hold.
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
