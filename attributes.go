// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// DecodeAttributes stores the user attributes in the value that v points to, as
// [json.Unmarshal] does.
func (a *Array) DecodeAttributes(v any) error {
	return a.fail("decode attributes", json.Unmarshal(a.Attributes(), v))
}

// DecodeAttributes stores the user attributes in the value that v points to, as
// [json.Unmarshal] does.
func (g *Group) DecodeAttributes(v any) error {
	return g.fail("decode attributes", json.Unmarshal(g.Attributes(), v))
}

// SetAttribute publishes one user attribute, in the form that [json.Marshal] gives to
// value. Other attributes keep their spelling; see [Array.UpdateAttributes].
func (a *Array) SetAttribute(ctx context.Context, name string, value any) error {
	change, err := settingAttribute(name, value)
	if err != nil {
		return a.fail("set attributes", err)
	}
	return a.UpdateAttributes(ctx, change)
}

// SetAttribute publishes one user attribute, as [Array.SetAttribute] does.
func (g *Group) SetAttribute(ctx context.Context, name string, value any) error {
	change, err := settingAttribute(name, value)
	if err != nil {
		return g.fail("set attributes", err)
	}
	return g.UpdateAttributes(ctx, change)
}

// settingAttribute returns the change of attributes that sets one.
func settingAttribute(name string, value any) (func(object []byte) ([]byte, error), error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%w: attribute %q: %w", ErrInvalidArgument, name, err)
	}
	return func(object []byte) ([]byte, error) {
		return metadata.SetAttribute(object, name, nonfinite.Text(raw))
	}, nil
}

// UpdateAttributes calls change with the newest attributes and publishes those that it
// returns. Both are JSON objects; their spelling and order are kept.
// [metadata.SetAttribute] and [metadata.UnsetAttribute] help to write change. The array
// is locked while change runs, so change must not modify the array itself. It may run
// again if another writer publishes first.
func (a *Array) UpdateAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	if a.isV2() {
		return a.fail("set attributes", a.core.UpdateAttributesV2(ctx, change))
	}
	err := a.core.Update(ctx, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		// The state is shared with concurrent readers, so change gets a copy.
		raw, err := change(bytes.Clone(old.Doc.Attributes))
		if err != nil {
			return nil, nil, err
		}
		doc, err := old.Document().WithAttributes(raw)
		if err != nil {
			return nil, nil, err
		}
		// Pass the grid, so that a long list of edges is not parsed again.
		next, err := a.core.Binding().Bind(doc, old.Grid, store.Version{})
		if err != nil {
			return nil, nil, err
		}
		document, err := doc.Marshal(a.options.Limits.metadata())
		return &publish.Change{Document: document}, next, err
	})
	return a.fail("set attributes", err)
}

// UpdateAttributes calls change with the newest attributes and publishes those that it
// returns, as [Array.UpdateAttributes] does. The group has them after it is opened again.
func (g *Group) UpdateAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	if err := g.writable(); err != nil {
		return g.fail("set attributes", err)
	}
	update := g.updateAttributes
	if g.isV2() {
		// In format 2 the attributes are in a document of their own. The group document,
		// .zgroup, stays as it is.
		update = func(ctx context.Context, change func([]byte) ([]byte, error)) error {
			_, err := g.place().PublishAttributes(ctx, change)
			return err
		}
	}
	if err := update(ctx, change); err != nil {
		return g.fail("set attributes", err)
	}
	// The attributes are published. A cancellation must not leave the old ones in
	// consolidated metadata.
	return g.fail("set attributes", g.place().RefreshGroup(store.Finishing(ctx)))
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
