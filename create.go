// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"varve.dev/zarr/internal/scheme"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/rehearsal"
)

// CreateArray creates an array at a location, as [Location.CreateArray] does. If no
// parent is a node, the root of the store is the highest directory of the location whose
// name ends in ".zarr", or else the directory of the node. A name that ends in .zip makes
// a new archive, which is complete only after the node is closed
// ([varve.dev/zarr/store/zipstore.Archive]).
func CreateArray(ctx context.Context, location string, spec Spec, opt *CreateOptions) (*Array, error) {
	// Check the spec before the store is created, so that an invalid one leaves nothing.
	if spec.Format == 0 {
		spec.Format = opt.orZero().Format
	}
	if _, err := spec.array(node{hierarchy: new(hierarchy), options: opt.orZero().Options}); err != nil {
		return nil, fail("create", scheme.Shown(location), err)
	}
	return createAt(ctx, location, opt, func(l *Location) (*Array, error) { return l.CreateArray(ctx, spec, opt) })
}

// CreateGroup creates a group at a location, as [Location.CreateGroup] does. See
// [CreateArray] for the forms of a location.
func CreateGroup(ctx context.Context, location string, attributes any, opt *CreateOptions) (*Group, error) {
	return createAt(ctx, location, opt, func(l *Location) (*Group, error) { return l.CreateGroup(ctx, attributes, opt) })
}

// createAt opens or creates the store of a location and calls create.
func createAt[N Node](
	ctx context.Context, location string, opt *CreateOptions, create func(*Location) (N, error),
) (n N, err error) {
	if opt.orZero().Overwrite {
		if err := scheme.RefuseLink(location); err != nil {
			return n, fail("create", scheme.Shown(location), err)
		}
	}
	if ledger := opt.orZero().Rehearsal; ledger != nil {
		l, err := rehearse(ctx, location, ledger)
		if err != nil {
			return n, err
		}
		return done(l, create)
	}
	return in(ctx, location, store.Create, "create", create)
}

// rehearse opens the store for a dry run of creating a node. The store, or the directory
// that will be its root, may not exist yet.
func rehearse(ctx context.Context, location string, ledger *rehearsal.Ledger) (*Location, error) {
	l, err := locate(ctx, location, store.Read, "create")
	dir, isLocal := scheme.LocalDir(location)
	if isLocal && scheme.ArchiveOn(dir, store.Read) == "" {
		// The path in the store decides which groups are created above the node, so it
		// has to be the one that creating would use.
		root, p, err := scheme.RootOf(dir, store.Create)
		if err != nil {
			return nil, fail("create", location, err)
		}
		if l == nil || l.path != p {
			l, err = rehearsedAt(ctx, root, l, ledger)
		}
		if err != nil {
			return nil, fail("create", location, err)
		}
		return &Location{hierarchy: l.hierarchy, path: p}, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nowhere(scheme.Shown(location), ledger), nil
	}
	return l, err
}

// nowhere returns the root of a store that does not exist, for a dry run.
func nowhere(name string, ledger *rehearsal.Ledger) *Location {
	return &Location{hierarchy: &hierarchy{store: rehearsal.New(nil, ledger), location: name, ledger: ledger}}
}

// rehearsedAt opens the store at root, which may not exist yet, in place of another one.
func rehearsedAt(ctx context.Context, root string, other *Location, ledger *rehearsal.Ledger) (*Location, error) {
	if other != nil {
		if c, ok := other.hierarchy.store.(io.Closer); ok {
			_ = c.Close() // nothing was written
		}
	}
	l, err := locate(ctx, root, store.Read, "create")
	if errors.Is(err, fs.ErrNotExist) {
		return nowhere(root, ledger), nil
	}
	return l, err
}

// creating returns the hierarchy and the options of a call that creates nodes.
func (l *Location) creating(opt *CreateOptions) (*hierarchy, CreateOptions, error) {
	o := opt.orZero()
	o.Options = o.Options.over(l.options)
	if l.illegal != nil {
		return nil, o, l.fail("create", l.illegal)
	}
	if l.readOnly {
		return nil, o, l.fail("create", ErrReadOnly)
	}
	return l.hierarchy.as(o.Options), o, nil
}

// CreateArray creates an array, and the groups above it that are missing. Only its
// document is written: every element is the fill value. If anything is at the location,
// the error wraps [fs.ErrExist].
func (l *Location) CreateArray(ctx context.Context, spec Spec, opt *CreateOptions) (*Array, error) {
	h, o, err := l.creating(opt)
	if err != nil {
		return nil, err
	}
	return h.createArray(ctx, l.path, spec, o)
}

// CreateGroup creates a group, and the groups above it that are missing. attributes is
// anything that encodes to a JSON object, or nil. If a node is at the location, the error
// wraps [fs.ErrExist].
func (l *Location) CreateGroup(ctx context.Context, attributes any, opt *CreateOptions) (*Group, error) {
	h, o, err := l.creating(opt)
	if err != nil {
		return nil, err
	}
	return h.createGroup(ctx, l.path, attributes, o)
}
