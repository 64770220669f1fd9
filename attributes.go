package zarr

import (
	"context"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
)

// UpdateAttributes publishes attributes that change makes of the newest ones. Both are JSON objects; spelling and order are
// kept as change returns them. See [metadata.SetAttribute] and [metadata.UnsetAttribute].
func (a *Array) UpdateAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	var next *state
	err := a.updateDocument(ctx, func(document []byte) ([]byte, error) {
		s, err := a.parse(document)
		if err != nil {
			return nil, err
		}
		raw, err := change(s.doc.Attributes)
		if err != nil {
			return nil, err
		}
		doc, err := s.doc.WithAttributes(raw)
		if err != nil {
			return nil, err
		}
		if next, err = a.bind(doc); err != nil {
			return nil, err
		}
		return doc.Marshal(a.options.Limits.metadata())
	})
	if err == nil {
		a.state.Store(next)
	}
	return a.fail("set attributes", err)
}

// UpdateAttributes publishes attributes that change makes of the newest ones, as [Array.UpdateAttributes] does.
// The group itself shows them when it is opened again.
func (g *Group) UpdateAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	err := g.updateDocument(ctx, func(document []byte) ([]byte, error) {
		doc, err := metadata.ParseGroup(document, g.options.Limits.metadata())
		if err != nil {
			return nil, err
		}
		raw, err := change(doc.Attributes)
		if err != nil {
			return nil, err
		}
		if doc, err = doc.WithAttributes(raw); err != nil {
			return nil, err
		}
		return doc.Marshal(g.options.Limits.metadata())
	})
	return g.fail("set attributes", err)
}

// updateDocument publishes the document that change makes of the newest one.
func (n *node) updateDocument(ctx context.Context, change func([]byte) ([]byte, error)) error {
	if err := n.writable(); err != nil {
		return err
	}
	return publish.Update(ctx, n.publisher(), func(document []byte) (*publish.Change, error) {
		doc, err := change(document)
		if err != nil {
			return nil, err
		}
		return &publish.Change{Document: doc}, nil
	})
}
