package publish

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// mostHeld is how many locks of members a removal holds at once. Each may be an open file, of which a process has few.
const mostHeld = 1000

// removal is the removal of a node with all nodes below it, whose locks keep writers away.
//
// The locks are taken before anything is deleted, so that a removal fails as a whole where a member is in use. Writers of an
// array may want the locks of the groups above while they hold that of the array, so members come before the groups that
// they are in, and the arrays in the order in which [UpdateAll] takes them. Of more than mostHeld members those that come
// last are only tried. They are locked once more while they are removed, without a wait: a writer who came meanwhile may
// wait for the lock of the group, which is held by then.
type removal struct {
	Node
	tried   []store.Path // arrays whose locks were had, and are not held
	unlocks []func() error
}

// lockBelow takes the locks of a node and of all nodes below it.
func (n Node) lockBelow(ctx context.Context) (*removal, error) {
	r := &removal{Node: n}
	arrays, groups, err := n.below(ctx)
	if err != nil {
		return r, err
	}
	all := slices.Concat(arrays, groups)
	for i, p := range all {
		unlock, err := n.member(p).lockAmong(ctx, all[:i])
		if err != nil {
			return r, errors.Join(err, r.unlock())
		}
		if i < mostHeld || p == n.Path {
			r.unlocks = append(r.unlocks, unlock)
			continue
		}
		if i < len(arrays) {
			r.tried = append(r.tried, p)
		}
		if err := unlock(); err != nil {
			return r, errors.Join(err, r.unlock())
		}
	}
	return r, nil
}

// lockAmong takes the lock of a node. One that is held may be that of one of the others which were locked before: what is
// mounted in a store has two paths there, and nobody is to wait for himself.
func (n Node) lockAmong(ctx context.Context, others []store.Path) (func() error, error) {
	once := n
	once.Locking.Timeout = -1
	unlock, err := once.lockIfThere(ctx)
	if !errors.Is(err, store.ErrLocked) {
		return unlock, err
	}
	for _, p := range others {
		if same, err := store.SameDirectory(n.Store, n.Path, p); same && err == nil {
			return func() error { return nil }, nil
		}
	}
	return n.lockIfThere(ctx)
}

// Below returns the paths of a node and of the nodes below it that its removal would remove.
func Below(ctx context.Context, n Node) ([]store.Path, error) {
	arrays, groups, err := n.below(ctx)
	return append(arrays, groups...), err
}

// member returns the node at a path, of which only the place is known.
func (n Node) member(p store.Path) Node {
	n.Path = p
	return n
}

// unlock lets go of all locks, of groups after those of their members.
func (r *removal) unlock() (err error) {
	for _, unlock := range r.unlocks {
		err = errors.Join(err, unlock())
	}
	r.unlocks = nil
	return err
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

// below finds the nodes below n, and n itself among the arrays or as the last of the groups: arrays in the order of their
// paths, and groups after those below them. Links are not followed: a removal leaves what they lead to. In a store that
// cannot be listed n is alone.
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

// kindAt tells what is in a directory. A document that says nothing counts as that of an array: nobody finds nodes below it.
func (n Node) kindAt(ctx context.Context, dir store.Path) (isNode, isArray bool, err error) {
	for _, name := range [...]string{metadata.V2Array, metadata.V2Group} {
		if found, err := store.Exists(ctx, n.Store, dir.Key(name)); err != nil || found {
			return found, found && name == metadata.V2Array, err
		}
	}
	raw, _, err := n.Store.Get(ctx, dir.Key(metadata.V3Node), store.Request{Limit: mostDocument}, nil)
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

type checkKey struct{}

// WithCheck returns a context whose [Remove] calls next, after what ctx has for that, once all locks are held and nothing is deleted yet, and deletes
// nothing where that fails.
func WithCheck(ctx context.Context, next func(context.Context) error) context.Context {
	return context.WithValue(ctx, checkKey{}, func(within context.Context) error {
		if err := check(ctx); err != nil {
			return err
		}
		return next(within)
	})
}

// check calls what [WithCheck] was given.
func check(ctx context.Context) error {
	if c, ok := ctx.Value(checkKey{}).(func(context.Context) error); ok {
		return c(ctx)
	}
	return nil
}
