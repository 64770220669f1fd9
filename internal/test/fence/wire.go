// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"bytes"
	"context"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/storetest"
)

// wire is a network between programs and an object store that delivers writes and
// deletions on conditions late or twice. A late one may arrive at any time, also after
// its program has given up or crashed. A nil wire delivers every request once.
type wire struct {
	storetest.ObjectStore
	next   int      // what happens to the next request: noFault, delay, delayAndCrash or repeat
	late   []func() // writes on their way
	hashed bool     // versions are hashes of the content
}

// newWire returns a wire, and the store at its near end.
func newWire(s storetest.ObjectStore) (*wire, storetest.ObjectStore) {
	w := &wire{ObjectStore: s}
	if d, ok := s.(store.Drafter); ok {
		w.hashed = true
		return w, wireWithDrafts{w, d}
	}
	return w, w
}

// carry delivers a request.
func (w *wire) carry(request func() (store.Version, error)) (store.Version, error) {
	switch w.next {
	case delay, delayAndCrash:
		w.late = append(w.late, func() { _, _ = request() })
		return store.Version{}, storetest.ErrLost
	case repeat:
		_, _ = request()
	}
	return request()
}

func (w *wire) PutIf(ctx context.Context, key store.Key, value []byte, c store.Condition, d store.Durability) (store.Version, error) {
	ctx, value = context.WithoutCancel(ctx), bytes.Clone(value) // the caller writes to it after this call
	return w.carry(func() (store.Version, error) { return w.ObjectStore.PutIf(ctx, key, value, c, d) })
}

func (w *wire) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	// Where versions come back, a late deletion may hit what another writer has stored
	// again. CORRECTNESS.md says so.
	if w.hashed {
		return w.ObjectStore.DeleteIf(ctx, key, v)
	}
	ctx = context.WithoutCancel(ctx)
	_, err := w.carry(func() (store.Version, error) { return store.Version{}, w.ObjectStore.DeleteIf(ctx, key, v) })
	return err
}

// all is the number of writes to deliver in the end.
const all = -1

// deliver delivers n late writes, the first ones first.
func (w *wire) deliver(n int) {
	for ; w.hasLate() && n != 0; n-- {
		w.late[0]()
		w.late = w.late[1:]
	}
}

func (w *wire) hasLate() bool { return w != nil && len(w.late) > 0 }

// wireWithDrafts is a wire to a store with drafts.
type wireWithDrafts struct {
	*wire
	drafter store.Drafter
}

func (w wireWithDrafts) Draft(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Draft, error) {
	made, err := w.drafter.Draft(ctx, key, value, d)
	return sentDraft{made, w.wire}, err
}

func (w wireWithDrafts) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	if d, ok := keep.(sentDraft); ok {
		keep = d.Draft
	}
	return w.drafter.Revoke(ctx, key, keep)
}

// sentDraft is a draft that is published over a wire.
type sentDraft struct {
	store.Draft
	wire *wire
}

func (d sentDraft) Publish(ctx context.Context, c store.Condition) (store.Version, error) {
	ctx = context.WithoutCancel(ctx)
	return d.wire.carry(func() (store.Version, error) { return d.Draft.Publish(ctx, c) })
}

// store returns the process as a store. It has drafts if the shared store has.
func (p *process) store() store.Store {
	if _, ok := p.direct.(store.Drafter); ok {
		return processWithDrafts{p}
	}
	return p
}

// processWithDrafts is a process whose store has drafts.
type processWithDrafts struct{ *process }

func (p processWithDrafts) Draft(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Draft, error) {
	s, key, err := p.at(key, false)
	if err != nil {
		return nil, err
	}
	made, err := store.MakeDraft(ctx, s, key, p.common(key, value), d)
	if err != nil {
		return nil, err
	}
	return repeatedDraft{made, p.process}, nil
}

func (p processWithDrafts) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	s, key, err := p.at(key, false)
	if err != nil {
		return err
	}
	if d, ok := keep.(repeatedDraft); ok {
		keep = d.Draft
	}
	return store.RevokeDrafts(ctx, s, key, keep)
}

// repeatedDraft is a draft whose publication the driver repeats.
type repeatedDraft struct {
	store.Draft
	p *process
}

func (d repeatedDraft) Publish(ctx context.Context, c store.Condition) (store.Version, error) {
	return d.p.repeat(c, func() (store.Version, error) { return d.Draft.Publish(ctx, c) })
}
