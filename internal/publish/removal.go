// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"

	"varve.dev/zarr/internal/directory"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/zarrjson"
	"varve.dev/zarr/store"
)

// documents are the names of all documents of nodes, in the order of their deletion.
// Those of format 2 come first: readers would see them once the document of format 3 is
// deleted.
var documents = []string{nodename.V2Group, nodename.V2Array, nodename.V3Node, nodename.V2Consolidated, nodename.V2Attributes}

// Remove deletes a node and everything below it while it holds their locks. It deletes
// the node's documents first, so that no reader sees half of it, and writes the note
// [Unfinished] in their place: after a crash the removal can be repeated.
//
// If check is not nil, it runs after all locks are taken, and an error from it ends the
// removal before anything is deleted. Its node has these locks as [Node].Held, for
// changes that check makes elsewhere.
//
// If a node has a holder, the error is a [*MemberError] that wraps [ErrHeld]. If one
// belongs to an unfinished transaction, it wraps [ErrPending]; call [Recover] first.
func Remove(ctx context.Context, n Node, check func(context.Context, Node) error) error {
	return n.removeThen(ctx, check, func() error { return nil })
}

// checkKey is the context key of [WithCheck].
type checkKey struct{}

// WithCheck returns a context in which the root package deletes a node only if check
// permits it. check runs while all locks are held, so it sees what will be deleted. It
// must not change the nodes. If it fails, nothing is deleted and the error wraps that of
// check.
func WithCheck(ctx context.Context, check func(context.Context) error) context.Context {
	return context.WithValue(ctx, checkKey{}, check)
}

// CheckOf returns the check of [WithCheck], or nil.
func CheckOf(ctx context.Context) func(context.Context) error {
	check, _ := ctx.Value(checkKey{}).(func(context.Context) error)
	return check
}

// Replace removes a node as [Remove] does, and then creates another one as [Create] does.
// It keeps the locks until the end, so no update of the old node can change the new one.
func Replace(ctx context.Context, n Node, document []byte, beside ...File) (version store.Version, err error) {
	err = n.removeThen(ctx, nil, func() error {
		version, err = Create(ctx, n, document, beside...)
		return err
	})
	return version, err
}

// removeThen removes a node, and calls next before it releases the locks.
func (n Node) removeThen(ctx context.Context, check func(context.Context, Node) error, next func() error) (err error) {
	r, err := n.lockBelow(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.locks.unlock()) }()
	if check != nil {
		if err := check(ctx, r.Node); err != nil {
			return err
		}
	}
	// Afterwards readers do not see the node.
	if err := n.hide(ctx); err != nil {
		return err
	}
	// A crash in here leaves invisible values and the note, so the removal can be
	// repeated.
	if err := r.delete(ctx); err != nil {
		return err
	}
	return next()
}

// hide deletes the documents of the node itself and writes the note. A cancelled context
// does not separate the two: leftovers without the note look like foreign files.
func (n Node) hide(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	hidden := false
	for _, name := range documents {
		found, err := store.Exists(ctx, n.Store, n.Path.MustKey(name))
		if err == nil && found {
			// A crash before the note is written leaves chunks that look like
			// foreign files.
			hidden = true
			_, err = store.Write(ctx, n.Store, store.Delete(n.Path.MustKey(name)), store.Sync)
		}
		if err != nil {
			return err
		}
	}
	if hidden {
		// Ignore the error: the disk may be too full for the note, and this
		// removal frees space.
		_, _ = store.Write(ctx, n.Store, store.Put(n.Path.MustKey(Unfinished), []byte("{}")), n.Durability)
	}
	return nil
}

// Unfinished is the key, relative to a node, of the note that a copy to this place or its
// removal has begun. The note is deleted last. It distinguishes the remains of an
// interrupted call from foreign files.
const Unfinished = own.Dir + "/unfinished.json"

// CheckRemovable returns the error with which [Remove] would fail before it deletes
// anything.
func CheckRemovable(ctx context.Context, n Node) error {
	r, err := n.lockBelow(ctx)
	if err != nil {
		return err
	}
	return r.locks.unlock()
}

// mostHeld bounds the locks that a removal holds at once. Each may be an open file, and
// their number is limited for a process.
const mostHeld = 1000

// removal removes a node and all nodes below it while it holds their locks.
//
// It takes all locks before it deletes anything, so it fails as a whole if a member is in
// use. The order avoids deadlocks: arrays in the order in which [UpdateAll] locks them,
// and each group after its members, because a writer of an array may lock the groups
// above it while it holds the array.
//
// If there are more than mostHeld members, the locks of the last ones are taken and
// released again. Before such a member is deleted, its lock is taken once more, without
// waiting. A concurrent writer may hold it and wait for the group, which this call holds.
//
// Each member is checked for reservations and transactions under its lock. While the lock
// is held, no writer can begin one.
type removal struct {
	Node
	released []store.Path // arrays whose locks were released again
	locks    *Locks
}

