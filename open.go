// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"time"

	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// Open opens the node at a location. A location is a path of the file system, a file://
// URL, an http:// or https:// URL, which is read-only
// ([varve.dev/zarr/store/httpstore]), or a URL with a scheme that a driver has registered
// ([store.Register]).
//
// A name that ends in .zip is a zip archive with a store in it, and a path in that store
// may follow: era5.zip/t2m. In the file system, the root of the store is the highest
// ancestor such that all directories from it down are nodes. So era5.zarr/t2m is the node
// t2m in the store era5.zarr. Symbolic links that lead out of the store are not followed.
//
// An existing archive is opened for reading only; with [Options.Write] the error wraps
// [ErrUnsupported]. A new archive is written by [CreateArray], [CreateGroup] or [Locate].
// It does not exist until Close returns without an error: without Close all that was
// written is lost.
//
// If there is no node, the error wraps [fs.ErrNotExist] and names what is there instead.
func Open(ctx context.Context, location string, opt *Options) (Node, error) {
	return openAt(ctx, location, opt, func(l *Location) (Node, error) { return l.Open(ctx, opt) })
}

// OpenArray is [Open] for an array. If the node is a group, the error wraps
// [ErrInvalidArgument].
func OpenArray(ctx context.Context, location string, opt *Options) (*Array, error) {
	return openAt(ctx, location, opt, func(l *Location) (*Array, error) { return l.OpenArray(ctx, opt) })
}

// OpenGroup is [Open] for a group. If the node is an array, the error wraps
// [ErrInvalidArgument].
func OpenGroup(ctx context.Context, location string, opt *Options) (*Group, error) {
	return openAt(ctx, location, opt, func(l *Location) (*Group, error) { return l.OpenGroup(ctx, opt) })
}

// openAt opens the store of a location and calls open.
func openAt[N Node](
	ctx context.Context, location string, opt *Options, open func(*Location) (N, error),
) (N, error) {
	access := store.ReadOnly
	if o := opt.orZero(); o.Write && o.Rehearsal == nil {
		access = store.ReadWrite
	} else if o.Finish && o.Rehearsal == nil {
		// Finish needs a writable store. If it can only be read, open it as it is.
		if n, err := in(ctx, location, store.ReadWrite, "open", open); err == nil {
			return n, nil
		}
	}
	return in(ctx, location, access, "open", open)
}

// in opens the store of a location and calls do with it. It closes the store unless do
// returns a node, which owns the store from then on.
func in[N Node](
	ctx context.Context, location string, access store.Access, op string, do func(*Location) (N, error),
) (n N, err error) {
	l, err := locate(ctx, location, access, op)
	if err != nil {
		return n, err
	}
	return done(l, do)
}

func done[N Node](l *Location, do func(*Location) (N, error)) (n N, err error) {
	if n, err = do(l); err == nil && Node(n) != nil {
		n.base().owner = true
		return n, nil
	}
	// There is no node that owns the store, so close it here.
	if s := l.hierarchy.store; archive.IsNew(s) { // closing it would publish an archive without the node
		err = errors.Join(err, zipstore.Discard(s))
	} else {
		err = errors.Join(err, store.Close(s))
	}
	return n, err
}

// Open opens the node. If there is none, the error wraps [fs.ErrNotExist] and names what
// is there instead.
func (l *Location) Open(ctx context.Context, opt *Options) (Node, error) {
	if l.illegal != nil {
		return nil, l.fail("open", l.illegal)
	}
	h, o := l.merged(opt)
	n, err := h.open(ctx, l.path, o)
	if err != nil {
		return nil, l.fail("open", h.explained(ctx, l.path, err))
	}
	return n, nil
}

// OpenArray opens the array. If the node is a group, the error wraps
// [ErrInvalidArgument].
func (l *Location) OpenArray(ctx context.Context, opt *Options) (*Array, error) {
	n, err := l.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	a, ok := n.(*Array)
	if !ok {
		return nil, l.fail("open", fault.Argument("it is a group, not an array"))
	}
	return a, nil
}

// OpenGroup opens the group. If the node is an array, the error wraps
// [ErrInvalidArgument].
func (l *Location) OpenGroup(ctx context.Context, opt *Options) (*Group, error) {
	n, err := l.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	g, ok := n.(*Group)
	if !ok {
		return nil, l.fail("open", fault.Argument("it is an array, not a group"))
	}
	return g, nil
}

// Metadata returns the metadata of the node without opening it. It may name extensions
// that are not supported: then the error wraps [ErrUnsupported] and the metadata can
// still be described. If there is no node, the error wraps [fs.ErrNotExist].
func (l *Location) Metadata(ctx context.Context, opt *Options) (metadata.Node, error) {
	if l.illegal != nil {
		return nil, l.fail("open", l.illegal)
	}
	h, o := l.merged(opt)
	s, err := h.reader(o.Limits).Load(ctx, l.path)
	return s.Doc, l.fail("open", h.explained(ctx, l.path, err))
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
		err = a.core.Recover(ctx)
	case ok && opt.Finish && a.core.Finish(ctx):
		return h.loaded(ctx, p, opt) // finish may have published another document
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// loaded reads the documents of the node at p, and binds them.
func (h *hierarchy) loaded(ctx context.Context, p store.Path, opt Options) (Node, error) {
	// Take the time before the document is read: only chunks that were written before
	// then are certain to belong to it.
	now := time.Now()
	s, err := h.reader(opt.Limits).Load(ctx, p)
	if err != nil {
		return nil, err
	}
	n, err := h.node(p, s.Doc, s.Info.Version, opt)
	if err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *Array:
		state := n.core.State()
		state.Confirm(now)
		state.SetWritten(s.Info.Modified)
		state.Warned = s.Warned
	case *Group:
		n.copied = snapshot.Copy{Written: s.Copies.Modified}
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
		return a.core.State().Doc
	}
	return n.(*Group).doc
}
