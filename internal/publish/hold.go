package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"varve.dev/zarr/store"
)

// ErrHeld says that a node may be changed by its holder only.
var ErrHeld = fmt.Errorf("%w: the node is held", store.ErrConflict)

// Hold gives a node to a holder: from then on [Update] refuses everybody who is not n.Holder, until [Release]. The note is
// for those who find the node held. A node that somebody holds already wraps [ErrHeld].
func Hold(ctx context.Context, n Node, note json.RawMessage) (err error) {
	unlock, fenced, err := n.keepOthersAway(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	old, err := n.read(ctx)
	if err != nil {
		return err
	}
	free := n
	free.Holder = ""
	if err := free.isPending(ctx); err != nil {
		return err
	}
	if err := n.point(ctx, pointerFile{Holder: n.Holder, Note: note}); err != nil {
		return err
	}
	run, err := n.begin(old, &Change{}, fenced)
	if err != nil {
		return err
	}
	// Whoever has planned already cannot publish, and whoever plans from now on finds the holder.
	if err := run.secure(ctx); err != nil {
		return errors.Join(err, Release(context.WithoutCancel(ctx), n))
	}
	return nil
}

// Holder returns who holds a node, and the note; "" where nobody does.
func Holder(ctx context.Context, n Node) (holder string, note json.RawMessage, err error) {
	p, err := n.pointer(ctx)
	return p.Holder, p.Note, err
}

// Release gives a node back that n.Holder holds.
func Release(ctx context.Context, n Node) error {
	p, err := n.pointer(ctx)
	if err != nil || p.Holder != n.Holder {
		return err
	}
	return n.clearPointer(ctx, p)
}
