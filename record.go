package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Record makes the consolidated metadata of the groups above the node at path agree with
// what is there now, at the path and below it. Changes that are made by way of this
// package do so themselves; Record is for those who put documents into the store in
// another way, as a copy does. Groups without consolidated metadata stay as they are.
func (h *Hierarchy) Record(ctx context.Context, path string, opt *Options) error {
	p, err := store.ParsePath(path)
	if err != nil {
		return fail("record", path, err)
	}
	h = h.as(opt.orZero())
	n := node{hierarchy: h, path: p, options: opt.orZero()}
	if err := n.writable(); err != nil {
		return n.fail("record", err)
	}
	for _, document := range []string{documentName, metadata.V2Array} {
		n.document = document
		if err := h.recordAll(ctx, n); err != nil {
			return n.fail("record", err)
		}
	}
	return nil
}

// recordAll tells the groups above a node of its format what there is now at the node's
// place and below it.
func (h *Hierarchy) recordAll(ctx context.Context, n node) error {
	raw, format, err := h.reader(n.options.Limits).Record(ctx, n.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || format != n.Format() {
		raw = nil
	}
	for p := n.path; !p.IsRoot(); {
		p = p.Parent()
		path := inside(p, n.path)
		err := h.changeConsolidated(ctx, n.container(p), func(c *metadata.Consolidated) (*metadata.Consolidated, error) {
			return h.withNode(ctx, n, c, path, raw)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// withNode returns consolidated metadata that has the record of a node at a path, and
// those of the nodes below it.
func (h *Hierarchy) withNode(ctx context.Context, n node, c *metadata.Consolidated, path string, raw []byte) (*metadata.Consolidated, error) {
	c, err := withMember(c, path, raw, n.options.Limits)
	if err != nil || raw == nil {
		return c, err
	}
	at, err := h.open(ctx, n.path, n.options)
	g, isGroup := at.(*Group)
	if err != nil || !isGroup {
		return c, nil // what cannot be opened is listed as it is
	}
	var failed error
	for below, raw := range g.documents(ctx, &failed) {
		if c, err = c.With(path+"/"+below, raw, n.options.Limits.metadata()); err != nil {
			return nil, fmt.Errorf("%s: %w", below, err)
		}
	}
	return c, failed
}
