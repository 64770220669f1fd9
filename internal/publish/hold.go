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

// noHolder is the [ErrHeld] of one who holds a node no more.
type noHolder string

func (h noHolder) Error() string {
	return fmt.Sprintf("%v: %s does not hold the node any more", store.ErrConflict, string(h))
}

func (h noHolder) Is(target error) bool { return target == ErrHeld || target == store.ErrConflict }

// Free returns why n.Holder may not change a node: [ErrPending] or [ErrHeld].
func Free(ctx context.Context, n Node) error { return n.isPending(ctx) }

// Hold gives a node to a holder: from then on [Update] refuses everybody who is not
// n.Holder, until [Release]. The note is for those who find the node held. A node that
// somebody holds already wraps [ErrHeld].
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
	run, err := n.begin(old, &Change{}, fenced)
	if err != nil {
		return err
	}
	if err = n.point(ctx, pointerFile{Holder: n.Holder, Note: note}); err == nil {
		err = run.secure(ctx) // whoever has planned already cannot publish, and whoever plans now finds the holder
	}
	if err != nil {
		err = errors.Join(err, Release(store.Finishing(ctx), n))
	}
	return err
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
