// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/scheme"
	"varve.dev/zarr/internal/tree"
)

// Delete removes the node at a location with everything below it, as [Location.Delete]
// does. It refuses a location that is a symbolic link or leads through one within its
// store, because the data has another name then.
func Delete(ctx context.Context, location string, opt *Options) error {
	if err := scheme.RefuseLink(location); err != nil {
		return fail("delete", scheme.Shown(location), err)
	}
	_, err := openAt(ctx, location, opt, func(l *Location) (Node, error) { return nil, l.Delete(ctx, opt) })
	// A store whose root was the node leaves an empty directory behind.
	if err == nil && opt.orZero().Rehearsal == nil {
		scheme.RemoveEmpty(location)
	}
	return err
}

// Delete removes the node with everything below it. If there is no node, the error wraps
// [fs.ErrNotExist]. It holds the locks of the node and of all nodes below it before it
// deletes anything. It deletes links, not what they lead to. While an array has a
// [Reservation], deleting it fails with [ErrConflict].
func (l *Location) Delete(ctx context.Context, opt *Options) error {
	if l.illegal != nil {
		return l.fail("delete", l.illegal)
	}
	h, o := l.merged(opt)
	return l.fail("delete", h.remove(ctx, node{hierarchy: h, path: l.path, options: o}))
}

// remove deletes a node if the check of ctx ([publish.WithCheck]) permits it.
func (h *hierarchy) remove(ctx context.Context, n node) error {
	if err := n.writable(); err != nil {
		return err
	}
	h.sweep(ctx)
	found, err := tree.Format(ctx, h.store, n.path)
	if err != nil {
		return err
	}
	if found == 0 {
		// There is no document, but a removal that crashed after it had deleted the
		// documents can be completed.
		begun, err := n.place().Unfinished(ctx)
		if err != nil {
			return err
		}
		if !begun {
			return tree.Describe(ctx, h.store, n.path)
		}
	}
	if found == 2 {
		n.document = nodename.V2Group // or V2Array: from here on only the format matters
	}
	return n.removing(ctx, func() error {
		return publish.Remove(ctx, n.publisher(), func(ctx context.Context, at publish.Node) error {
			if check := publish.CheckOf(ctx); check != nil {
				if err := check(ctx); err != nil {
					return err
				}
			}
			// Keep the record in the groups above until the removal is certain.
			// RecordMember locks the groups above. A link could lead it to a lock that
			// Remove holds, so pass those on.
			locked := n.place()
			locked.Held = at.Held
			return locked.RecordMember(ctx, nil)
		})
	})
}

// removing runs a removal of the node while no other call of this process changes it. If
// a reservation is published but not ended, because its writer crashed, it is ended here
// and does not prevent the removal.
//
// A pending transaction over several nodes is rolled forward or back before anything is
// deleted. Its journal may be below this node, and the other nodes need it to complete.
func (n *node) removing(ctx context.Context, remove func() error) error {
	for {
		err := n.alone(ctx, remove)
		var member *publish.MemberError
		switch {
		case !errors.As(err, &member):
			return err
		case errors.Is(err, publish.ErrPending):
			at := n.place()
			at.Path = member.Path
			// Then the loop tries the removal again.
			if err := at.FinishPending(ctx); err != nil {
				return err
			}
		case !n.endsAt(ctx, member):
			return err
		}
	}
}

// alone calls do while it holds the exclusive lock of the node.
func (n *node) alone(ctx context.Context, do func() error) error {
	lock, err := n.lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return do()
}

// endsAt ends the reservation of a member of the node if its elements are published, and
// reports whether it did.
func (n *node) endsAt(ctx context.Context, held *publish.MemberError) bool {
	o := n.options
	o.Write, o.Finish = false, false // opening for writing could wait for locks
	a, err := n.hierarchy.at(held.Path).OpenArray(ctx, &o)
	if err != nil {
		return false
	}
	ended, err := a.core.EndPublished(ctx, "")
	return ended && err == nil
}
