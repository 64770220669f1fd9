// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"io"

	"varve.dev/zarr/internal/fault"
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
	access := store.Read
	if o := opt.orZero(); o.Write && o.Rehearsal == nil {
		access = store.Write
	} else if o.Finish && o.Rehearsal == nil {
		if n, err := in(ctx, location, store.Write, "open", open); err == nil {
			return n, nil // else it is one that can only be read
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
	switch s := l.hierarchy.store.(type) {
	case *zipstore.Archive: // closing it would publish an archive without the node
		err = errors.Join(err, s.Discard())
	case io.Closer:
		err = errors.Join(err, s.Close())
	}
	return n, err
}

// Open opens the node. If there is none, the error wraps [fs.ErrNotExist] and names what
// is there instead.
func (l *Location) Open(ctx context.Context, opt *Options) (Node, error) {
	if l.illegal != nil {
		return nil, l.fail("open", l.illegal)
	}
	h, o := l.with(opt)
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
	h, o := l.with(opt)
	s, err := h.reader(o.Limits).Load(ctx, l.path)
	return s.Doc, l.fail("open", h.explained(ctx, l.path, err))
}
