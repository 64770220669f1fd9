package publish

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"varve.dev/zarr/store"
)

// Part is one node of a change of several.
type Part struct {
	Node
	Plan func(Document) (*Change, error)
}

// After tells others of the nodes that a change of several has published. The journal of
// the change is what tells these nodes' pointers from those of a change that came since.
type After func(ctx context.Context, journal store.Key, nodes []Node) error

// ErrDecided says that a change of several nodes was decided and not finished: not all of
// it is visible yet, and whoever changes one of the nodes next finishes it. The change
// must not be repeated. It is an [ErrIncomplete], too.
var ErrDecided error = decidedError{}

type decidedError struct{}

func (decidedError) Error() string {
	return "the change is decided and not all of it is visible yet: the next writer finishes it"
}

func (decidedError) Is(target error) bool { return target == ErrIncomplete }

// UpdateAll changes several nodes of one store: all of them or none. After the death of
// the writer, [Recover] finishes or undoes what it had begun; every change of one of the
// nodes asks for it first. In this order:
//
//  1. Take all locks, plan on all documents, and stage everything.
//  2. Write a pointer to the journal beside every node. Where there are no locks, raise all fences: whoever plans after
//     that finds the pointer.
//  3. Write the journal, which has all new documents. This is the change: before it nothing is visible, and after it everything will be.
//  4. Publish the documents, and let after tell others, as the group whose metadata has copies of them.
//  5. Remove the journal, then the pointers. Reclaim.
//
// A caller who gives up after 3 does not stop the change, except that it waits for no
// lock any more: then the error is [ErrDecided].
func UpdateAll(ctx context.Context, parts []Part, after After) (err error) {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Part) int { return strings.Compare(a.Path.String(), b.Path.String()) })
	t := &together{after: after, locks: new(Locks)}
	defer func() { err = t.end(err) }()
	for _, p := range parts {
		if err := t.plan(ctx, p); err != nil {
			return err
		}
	}
	if len(t.members) == 0 {
		return nil
	}
	for _, m := range t.members {
		if err := m.run.stage(ctx, m.change); err != nil {
			return err
		}
	}
	if err := t.decide(ctx); err != nil {
		return err
	}
	return t.finish(store.Finishing(ctx))
}

// together is one run of UpdateAll.
type together struct {
	members []*member
	locks   *Locks
	after   After
	journal *journal
	decided bool
	done    bool // everything is published, and the journal is gone
}

// member is a node that has a change.
type member struct {
	node   Node
	old    Document
	change *Change
	run    run
}

// end lets go of all locks.
func (t *together) end(err error) error {
	unlockErr := t.locks.unlock()
	switch {
	case t.decided && !t.done:
		return fmt.Errorf("%w: %w", ErrDecided, errors.Join(err, unlockErr))
	case t.decided:
		return incomplete(err, unlockErr)
	}
	return errors.Join(err, unlockErr)
}

func (t *together) plan(ctx context.Context, p Part) error {
	p.Held = t.locks
	unlock, fenced, err := p.lockOrFence(ctx) // two plans on one document cannot both be published
	if err != nil {
		return err
	}
	t.locks.add(p.Node, unlock)
	old, err := p.read(ctx)
	if err != nil {
		return err
	}
	if err := p.isPending(ctx); err != nil {
		return fmt.Errorf("%s: %w", p.Path, err)
	}
	change, err := p.Plan(old)
	if err != nil || change == nil {
		return err
	}
	run, err := p.begin(old, change, fenced)
	t.members = append(t.members, &member{p.Node, old, change, run})
	return err
}

// decide writes the pointers and the journal. An error that does not wrap
// [ErrOutcomeUnknown] says that nothing was decided.
func (t *together) decide(ctx context.Context) error {
	first := t.members[0].node
	j, err := newJournal(first, rand.Text())
	if err != nil {
		return err
	}
	t.journal = j
	for _, m := range t.members {
		j.add(m)
	}
	for _, m := range t.members {
		p, err := j.pointer(m.node)
		if err == nil {
			err = m.node.point(ctx, p)
		}
		if err != nil {
			return errors.Join(err, t.retract(ctx))
		}
	}
	for _, m := range t.members {
		if err := m.run.secure(ctx); err != nil {
			return errors.Join(err, t.retract(ctx))
		}
	}
	err = j.write(ctx)
	if err != nil && !errors.Is(err, ErrOutcomeUnknown) {
		return errors.Join(err, t.retract(ctx))
	}
	t.decided = err == nil
	return err
}

// retract removes the pointers to a journal that was not written.
func (t *together) retract(ctx context.Context) error {
	ctx = store.Finishing(ctx)
	var errs error
	for _, m := range t.members {
		errs = errors.Join(errs, m.node.unpoint(ctx, t.journal.key))
	}
	return errs
}

// finish publishes what was decided.
func (t *together) finish(ctx context.Context) error {
	for i, m := range t.members {
		version, err := t.journal.publish(ctx, m.node, t.journal.Parts[i])
		if err != nil {
			return err
		}
		if m.change.Published != nil {
			m.change.Published(version)
		}
	}
	if err := t.journal.settle(ctx, t.after, t.journal.nodes()); err != nil {
		return err
	}
	t.done = true
	if err := t.journal.unpoint(ctx); err != nil {
		return err
	}
	for _, m := range t.members {
		if err := m.run.reclaim(ctx, m.change); err != nil {
			return err
		}
	}
	return nil
}

// Recover finishes, or undoes, a change of several nodes whose writer died, if n is one
// of them. It reports whether there was one, so that the document may be another one now,
// or whether somebody holds the node. after is that of [UpdateAll].
func Recover(ctx context.Context, n Node, after After) (found bool, err error) {
	key, p, err := n.journal(ctx)
	if err != nil || key.IsZero() {
		return p.Holder != "", err
	}
	j, err := n.readJournal(ctx, key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, n.undo(ctx, key)
	case err != nil:
		return true, err
	case j.Aborted:
		return true, n.unpoint(ctx, key)
	}
	return true, j.redo(ctx, after)
}

// undo removes the pointer to a journal that was never written, once it is sure that it
// never will be.
func (n Node) undo(ctx context.Context, journal store.Key) (err error) {
	unlock, fenced, err := n.keepOthersAway(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if fenced {
		if err := n.abort(ctx, journal); err != nil {
			return err
		}
	} else if found, err := store.Exists(ctx, n.Store, journal); err != nil || found {
		return errors.Join(err, ErrPending) // it was written while we waited for the lock: look again
	}
	return n.unpoint(ctx, journal)
}

// redo publishes what a journal has decided.
func (j *journal) redo(ctx context.Context, after After) (err error) {
	locks := &Locks{outer: j.node.Held}
	j.node.Held = locks
	defer func() { err = errors.Join(err, locks.unlock()) }()
	for _, p := range j.Parts {
		n := j.node.at(p)
		unlock, _, err := n.keepOthersAway(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the node was removed since
		}
		if err != nil {
			return err
		}
		locks.add(n, unlock)
	}
	if found, err := store.Exists(ctx, j.node.Store, j.key); err != nil || !found {
		return err // another writer has done it while we waited for the locks
	}
	for _, p := range j.Parts {
		if _, err := j.publish(ctx, j.node.at(p), p); err != nil {
			return err
		}
	}
	published, err := j.pointing(ctx)
	if err != nil {
		return err
	}
	if err := j.settle(ctx, after, published); err != nil {
		return err
	}
	return j.unpoint(ctx)
}
