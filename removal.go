package zarr

import (
	"context"
	"errors"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// removing runs a removal of the node while no other call of this process changes it. If a
// reservation is published but not ended, because its writer crashed, it is ended here and
// does not prevent the removal.
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
			if err := n.settle(ctx, member.Path); err != nil {
				return err
			}
		case !n.endsAt(ctx, member):
			return err
		}
	}
}

// settle rolls the pending transaction of the node at a path forward or back.
func (n *node) settle(ctx context.Context, p store.Path) error {
	m := node{hierarchy: n.hierarchy, path: p, options: n.options, document: n.document, held: n.held}
	return retry(ctx, func() error {
		_, err := m.finishTogether(ctx)
		return err
	})
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
	ended, err := a.endPublished(ctx, "")
	return ended && err == nil
}
