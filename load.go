// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"
	"time"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// open opens the node at p. If there is none, it returns [tree.ErrNoNode].
func (h *hierarchy) open(ctx context.Context, p store.Path, opt Options) (Node, error) {
	h = h.as(opt)
	if opt.Write && h.ledger == nil { // a dry run removes nothing
		h.sweep(ctx)
	}
	n, err := h.loaded(ctx, p, opt)
	a, ok := n.(*Array)
	switch {
	case err != nil:
		return nil, err
	case ok && opt.Write:
		err = a.recover(ctx)
	case ok && opt.Finish && a.finish(ctx):
		return h.loaded(ctx, p, opt) // it may be of another state by now
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// loaded reads the documents of the node at p, and binds them.
func (h *hierarchy) loaded(ctx context.Context, p store.Path, opt Options) (Node, error) {
	now := time.Now()
	s, err := h.reader(opt.Limits).Load(ctx, p)
	if err != nil {
		return nil, err
	}
	n, err := h.node(p, s.Doc, s.Version, opt)
	if err != nil {
		return nil, err
	}
	if a, ok := n.(*Array); ok {
		a.state.Load().Confirm(now)
	}
	return n, nil
}

// node returns the node that a document of the given version describes.
func (h *hierarchy) node(p store.Path, doc metadata.Node, version store.Version, opt Options) (Node, error) {
	base := node{hierarchy: h, path: p, options: opt, document: doc.Document()}
	switch doc := doc.(type) {
	case *metadata.Array:
		a, err := newArray(base, doc, version)
		if err != nil {
			return nil, fault.InDocument(err) // not a: an interface that holds a nil pointer is not nil
		}
		return a, nil
	case *metadata.Group:
		return &Group{node: base, doc: doc}, nil
	}
	return nil, fmt.Errorf("%w: node type", ErrUnsupported)
}

// document returns the document of a node.
func document(n Node) metadata.Node {
	if a, ok := n.(*Array); ok {
		return a.state.Load().Doc
	}
	return n.(*Group).doc
}
