// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sort"
	"sync/atomic"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
)

// Participant is one node of a transaction.
type Participant struct {
	Node
	Plan func(Document) (*Change, error)
}

// ErrDecided reports that a transaction is committed but not finished: not all of it is
// visible yet. The next writer of one of its nodes finishes it. Do not repeat the change.
// errors.Is(err, [ErrIncomplete]) is true as well.
var ErrDecided error = decidedError{}

type decidedError struct{}

func (decidedError) Error() string {
	return "the change is decided and not all of it is visible yet: the next writer finishes it"
}

func (decidedError) Is(target error) bool { return target == ErrIncomplete }

// UpdateAll changes several nodes of one store: all of them or none.
//
//  1. Lock all nodes, and plan on all documents. Warn the writers of all nodes whose
//     change asks for it, and stage all chunks.
//  2. Store a pointer to the journal beside every node. In a store without locks, raise
//     all fences, so that every later plan finds a pointer.
//  3. Store the journal with all new documents. This commits the transaction.
//  4. Publish the documents, and call after.
//  5. Delete the journal, then the pointers. Reclaim superseded chunks, and unlock the
//     nodes.
//
// After a crash, [Recover] rolls the transaction back if it was not committed, and
// forward if it was. Every writer of one of the nodes calls Recover first.
//
// Once step 3 is done, a cancelled context no longer stops the transaction. It only ends
// the waits for locks; then the error is [ErrDecided].
func UpdateAll(ctx context.Context, parts []Participant, after After) (err error) {
	parts = slices.Clone(parts)
	// All writers lock in the order of paths, so they cannot deadlock.
	sort.Slice(parts, func(i, j int) bool { return parts[i].Path.String() < parts[j].Path.String() })
	t := &transaction{after: after, locks: new(Locks)}
	defer func() { err = t.unlock(err) }()
	if err := t.plan(ctx, parts); err != nil {
		return err
	}
	if len(t.members) == 0 {
		return nil
	}
	// Warn everywhere before anything is compared: see [Change.Warn].
	err = t.each(ctx, func(m *member) error {
		if !m.change.Warn {
			return nil
		}
		return m.run.warn(ctx)
	})
	if err != nil {
		return err
	}
	if err := t.stage(ctx); err != nil {
		return err
	}
	if err := t.commit(ctx); err != nil {
		return err
	}
	return t.finish(store.Finishing(ctx))
}

// transaction is one run of UpdateAll.
type transaction struct {
	members   []*member
	locks     *Locks
	after     After
	journal   *journal
	committed bool
	done      bool // everything is published, and the journal is deleted
}

// unlock releases all locks.
func (t *transaction) unlock(err error) error {
	unlockErr := t.locks.unlock()
	switch {
	case t.committed && !t.done:
		return fmt.Errorf("%w: %w", ErrDecided, errors.Join(err, unlockErr))
	case t.committed:
		return Incomplete(err, unlockErr)
	}
	return errors.Join(err, unlockErr)
}

