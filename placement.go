// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// createArray creates an array and the groups above it that are missing.
func (h *hierarchy) createArray(ctx context.Context, p store.Path, spec Spec, o CreateOptions) (*Array, error) {
	h = h.as(o.Options)
	base := node{hierarchy: h, path: p, options: o.Options}
	if spec.Format == 0 {
		spec.Format = o.Format
	}
	a, err := spec.array(base)
	if err != nil {
		return nil, base.fail("create", err)
	}
	if err := a.state.Load().CheckShards(o.Limits.innerChunks()); err != nil {
		return nil, base.fail("create", err)
	}
	above, err := base.place().LookAbove(ctx, spec.Format)
	if err == nil && above.Format != a.Format() { // the group above decides the format
		spec.Format = above.Format
		a, err = spec.array(base)
	}
	if err != nil {
		return nil, base.fail("create", err)
	}
	s := a.state.Load() // not shared with another goroutine yet
	s.Confirm(time.Now())
	if s.Version, err = h.create(ctx, a.node, s.Doc, above, o.Overwrite); err != nil {
		return nil, base.fail("create", err)
	}
	return a, nil
}

// createGroup creates a group and the groups above it that are missing.
func (h *hierarchy) createGroup(ctx context.Context, p store.Path, attributes any, o CreateOptions) (*Group, error) {
	h = h.as(o.Options)
	base := node{hierarchy: h, path: p, options: o.Options}
	raw, err := attributesJSON(attributes)
	if err != nil {
		return nil, base.fail("create", err)
	}
	above, err := base.place().LookAbove(ctx, o.Format)
	if err != nil {
		return nil, base.fail("create", err)
	}
	g := newGroup(base, raw, above.Format)
	if _, err := h.create(ctx, g.node, g.doc, above, o.Overwrite); err != nil {
		return nil, base.fail("create", err)
	}
	return g, nil
}

// create publishes the documents of a new node. It creates the groups above it and checks
// that the path is free first.
func (h *hierarchy) create(ctx context.Context, n node, doc metadata.Node, up *tree.Above, overwrite bool) (version store.Version, err error) {
	h.sweep(ctx)
	raw, beside, err := tree.NewDocuments(doc, n.options.Limits.metadata())
	if err != nil {
		return version, err
	}
	record, err := doc.Record(n.options.Limits.metadata())
	if err != nil {
		return version, err
	}
	if err := n.place().MakeParents(ctx, up); err != nil {
		return version, err
	}
	if overwrite {
		version, err = h.replace(ctx, n, raw, beside)
	} else if err = n.place().CheckFree(ctx, doc); err == nil {
		version, err = publish.Create(ctx, n.publisher(), raw, beside...)
	}
	if errors.Is(err, store.ErrConflict) && !errors.Is(err, publish.ErrHeld) {
		return version, fmt.Errorf("a node is here already (CreateOptions.Overwrite replaces it): %w", fs.ErrExist)
	}
	if err != nil {
		return version, err
	}
	if err := n.place().RecordMember(ctx, record); err != nil {
		return version, fmt.Errorf("%w: the consolidated metadata of the groups above is not up to date: %w", ErrIncomplete, err)
	}
	return version, nil
}

// replace deletes everything at the path of a node and publishes a new document there. If
// there is no node, it deletes only the remains of an array.
func (h *hierarchy) replace(ctx context.Context, n node, raw []byte, beside []publish.File) (version store.Version, err error) {
	found, err := tree.Format(ctx, h.store, n.path)
	if err != nil {
		return version, err
	}
	if found == 0 {
		begun, err := n.place().Unfinished(ctx)
		if err == nil && !begun {
			err = n.place().CheckRemains(ctx)
		}
		if err != nil {
			return version, err
		}
	}
	err = n.removing(ctx, func() error {
		version, err = publish.Replace(ctx, n.publisher(), raw, beside...)
		return err
	})
	return version, err
}
