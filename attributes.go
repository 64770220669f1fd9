package zarr

import (
	"bytes"
	"context"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// UpdateAttributes publishes attributes that change makes of the newest ones. Both are JSON objects; spelling and order are
// kept as change returns them. See [metadata.SetAttribute] and [metadata.UnsetAttribute]. The array is locked while change
// runs, so change must not itself change the array.
func (a *Array) UpdateAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	err := a.update(ctx, func(old *state) (*publish.Change, *state, error) {
		raw, err := change(bytes.Clone(old.doc.Attributes))
		if err != nil {
			return nil, nil, err
		}
		doc, err := old.document().WithAttributes(raw)
		if err != nil {
			return nil, nil, err
		}
		next, err := a.bindGrid(doc, old.grid, store.Version{})
		if err != nil {
			return nil, nil, err
		}
		document, err := doc.Marshal(a.options.Limits.metadata())
		return &publish.Change{Document: document}, next, err
	})
	return a.fail("set attributes", err)
}

// UpdateAttributes publishes attributes that change makes of the newest ones, as [Array.UpdateAttributes] does.
// The group itself shows them when it is opened again.
func (g *Group) UpdateAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	if err := g.writable(); err != nil {
		return g.fail("set attributes", err)
	}
	return g.fail("set attributes", publish.Update(ctx, g.publisher(), func(d publish.Document) (*publish.Change, error) {
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
	}))
}
