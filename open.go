package zarr

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/scheme"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/rehearsal"
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
// If there is no node, the error wraps [fs.ErrNotExist] and tells what is there instead.
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

// CreateArray creates an array at a location, as [Location.CreateArray] does. If no parent
// is a node, the root of the store is the highest directory of the location whose name
// ends in ".zarr", or else the directory of the node. A name that ends in .zip makes a new
// archive, which is complete only after the node is closed
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

// CreateGroup creates a group at a location, as [Location.CreateGroup] does. [CreateArray]
// tells where the store is.
func CreateGroup(ctx context.Context, location string, attributes any, opt *CreateOptions) (*Group, error) {
	return createAt(ctx, location, opt, func(l *Location) (*Group, error) { return l.CreateGroup(ctx, attributes, opt) })
}

// Delete removes the node at a location with everything below it, as [Location.Delete]
// does. It refuses a location that is a symbolic link or leads through one within its
// store, because the data has another name then.
func Delete(ctx context.Context, location string, opt *Options) error {
	return DeleteIf(ctx, location, opt, nil)
}

// DeleteIf is [Delete] if check permits it, as [Location.DeleteIf] describes.
func DeleteIf(ctx context.Context, location string, opt *Options, check func(context.Context) error) error {
	if err := scheme.RefuseLink(location); err != nil {
		return fail("delete", scheme.Shown(location), err)
	}
	_, err := openAt(ctx, location, opt, func(l *Location) (Node, error) { return nil, l.DeleteIf(ctx, opt, check) })
	if err == nil && opt.orZero().Rehearsal == nil {
		scheme.RemoveEmpty(location)
	}
	return err
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
		// The path in the store decides which groups are created above the node, so it has
		// to be the one that creating would use.
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

func locate(ctx context.Context, location string, access store.Access, op string) (*Location, error) {
	if location == "" {
		return nil, fail(op, location, fault.Argument("the location is empty"))
	}
	s, p, err := store.OpenLocation(ctx, location, access)
	if err != nil {
		return nil, fail(op, scheme.Shown(location), err)
	}
	name := strings.TrimSuffix(scheme.Shown(location), "/")
	name = strings.TrimSuffix(strings.TrimSuffix(name, p.String()), "/")
	return &Location{hierarchy: &hierarchy{store: s, location: name}, path: p}, nil
}
