package zarr

import (
	"context"
	"fmt"
	"strings"
	"time"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/rehearsal"
)

// hierarchy is all nodes of one store.
type hierarchy struct {
	store    store.Store
	location string            // for messages
	observer observe.Observer  // nil where there is none; otherwise store is an [observed.Store]
	ledger   *rehearsal.Ledger // of the rehearsal that the store is, nil where it is none
}

// at returns the location of a path.
func (h *hierarchy) at(p store.Path) *Location { return &Location{hierarchy: h, path: p} }

// name returns the location of a path for messages.
func (h *hierarchy) name(p store.Path) string {
	if h.location == "" {
		return p.String()
	}
	if p.IsRoot() {
		return h.location
	}
	return strings.TrimSuffix(h.location, "/") + "/" + p.String()
}

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

// sweep removes temporary objects of crashed writers from the store.
func (h *hierarchy) sweep(ctx context.Context) {
	if s, ok := store.Driver(h.store).(store.Sweeper); ok {
		s.Sweep(ctx)
	}
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

// explained replaces [tree.ErrNoNode] by an error that tells what is at the path.
func (h *hierarchy) explained(ctx context.Context, p store.Path, err error) error {
	if err == tree.ErrNoNode {
		return tree.Describe(ctx, h.store, p)
	}
	return err
}

// reader returns a reader of documents in the store.
func (h *hierarchy) reader(l Limits) tree.Reader {
	return tree.Reader{Store: h.store, Limits: l.metadata()}
}
