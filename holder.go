package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// checkHeld refuses to remove a node while it has a reservation, or one of the nodes below it has one: somebody is about to
// publish elements there. In a store that cannot be listed only the node itself is looked at.
func (h *Hierarchy) checkHeld(ctx context.Context, n node) error {
	if err := n.held(ctx); err != nil {
		return err
	}
	if _, err := h.OpenGroup(ctx, n.path.String(), nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // an array, or a node that cannot be opened: nobody finds nodes below it
	}
	for e, err := range store.List(ctx, h.store, n.path, false) {
		if errors.Is(err, store.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		p, err := n.path.Join(e.Name)
		if err != nil || !e.Dir || e.Name == own.Dir || store.CheckTree(h.store, p) != nil {
			continue // no node, or a link: what it leads to stays
		}
		below := n
		below.path = p
		if err := h.checkHeld(ctx, below); err != nil {
			return err
		}
	}
	return nil
}

// held returns who holds a node, as an error. A reservation whose elements are published already is ended instead: its writer
// died before it could do so.
func (n node) held(ctx context.Context) error {
	err := publish.Free(ctx, n.publisher())
	if !errors.Is(err, publish.ErrHeld) {
		return nil // what else may be wrong goes with the node
	}
	if a, openErr := n.hierarchy.OpenArray(ctx, n.path.String(), &n.options); openErr == nil {
		if ended, _ := a.endPublished(ctx, ""); ended {
			return nil
		}
	}
	return fmt.Errorf("%q: %w", "/"+n.path.String(), err)
}