// plan runs step 1 without staging.
func (t *transaction) plan(ctx context.Context, parts []Participant) error {
	all := make([]*member, len(parts))
	for i, p := range parts {
		p.Held = t.locks
		// In contrast to excludeWriters, fail if this call holds the lock already: two
		// changes of one document cannot both be published.
		unlock, fenced, err := p.lockOrFence(ctx)
		if err != nil {
			return err
		}
		t.locks.add(p.Node, unlock)
		all[i] = &member{node: p.Node, fenced: fenced}
	}
	err := t.eachOf(ctx, all, func(m *member) (err error) {
		if m.old, err = m.node.read(ctx); err != nil {
			return err
		}
		if err := m.node.checkFree(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.node.Path, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, m := range all {
		if m.change, err = parts[i].Plan(m.old); err != nil {
			return err
		}
		if m.change == nil {
			continue
		}
		if m.run, err = m.node.begin(m.old, m.change, m.fenced); err != nil {
			return err
		}
		t.members = append(t.members, m)
	}
	return nil
}

// each calls do for every member.
func (t *transaction) each(ctx context.Context, do func(m *member) error) error {
	return t.eachOf(ctx, t.members, do)
}

// shares is the number of parts into which the caller's budget is divided.
const shares = 1 << 10

// stage stages the chunks of the first member, and then those of the others, as many at
// once as the caller's budget allows. Two transactions of the same nodes meet at the
// first one, before they have stored anything else. A crash or failure leaves orphaned
// chunks.
func (t *transaction) stage(ctx context.Context) error {
	first, others := t.members[0], t.members[1:]
	if err := first.run.stage(ctx, first.change); err != nil {
		return err
	}
	all, failed := budget.New(shares), atomic.Bool{}
	return t.eachOf(ctx, others, func(m *member) error {
		n, err := all.Acquire(ctx, m.change.parts())
		if err != nil {
			return err
		}
		defer all.Release(n)
		if failed.Load() { // the rest would be staged in vain
			return nil
		}
		if err = m.run.stage(ctx, m.change); err != nil {
			failed.Store(true)
		}
		return err
	})
}

// parts returns the share of the change, of [shares].
func (c *Change) parts() int64 {
	if c.Share <= 0 || c.Share >= 1 {
		return shares
	}
	return int64(math.Ceil(c.Share * shares))
}

// eachOf calls do for every member, for several at once in a store without locks. It
// waits for all of them.
func (t *transaction) eachOf(ctx context.Context, members []*member, do func(m *member) error) error {
	if len(members) == 0 || members[0].node.AtOnce() == 1 {
		for _, m := range members {
			if err := do(m); err != nil {
				return err
			}
		}
		return nil
	}
	// The requests have the caller's context: one that fails must not stop the others in
	// the middle.
	group, _ := parallel.New(ctx)
	group.SetLimit(members[0].node.AtOnce())
	for _, m := range members {
		group.Go(func() error { return do(m) })
	}
	return group.Wait(nil)
}

// commit runs steps 2 and 3. After an error that does not wrap [ErrOutcomeUnknown], the
// transaction is not committed.
func (t *transaction) commit(ctx context.Context) error {
	first := t.members[0].node
	j, err := newJournal(first, rand.Text())
	if err != nil {
		return err
	}
	t.journal = j
	for _, m := range t.members {
		j.add(m)
	}
	err = t.each(ctx, func(m *member) error {
		p, err := j.pointer(m.node)
		if err == nil {
			// A crash between two of these writes leaves pointers to a
			// journal that does not exist. Recovery rolls such a transaction
			// back.
			err = m.node.setPointer(ctx, p)
		}
		return err
	})
	if err == nil {
		// Without locks, a concurrent writer may have planned before the pointer
		// was stored. The fence makes its publish fail.
		err = t.each(ctx, func(m *member) error { return m.run.secure(ctx) })
	}
	if err != nil {
		return errors.Join(err, t.removePointers(ctx))
	}
	err = j.write(ctx)
	// If the outcome is unknown, keep the pointers. The journal may be stored, and
	// recovery finds it through them.
	if err != nil && !errors.Is(err, ErrOutcomeUnknown) {
		return errors.Join(err, t.removePointers(ctx))
	}
	t.committed = err == nil
	return err
}

// removePointers removes the pointers to a journal that was not stored.
func (t *transaction) removePointers(ctx context.Context) error {
	ctx = store.Finishing(ctx)
	var errs error
	for _, m := range t.members {
		errs = errors.Join(errs, m.node.removePointer(ctx, t.journal.key))
	}
	return errs
}

// finish runs steps 4 and 5. A crash leaves some documents published and others not;
// recovery publishes the rest.
func (t *transaction) finish(ctx context.Context) error {
	for i, m := range t.members {
		m.part = t.journal.Parts[i]
	}
	err := t.each(ctx, func(m *member) error {
		var err error
		m.version, err = t.journal.publish(ctx, m.node, m.part)
		m.published = err == nil
		return err
	})
	for _, m := range t.members {
		if m.published && m.change.Published != nil {
			m.change.Published(m.version)
		}
	}
	if err != nil {
		return err
	}
	if err := t.journal.conclude(ctx, t.after, t.journal.nodes()); err != nil {
		return err
	}
	// From here on the journal is gone, so nothing can publish these documents again.
	t.done = true
	// A crash in here leaves pointers without a journal, which recovery removes.
	if err := t.each(ctx, func(m *member) error { return m.node.removePointer(ctx, t.journal.key) }); err != nil {
		return err
	}
	// A crash in here leaves superseded chunks, which readers never look up.
	for _, m := range t.members {
		if err := m.run.reclaim(ctx, m.change); err != nil {
			return err
		}
	}
	return nil
}

// Recover finishes an interrupted transaction to which n belongs. It rolls a committed
// transaction forward and any other one back. found reports whether there was one, in
// which case the document may have changed, or whether n has a holder. after is that of
// [UpdateAll].
func Recover(ctx context.Context, n Node, after After) (found bool, err error) {
	key, p, err := n.journal(ctx)
	if err != nil || key.IsZero() {
		return p.Holder != "", err
	}
	j, err := n.readJournal(ctx, key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Not committed, or finished except for the pointers. Both need only the
		// removal of the pointer.
		return true, n.rollBack(ctx, key)
	case err != nil:
		return true, err
	case j.Aborted:
		// Another recovery rolled the transaction back and crashed before it
		// removed the pointer.
		return true, n.removePointer(ctx, key)
	}
	return true, j.rollForward(ctx, after)
}

// rollBack removes the pointer to a journal that was never stored, after making sure that
// it never will be.
func (n Node) rollBack(ctx context.Context, journal store.Key) (err error) {
	unlock, fenced, err := n.excludeWriters(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if fenced {
		// The writer may still be running. An aborted journal under the same key
		// makes its conditional write fail.
		if err := n.abort(ctx, journal); err != nil {
			return err
		}
	} else if found, err := store.Exists(ctx, n.Store, journal); err != nil || found {
		// The writer stored its journal while this call waited for the lock.
		return errors.Join(err, ErrPending)
	}
	return n.removePointer(ctx, journal)
}

// rollForward publishes the documents of a stored journal.
func (j *journal) rollForward(ctx context.Context, after After) (err error) {
	locks := &Locks{outer: j.node.Held}
	j.node.Held = locks
	defer func() { err = errors.Join(err, locks.unlock()) }()
	for _, p := range j.Parts {
		n := j.node.nodeOfPart(p)
		unlock, _, err := n.excludeWriters(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a concurrent writer removed the node
		}
		if err != nil {
			return err
		}
		locks.add(n, unlock)
	}
	if found, err := store.Exists(ctx, j.node.Store, j.key); err != nil || !found {
		// A concurrent recovery finished the transaction while this one waited
		// for the locks. To publish again could undo a later change.
		return err
	}
	for _, p := range j.Parts {
		if _, err := j.publish(ctx, j.node.nodeOfPart(p), p); err != nil {
			return err
		}
	}
	published, err := j.pointingNodes(ctx)
	if err != nil {
		return err
	}
	if err := j.conclude(ctx, after, published); err != nil {
		return err
	}
	return j.removePointers(ctx)
}

// CheckFree returns an error if n.Holder may not change the node: [ErrPending] or
// [ErrHeld].
func CheckFree(ctx context.Context, n Node) error { return n.checkFree(ctx) }

// Hold reserves a node for n.Holder. Until [Release], [Update] refuses all other writers
// with [ErrHeld]. Other programs can read the note ([Holder]). If the node has a holder
// already, the error wraps [ErrHeld].
func Hold(ctx context.Context, n Node, note json.RawMessage) (err error) {
	unlock, fenced, err := n.excludeWriters(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	old, err := n.read(ctx)
	if err != nil {
		return err
	}
	// Any holder is an error here, even this one.
	free := n
	free.Holder = ""
	if err := free.checkFree(ctx); err != nil {
		return err
	}
	run, err := n.begin(old, &Change{}, fenced)
	if err != nil {
		return err
	}
	if err = n.setPointer(ctx, pointerFile{Holder: n.Holder, Note: note}); err == nil {
		// Plans that began before the pointer was written cannot publish after
		// this. Later plans find the pointer.
		err = run.secure(ctx)
	}
	if err != nil {
		// The answer to point may be lost, so the pointer may be stored even if
		// point failed. Release removes it only if it names this holder.
		err = errors.Join(err, Release(store.Finishing(ctx), n))
	}
	return err
}

// Holder returns the holder of a node and its note, or "" if the node has none.
func Holder(ctx context.Context, n Node) (holder string, note json.RawMessage, err error) {
	p, err := n.pointer(ctx)
	return p.Holder, p.Note, err
}

// Release ends the hold of n.Holder. If another holder has the node, it does nothing.
func Release(ctx context.Context, n Node) error {
	p, err := n.pointer(ctx)
	if err != nil || p.Holder != n.Holder {
		return err
	}
	return n.clearPointer(ctx, p)
}
