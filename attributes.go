// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// UpdateAttributes publishes the attributes that change returns for the newest ones. Both
// are JSON objects; their spelling and order are kept. [metadata.SetAttribute] and
// [metadata.UnsetAttribute] help. The array is locked while change runs, so change must not
// change the array in another way. It may run again if another writer publishes first.
func (a *Array) UpdateAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	if a.isV2() {
		return a.fail("set attributes", a.updateAttributesV2(ctx, change))
	}
	err := a.update(ctx, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		raw, err := change(bytes.Clone(old.Doc.Attributes))
		if err != nil {
			return nil, nil, err
		}
		doc, err := old.Document().WithAttributes(raw)
		if err != nil {
			return nil, nil, err
		}
		next, err := a.binding().Bind(doc, old.Grid, store.Version{})
		if err != nil {
			return nil, nil, err
		}
		document, err := doc.Marshal(a.options.Limits.metadata())
		return &publish.Change{Document: document}, next, err
	})
	return a.fail("set attributes", err)
}

// UpdateAttributes publishes the attributes that change returns for the newest ones, as
// [Array.UpdateAttributes] does. The group has them after it is opened again.
func (g *Group) UpdateAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	if err := g.writable(); err != nil {
		return g.fail("set attributes", err)
	}
	update := g.updateAttributes
	if g.isV2() {
		update = func(ctx context.Context, change func([]byte) ([]byte, error)) error {
			_, err := g.publishAttributes(ctx, change)
			return err
		}
	}
	if err := update(ctx, change); err != nil {
		return g.fail("set attributes", err)
	}
	return g.fail("set attributes", g.hierarchy.refreshGroup(store.Finishing(ctx), g.node))
}

// updateAttributes is UpdateAttributes for a group of format 3.
func (g *Group) updateAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	return publish.Update(ctx, g.publisher(), func(d publish.Document) (*publish.Change, error) {
		doc, err := metadata.ParseGroup(d.Bytes, g.options.Limits.metadata())
		if err != nil {
			return nil, err
		}
		raw, err := change(bytes.Clone(doc.Attributes))
		if err != nil {
			return nil, err
		}
		if doc, err = doc.WithAttributes(raw); err != nil {
			return nil, err
		}
		document, err := doc.Marshal(g.options.Limits.metadata())
		return &publish.Change{Document: document}, err
	})
}

// publishAttributes publishes attributes of a node of format 2, which have a document of
// their own, and returns them.
func (n *node) publishAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) (object []byte, err error) {
	at, l := n.publisher(), n.options.Limits.metadata()
	at.Document = metadata.V2Attributes
	err = retry(ctx, func() error {
		var refused error // what change says, which may also be that something does not exist
		err := publish.Update(ctx, at, func(d publish.Document) (*publish.Change, error) {
			old, err := metadata.ParseAttributesV2(d.Bytes, l)
			if err != nil {
				return nil, err
			}
			if object, refused = change(bytes.Clone(old)); refused != nil {
				return nil, refused
			}
			document, err := metadata.MarshalAttributesV2(object, l)
			return &publish.Change{Document: document}, err
		})
		switch {
		case refused != nil:
			return err
		case errors.Is(err, publish.ErrPending):
			_, othersErr := n.finishTogether(ctx)
			return errors.Join(othersErr, err)
		case errors.Is(err, fs.ErrNotExist):
			return n.beginAttributes(ctx, at)
		}
		return err
	})
	return object, err
}

// beginAttributes writes the document of the attributes for a node that has none, which
// is then to be changed.
func (n *node) beginAttributes(ctx context.Context, at publish.Node) error {
	if _, err := store.Stat(ctx, n.hierarchy.store, n.key()); err != nil {
		return err // there is no such node any more
	}
	if _, err := publish.Create(ctx, at, []byte("{}\n")); err != nil {
		return err
	}
	return store.ErrConflict // so that this is tried again
}

// updateAttributesV2 is UpdateAttributes for an array of format 2.
func (a *Array) updateAttributesV2(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	if err := a.writable(); err != nil {
		return err
	}
	raw, err := a.publishAttributes(ctx, change)
	if err != nil {
		return err
	}
	for {
		s := a.state.Load()
		doc, err := s.Doc.WithAttributes(raw)
		if err != nil {
			return err
		}
		next, err := a.binding().Bind(doc, s.Grid, s.Version)
		if err != nil {
			return err
		}
		next.ConfirmAs(s)
		if a.state.CompareAndSwap(s, next) {
			return a.hierarchy.refreshAbove(store.Finishing(ctx), store.Key{}, a.node)
		}
	}
}

// refreshGroup makes consolidated metadata agree with the documents of a group: that of
// the groups above, and in format 2 its own, which has a copy of them too.
func (h *hierarchy) refreshGroup(ctx context.Context, n node) error {
	var err error
	if n.isV2() {
		err = h.changeConsolidated(ctx, n.container(n.path), func(c *metadata.Consolidated) (*metadata.Consolidated, error) {
			raw, err := n.record(ctx)
			return c.WithOwn(raw), err
		})
	}
	if err != nil {
		err = fmt.Errorf("%w: the consolidated metadata of the group is not up to date: %w", ErrIncomplete, err)
	}
	return errors.Join(err, h.refreshAbove(ctx, store.Key{}, n))
}