// lockBelow locks a node and all nodes below it. It fails if one of them is in use, or if
// the node's path is a symbolic link.
func (n Node) lockBelow(ctx context.Context) (*removal, error) {
	// The deletion fails for such names only after the node is hidden.
	if err := store.DirectoriesOf(n.Store).CheckNames(ctx, n.Path); err != nil {
		return nil, err
	}
	r := &removal{Node: n, locks: &Locks{outer: n.Held}}
	r.Held = r.locks
	arrays, groups, err := n.membersBelow(ctx)
	if err == nil {
		err = n.checkApart(slices.Concat(arrays, groups))
	}
	if err != nil {
		return nil, err
	}
	for i, p := range slices.Concat(arrays, groups) {
		// Beyond mostHeld, only check that the member is free now.
		keep := i < mostHeld || p == n.Path
		if err := r.lockMember(ctx, p, keep); err != nil {
			return nil, errors.Join(err, r.locks.unlock())
		}
		if !keep && i < len(arrays) {
			r.released = append(r.released, p)
		}
	}
	// The directory may have become a link while this call waited for a lock.
	if err := store.DirectoriesOf(n.Store).CheckTree(n.Path); err != nil {
		return nil, errors.Join(err, r.locks.unlock())
	}
	return r, nil
}

// checkApart refuses a node that is mounted below itself, or that has one of its parents
// mounted below it. Its removal would also delete nodes that are not below it.
func (n Node) checkApart(members []store.Path) error {
	above, err := directory.Above(n.Store, n.Path)
	if err != nil || len(above) == 0 {
		return nil // lockBelow refuses links once it has the locks
	}
	for _, p := range members {
		id, err := store.DirectoriesOf(n.Store).Identify(p)
		if err != nil {
			return err
		}
		same := func(x store.Identity) bool { return x.Same(id) }
		if p != n.Path && slices.ContainsFunc(above, same) {
			return &MemberError{p, errors.New("it is another name of the node to be removed, or contains that node; unmount it first")}
		}
	}
	return nil
}

// lockMember locks a member, checks that it is free, and releases the lock unless keep is
// set.
func (r *removal) lockMember(ctx context.Context, p store.Path, keep bool) error {
	m := r.withPath(p)
	unlock, err := m.lockIfThere(ctx)
	if err != nil {
		return err
	}
	// The journal of a committed transaction may be beside this member. To delete it
	// would leave the other nodes half changed. Ignore other errors, so that a node with
	// a damaged pointer can be removed.
	if err := m.checkFree(ctx); errors.Is(err, ErrHeld) || errors.Is(err, ErrPending) {
		return errors.Join(&MemberError{p, err}, unlock())
	}
	if !keep {
		return unlock()
	}
	r.locks.add(m, unlock)
	return nil
}

// MemberError names the node that prevents a removal.
type MemberError struct {
	Path store.Path
	Err  error
}

// Error names the node.
func (e *MemberError) Error() string { return fmt.Sprintf("%q: %v", "/"+e.Path.String(), e.Err) }

// Unwrap returns the reason.
func (e *MemberError) Unwrap() error { return e.Err }

// Below returns the paths of a node and the nodes below it, which a removal would delete.
func Below(ctx context.Context, n Node) ([]store.Path, error) {
	arrays, groups, err := n.membersBelow(ctx)
	return append(arrays, groups...), err
}

// withPath returns the node at a path, to be locked and checked.
func (n Node) withPath(p store.Path) Node {
	n.Path = p
	return n
}

// delete deletes everything, starting with the members whose locks were released.
func (r *removal) delete(ctx context.Context) error {
	order := store.TreeOrder{First: documents, Last: Unfinished}
	for _, p := range r.released {
		m := r.withPath(p)
		m.Locking.Timeout = -1
		unlock, err := m.lockIfThere(ctx)
		// A concurrent writer has locked it. The last call of DeleteTree, under the
		// lock of the group, deletes this member as well.
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

// membersBelow returns n and the nodes below it: arrays sorted by path, and each group
// after the nodes below it. It does not follow links, because a removal keeps their
// targets. If the store cannot list, it returns only n.
func (n Node) membersBelow(ctx context.Context) (arrays, groups []store.Path, err error) {
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
		// A removal has checked the names. It deletes links that lead nowhere.
		for e, err := range store.Usable(store.List(ctx, n.Store, dir, store.Flat)) {
			// Without a listing, no members can be found.
			if errors.Is(err, store.ErrUnsupported) {
				return nil
			}
			if err != nil {
				return err
			}
			p, err := dir.Join(e.Name)
			// Skip names that are not nodes, and symbolic links, whose targets stay.
			if err != nil || !e.Dir || e.Name == own.Dir || store.DirectoriesOf(n.Store).CheckTree(p) != nil {
				continue
			}
			if err := walk(p); err != nil {
				return err
			}
		}
		return nil
	}
	err = walk(n.Path)
	sort.Slice(arrays, func(i, j int) bool { return arrays[i].String() < arrays[j].String() })
	sort.Slice(groups, func(i, j int) bool { return groups[i].String() > groups[j].String() })
	return arrays, groups, err
}

// kindAt returns the kind of node in a directory. A document that cannot be parsed counts
// as that of an array, so below does not look for nodes below it.
func (n Node) kindAt(ctx context.Context, dir store.Path) (isNode, isArray bool, err error) {
	for _, name := range [...]string{nodename.V2Array, nodename.V2Group} {
		if found, err := store.Exists(ctx, n.Store, dir.MustKey(name)); err != nil || found {
			return found, found && name == nodename.V2Array, err
		}
	}
	raw, _, err := n.Store.Get(ctx, dir.MustKey(nodename.V3Node), store.Request{Limit: mostDocument}, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, false, nil
	case errors.Is(err, store.ErrTooLarge):
		return true, true, nil
	}
	return err == nil, err == nil && zarrjson.NodeType(raw) != "group", err
}

// mostDocument bounds the bytes that are read of a document to find the kind of its node.
const mostDocument = 64 << 20
