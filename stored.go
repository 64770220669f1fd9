package zarr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// nodeDocuments are the documents that make a node, in the order in which they are looked
// for.
var nodeDocuments = []string{metadata.V3Node, metadata.V2Array, metadata.V2Group}

// stored is a node as its documents describe it.
type stored struct {
	doc     metadata.Node
	version store.Version // of the document that makes the node
}

// load reads the documents of the node at p: those of format 3 where both are there. A
// doc with an error can be described only. A place without a node is errNoNode.
func (h *Hierarchy) load(ctx context.Context, p store.Path, l Limits) (s stored, err error) {
	data, info, err := h.document(ctx, p, documentName, l)
	if errors.Is(err, fs.ErrNotExist) {
		return h.loadV2(ctx, p, l)
	}
	if err != nil {
		return s, err
	}
	doc, err := metadata.Parse(data, l.metadata())
	return stored{doc, info.Version}, inFile(p.MustKey(documentName), err)
}

// loadV2 reads the documents of a node of format 2.
func (h *Hierarchy) loadV2(ctx context.Context, p store.Path, l Limits) (s stored, err error) {
	for _, name := range nodeDocuments[1:] {
		data, info, err := h.document(ctx, p, name, l)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, err
		}
		attributes, err := h.attributes(ctx, p, l)
		if err != nil {
			return s, err
		}
		doc, err := metadata.ParseV2(name, data, attributes, l.metadata())
		if g, ok := doc.(*metadata.Group); ok && err == nil {
			doc, err = h.withConsolidated(ctx, p, g, l)
		}
		return stored{doc, info.Version}, inFile(p.MustKey(name), err)
	}
	return s, errNoNode
}

// document returns a document of a node as it is stored.
func (h *Hierarchy) document(ctx context.Context, p store.Path, name string, l Limits) ([]byte, store.Info, error) {
	data, info, err := h.store.Get(ctx, p.MustKey(name), store.Request{Limit: l.document()}, nil)
	if errors.Is(err, store.ErrTooLarge) {
		err = fmt.Errorf("%w: %w (Limits.Document)", ErrLimit, err)
	}
	return data, info, err
}

// attributes returns the document that has the attributes of a node of format 2, nil
// where it has none.
func (h *Hierarchy) attributes(ctx context.Context, p store.Path, l Limits) ([]byte, error) {
	data, _, err := h.document(ctx, p, metadata.V2Attributes, l)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// withConsolidated returns a group of format 2 with its consolidated metadata, if it has
// some. It is only a copy of what is stored elsewhere: where it is damaged the group is
// read without.
func (h *Hierarchy) withConsolidated(ctx context.Context, p store.Path, g *metadata.Group, l Limits) (metadata.Node, error) {
	data, _, err := h.document(ctx, p, metadata.V2Consolidated, l)
	if errors.Is(err, fs.ErrNotExist) {
		return g, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := metadata.ParseConsolidatedV2(data, l.metadata())
	g = g.WithConsolidated(c)
	g.Damaged = err
	return g, nil
}

// record returns what consolidated metadata has of the node at p, as it is stored, and
// the format of the node.
func (h *Hierarchy) record(ctx context.Context, p store.Path, l Limits) (raw []byte, format int, err error) {
	raw, _, err = h.document(ctx, p, documentName, l)
	if !errors.Is(err, fs.ErrNotExist) {
		return bytes.TrimSpace(raw), 3, err
	}
	for _, name := range nodeDocuments[1:] {
		document, _, nameErr := h.document(ctx, p, name, l)
		if errors.Is(nameErr, fs.ErrNotExist) {
			continue
		}
		if nameErr != nil {
			return nil, 2, nameErr
		}
		attributes, err := h.attributes(ctx, p, l)
		if err != nil {
			return nil, 2, err
		}
		raw, err = metadata.RecordV2(name, document, attributes, l.metadata())
		return raw, 2, err
	}
	return nil, 0, err
}

// Metadata returns the metadata of the node at path without opening it. What it asks for
// need not be known here: a node that is returned with an error, which wraps
// [ErrUnsupported], can be described. A path without a node wraps [fs.ErrNotExist].
func (h *Hierarchy) Metadata(ctx context.Context, path string, opt *Options) (metadata.Node, error) {
	p, err := store.ParsePath(path)
	if err != nil {
		return nil, fail("open", path, err)
	}
	h = h.as(opt.orZero())
	s, err := h.load(ctx, p, opt.orZero().Limits)
	return s.doc, fail("open", h.name(p), h.explained(ctx, p, err))
}

// nodeType returns the type of a node that cannot be opened, as far as its documents
// tell.
func (h *Hierarchy) nodeType(ctx context.Context, p store.Path, opt Options) string {
	data, _, err := h.document(ctx, p, documentName, opt.Limits)
	if errors.Is(err, fs.ErrNotExist) {
		return h.nodeTypeV2(ctx, p)
	}
	if err != nil {
		return ""
	}
	return metadata.NodeType(data)
}

func (h *Hierarchy) nodeTypeV2(ctx context.Context, p store.Path) string {
	for _, d := range [...]struct{ document, kind string }{{metadata.V2Array, "array"}, {metadata.V2Group, "group"}} {
		if found, err := store.Exists(ctx, h.store, p.MustKey(d.document)); err == nil && found {
			return d.kind
		}
	}
	return ""
}

// Shadowed returns the names of the documents of format 2 that stand beside a node of
// format 3, which is read in their place: a program that knows format 2 only sees another
// node there.
func (n *node) Shadowed(ctx context.Context) ([]string, error) {
	if n.isV2() {
		return nil, nil
	}
	var names []string
	for _, name := range nodeDocuments[1:] {
		found, err := store.Exists(ctx, n.hierarchy.store, n.path.MustKey(name))
		if err != nil {
			return nil, n.fail("open", err)
		}
		if found {
			names = append(names, name)
		}
	}
	return names, nil
}
