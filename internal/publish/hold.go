// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"encoding/json"
	"errors"

	"varve.dev/zarr/store"
)

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
	if err = n.point(ctx, pointerFile{Holder: n.Holder, Note: note}); err == nil {
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
