package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Record makes the consolidated metadata of the groups above the node at path agree with what is there now, at the path and
// below it. Changes that are made by way of this package do so themselves; Record is for those who put documents into the store in
// another way, as a copy does. Groups without consolidated metadata stay as they are.
func (h *Hierarchy) Record(ctx context.Context, path string, opt *Options) error {
	p, err := store.ParsePath(path)
	if err != nil {
		return fail("record", path, err)
	}
	n := node{hierarchy: h, path: p, options: opt.orZero()}
	if err := n.writable(); err != nil {
		return n.fail("record", err)
	}
	for !n.path.IsRoot() {
		n.path = n.path.Parent()
		rel := strings.TrimPrefix(strings.TrimPrefix(p.String(), n.path.String()), "/")
		err := h.changeConsolidated(ctx, n, func(g *metadata.Group) (*publish.Change, error) { return h.withNode(ctx, n, g, rel) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n.fail("record", err)
		}
	}
	return nil
}

// withNode returns the change of the group of n whose consolidated metadata is to have the documents at a path below it, and
// no others there.
func (h *Hierarchy) withNode(ctx context.Context, n node, g *metadata.Group, rel string) (*publish.Change, error) {
	l := n.options.Limits
	raw, _, err := h.store.Get(ctx, n.path.Key(rel+"/"+documentName), store.Request{Limit: l.document()}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return withMember(g, rel, nil, l)
	}
	if err != nil {
		return nil, err
	}
	doc, err := metadata.Parse(raw, l.metadata())
	inner, isGroup := doc.(*metadata.Group)
	if err != nil || !isGroup {
		return withMember(g, rel, raw, l)
	}
	if n.path, err = n.path.Join(rel); err != nil {
		return nil, err
	}
	c := g.Consolidated.Without(rel)
	for name := range g.Consolidated.Nodes() {
		if strings.HasPrefix(name, rel+"/") {
			c = c.Without(name)
		}
	}
	if c, err = c.With(rel, raw, l.metadata()); err != nil {
		return nil, err
	}
	var failed error
	for path, raw := range (&Group{n, inner}).documents(ctx, &failed) {
		if c, err = c.With(rel+"/"+path, raw, l.metadata()); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if failed != nil {
		return nil, failed
	}
	document, err := g.WithConsolidated(c).Marshal(l.metadata())
	return &publish.Change{Document: document}, err
}
