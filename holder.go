package zarr

import (
	"context"
	"errors"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// removing runs a removal of the node while no other call of this process changes it. A
// reservation whose elements are published already does not keep it from going: its
// writer crashed before it could end it, so it is ended here.
//
// A change of several nodes whose writer crashed is finished, or undone, before anything
// is deleted: its journal may stand below the node, and is all that others have of their
// new elements.
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

// settle finishes, or undoes, the change of several nodes that the one at a path is part
// of.
func (n *node) settle(ctx context.Context, p store.Path) error {
	m := node{hierarchy: n.hierarchy, path: p, options: n.options, document: n.document, held: n.held}
	return retry(ctx, func() error {
		_, err := m.finishTogether(ctx)
		return err
	})
}

// alone runs something while it has all turns at the node.
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
	o.Write, o.Finish = false, false // else opening the array would end it, or wait for locks
	a, err := n.hierarchy.at(held.Path).OpenArray(ctx, &o)
	if err != nil {
		return false
	}
	ended, err := a.endPublished(ctx, "")
	return ended && err == nil
}
