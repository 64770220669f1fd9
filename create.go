// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/internal/scheme"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// CreateArray creates an array at a location, as [Location.CreateArray] does. If no
// parent is a node, the root of the store is the highest directory of the location whose
// name ends in ".zarr", or else the directory of the node.
//
// A name that ends in .zip makes a new archive ([varve.dev/zarr/store/zipstore.Archive]).
// Close the node and check the error: Close publishes the archive, and without it there
// is none and all that was written is lost.
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
// [CreateArray] for the forms of a location. A new zip archive exists only once Close of
// this group has returned; close it after its members are written.
func CreateGroup(ctx context.Context, location string, attributes any, opt *CreateOptions) (*Group, error) {
	return createAt(ctx, location, opt, func(l *Location) (*Group, error) { return l.CreateGroup(ctx, attributes, opt) })
}

// createAt opens or creates the store of a location and calls create.
func createAt[N Node](
	ctx context.Context, location string, opt *CreateOptions, create func(*Location) (N, error),
) (n N, err error) {
	if opt.orZero().Overwrite {
		// Overwriting through a link would delete data that has another name.
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
	// The store does not exist yet, so an empty one stands in for it.
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

// createArray creates an array and the groups above it that are missing.
func (h *hierarchy) createArray(ctx context.Context, p store.Path, spec Spec, o CreateOptions) (*Array, error) {
	h = h.as(o.Options)
	base := node{hierarchy: h, path: p, options: o.Options}
	if spec.Format == 0 {
		spec.Format = o.Format
	}
	// Check the spec before the store is asked for the groups above.
	a, err := spec.array(base)
	if err != nil {
		return nil, base.fail("create", err)
	}
	if err := a.state.Load().CheckShards(o.Limits.innerChunks()); err != nil {
		return nil, base.fail("create", err)
	}
	above, err := base.place().LookAbove(ctx, spec.Format)
	if err == nil && above.Format != a.Format() { // the group above decides the format
		// The spec was checked for the default format and must be valid in this one, too.
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
	// Marshal everything before this first change, so that an invalid document leaves
	// nothing. Neither does a name that the place does not hold.
	if err := store.CheckKey(h.store, n.key()); err != nil {
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
	// A conflict means that the document exists by now. A node that is held by a
	// reservation is another case, which ErrHeld explains.
	if errors.Is(err, store.ErrConflict) && !errors.Is(err, publish.ErrHeld) {
		return version, fmt.Errorf("a node is here already (CreateOptions.Overwrite replaces it, or choose another name): %w", fs.ErrExist)
	}
	if err != nil {
		return version, err
	}
	// The node exists from here on, so a failure is ErrIncomplete: the call must not be
	// repeated.
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
		// There is no document. Delete what a crashed removal or copy has left, but never
		// foreign files.
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
