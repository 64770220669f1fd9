// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
)

// updateConsolidated makes the consolidated metadata above a node agree with what is
// stored at the node and below it.
func (h *hierarchy) updateConsolidated(ctx context.Context, n node) error {
	if err := n.writable(); err != nil {
		return err
	}
	for _, document := range []string{documentName, metadata.V2Array} {
		n.document = document
		if err := h.recordAll(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// recordAll stores the entries of a node and of all nodes below it in the consolidated
// metadata of the groups above that have the node's format.
func (h *hierarchy) recordAll(ctx context.Context, n node) error {
	raw, format, err := h.reader(n.options.Limits).Record(ctx, n.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || format != n.Format() {
		raw = nil
	}
	for p := n.path; !p.IsRoot(); {
		p = p.Parent()
		path := tree.Inside(p, n.path)
		err := n.place().Container(p).ChangeConsolidated(ctx, func(c *metadata.Consolidated) (*metadata.Consolidated, error) {
			return h.withNode(ctx, n, c, path, raw)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// withNode returns consolidated metadata with the entry of a node at a path and those of
// the nodes below it.
func (h *hierarchy) withNode(ctx context.Context, n node, c *metadata.Consolidated, path string, raw []byte) (*metadata.Consolidated, error) {
	c, err := tree.WithMember(c, path, raw, n.options.Limits.metadata())
	if err != nil || raw == nil {
		return c, err
	}
	at, err := h.open(ctx, n.path, n.options)
	g, isGroup := at.(*Group)
	if err != nil || !isGroup {
		return c, nil // an array has nothing below it; a node that does not open has an entry all the same
	}
	var failed error
	for below, raw := range g.documents(ctx, &failed) {
		if c, err = c.With(path+"/"+below, raw, n.options.Limits.metadata()); err != nil {
			return nil, fmt.Errorf("%s: %w", below, err)
		}
	}
	return c, failed
}

// UpdateConsolidated makes the consolidated metadata of the groups above agree with what
// is stored at the location and below it. The calls of this package do that themselves;
// UpdateConsolidated is for programs that store documents in another way, such as a copy.
// Groups without consolidated metadata stay without.
func (l *Location) UpdateConsolidated(ctx context.Context, opt *Options) error {
	if l.illegal != nil {
		return l.fail("consolidate", l.illegal)
	}
	h, o := l.with(opt)
	return l.fail("consolidate", h.updateConsolidated(ctx, node{hierarchy: h, path: l.path, options: o}))
}
