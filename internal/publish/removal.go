package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// mostHeld is how many locks of members a removal holds at once. Each may be an open
// file, of which a process has few.
const mostHeld = 1000

// removal is the removal of a node with all nodes below it, whose locks keep writers
// away.
//
// The locks are taken before anything is deleted, so that a removal fails as a whole
// where a member is in use. Writers of an array may want the locks of the groups above
// while they hold that of the array, so members come before the groups that they are in,
// and the arrays in the order in which [UpdateAll] takes them. Of more than mostHeld
// members those that come last are only tried. They are locked once more while they are
// removed, without a wait: a writer who came meanwhile may wait for the lock of the
// group, which is held by then.
//
// Nobody can reserve room in an array whose lock is held, nor begin a change of several,
// so each member is asked under its lock whether it is held or part of an unfinished
// change.
type removal struct {
	Node
	tried []store.Path // arrays whose locks were had, and are not held
	locks *Locks
}

// lockBelow takes the locks of a node and of all nodes below it. It fails where somebody
// holds one of them, or where the node's path is a link.
func (n Node) lockBelow(ctx context.Context) (*removal, error) {
	r := &removal{Node: n, locks: &Locks{outer: n.Held}}
	r.Held = r.locks
	arrays, groups, err := n.below(ctx)
	if err == nil {
		err = n.checkApart(slices.Concat(arrays, groups))
	}
	if err != nil {
		return nil, err
	}
	for i, p := range slices.Concat(arrays, groups) {
		keep := i < mostHeld || p == n.Path
		if err := r.lockMember(ctx, p, keep); err != nil {
			return nil, errors.Join(err, r.locks.unlock())
		}
		if !keep && i < len(arrays) {
			r.tried = append(r.tried, p)
		}
	}
	// A link may have come to be here while a lock was waited for.
	if err := store.CheckTree(n.Store, n.Path); err != nil {
		return nil, errors.Join(err, r.locks.unlock())
	}
	return r, nil
}

// checkApart refuses a node that is mounted below itself, or has below it a directory
// that it is in: its removal would remove more than is below it.
func (n Node) checkApart(members []store.Path) error {
	above, err := store.Identities(n.Store, n.Path)
	if err != nil || len(above) == 0 {
		return nil // links are refused once the locks are held
	}
	for _, p := range members {
		id, err := store.Identify(n.Store, p)
		if err != nil {
			return err
		}
		same := func(x store.Identity) bool { return x != nil && id != nil && x.Same(id) }
		if p != n.Path && slices.ContainsFunc(above, same) {
			return &MemberError{p, errors.New("the node that is to be removed is this one by another name, or lies in it; unmount it first")}
		}
	}
	return nil
}

// lockMember takes the lock of a member, sees that nobody holds it, and keeps the lock or
// lets go of it again.
func (r *removal) lockMember(ctx context.Context, p store.Path, keep bool) error {
	m := r.member(p)
	unlock, err := m.lockIfThere(ctx)
	if err != nil {
		return err
	}
	// The journal of a decided change may stand beside this member, and tell what other
	// nodes are to become: to delete it would undo half of the change. A pointer that
	// nobody can read goes with the node.
	if err := m.isPending(ctx); errors.Is(err, ErrHeld) || errors.Is(err, ErrPending) {
		return errors.Join(&MemberError{p, err}, unlock())
	}
	if !keep {
		return unlock()
	}
	r.locks.add(m, unlock)
	return nil
}

// MemberError says which of the nodes that are to be removed stands against it.
type MemberError struct {
	Path store.Path
	Err  error
}

// Error names the node.
func (e *MemberError) Error() string { return fmt.Sprintf("%q: %v", "/"+e.Path.String(), e.Err) }

// Unwrap returns what is wrong with it.
func (e *MemberError) Unwrap() error { return e.Err }

// Below returns the paths of a node and of the nodes below it that its removal would
// remove.
func Below(ctx context.Context, n Node) ([]store.Path, error) {
	arrays, groups, err := n.below(ctx)
	return append(arrays, groups...), err
}

// member returns the node at a path, of which only the place is known.
func (n Node) member(p store.Path) Node {
	n.Path = p
	return n
}

// delete deletes everything, members without a lock first.
func (r *removal) delete(ctx context.Context) error {
	order := store.TreeOrder{First: documents, Last: Unfinished}
	for _, p := range r.tried {
		m := r.member(p)
		m.Locking.Timeout = -1
		unlock, err := m.lockIfThere(ctx)
		if errors.Is(err, store.ErrLocked) {
			continue
		}
		if err != nil {
			return err
		}
		err = store.DeleteTree(ctx, r.Store, p, order, r.Durability)
		if err = errors.Join(err, unlock()); err != nil {
			return err
		}
	}
	return store.DeleteTree(ctx, r.Store, r.Path, order, r.Durability)
}

// below finds the nodes below n, and n itself among the arrays or as the last of the
// groups: arrays in the order of their paths, and groups after those below them. Links
// are not followed: a removal leaves what they lead to. In a store that cannot be listed
// n is alone.
func (n Node) below(ctx context.Context) (arrays, groups []store.Path, err error) {
	var walk func(dir store.Path) error
	walk = func(dir store.Path) error {
		isNode, isArray, err := n.kindAt(ctx, dir)
		switch {
		case err != nil:
			return err
		case isArray:
			arrays = append(arrays, dir)
			return nil
		case isNode || dir == n.Path:
			groups = append(groups, dir)
		}
		for e, err := range store.List(ctx, n.Store, dir, false) {
			if errors.Is(err, store.ErrUnsupported) {
				return nil
			}
			if err != nil {
				return err
			}
			p, err := dir.Join(e.Name)
			if err != nil || !e.Dir || e.Name == own.Dir || store.CheckTree(n.Store, p) != nil {
				continue
			}
			if err := walk(p); err != nil {
				return err
			}
		}
		return nil
	}
	err = walk(n.Path)
	byPath := func(a, b store.Path) int { return strings.Compare(a.String(), b.String()) }
	slices.SortFunc(arrays, byPath)
	slices.SortFunc(groups, func(a, b store.Path) int { return byPath(b, a) })
	return arrays, groups, err
}

// kindAt tells what is in a directory. A document that says nothing counts as that of an
// array: nobody finds nodes below it.
func (n Node) kindAt(ctx context.Context, dir store.Path) (isNode, isArray bool, err error) {
	for _, name := range [...]string{metadata.V2Array, metadata.V2Group} {
		if found, err := store.Exists(ctx, n.Store, dir.MustKey(name)); err != nil || found {
			return found, found && name == metadata.V2Array, err
		}
	}
	raw, _, err := n.Store.Get(ctx, dir.MustKey(metadata.V3Node), store.Request{Limit: mostDocument}, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, false, nil
	case errors.Is(err, store.ErrTooLarge):
		return true, true, nil
	}
	return err == nil, err == nil && metadata.NodeType(raw) != "group", err
}

// mostDocument is how many bytes of a document are read to learn what node it makes.
const mostDocument = 64 << 20
