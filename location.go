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

// Open opens the node at a location: a path of the file system, a file:// URL, an http://
// or https:// URL, which is read only ([varve.dev/zarr/store/httpstore]), or a URL whose
// scheme a driver has registered ([varve.dev/zarr/store.Register]). A name that ends in
// .zip is a zip archive with a store in it, and what follows is a path in that, as in
// era5.zip/t2m. In the file system the store is the topmost directory that is reached
// through parents which are nodes themselves, so that era5.zarr/t2m is the node t2m of
// the store era5.zarr; symbolic links that lead out of it are not followed. A location
// without a node wraps [fs.ErrNotExist] and says what is there instead.
func Open(ctx context.Context, location string, opt *Options) (Node, error) {
	return openAt(ctx, location, opt, func(h *Hierarchy, path string) (Node, error) { return h.Open(ctx, path, opt) })
}

// OpenArray is [Open] for an array. A group there is an error that wraps
// [ErrInvalidArgument].
func OpenArray(ctx context.Context, location string, opt *Options) (*Array, error) {
	return openAt(ctx, location, opt, func(h *Hierarchy, path string) (*Array, error) { return h.OpenArray(ctx, path, opt) })
}

// OpenGroup is [Open] for a group. An array there is an error that wraps
// [ErrInvalidArgument].
func OpenGroup(ctx context.Context, location string, opt *Options) (*Group, error) {
	return openAt(ctx, location, opt, func(h *Hierarchy, path string) (*Group, error) { return h.OpenGroup(ctx, path, opt) })
}

// CreateArray creates an array at a location; see [Hierarchy.CreateArray]. Where no
// parent is a node, the store is the topmost directory of the location whose name ends in
// ".zarr", or else the node's own. A name that ends in .zip makes an archive, which is
// written once and appears whole when the node is closed
// ([varve.dev/zarr/store/zipstore.Archive]).
func CreateArray(ctx context.Context, location string, spec Spec, opt *CreateOptions) (*Array, error) {
	// A spec that cannot be must not leave a directory behind.
	if spec.Format == 0 {
		spec.Format = opt.orZero().Format
	}
	if _, err := spec.array(node{hierarchy: new(Hierarchy), options: opt.orZero().Options}); err != nil {
		return nil, fail("create", scheme.Shown(location), err)
	}
	return createAt(ctx, location, opt, func(h *Hierarchy, path string) (*Array, error) { return h.CreateArray(ctx, path, spec, opt) })
}

// CreateGroup creates a group at a location; see [Hierarchy.CreateGroup] and
// [CreateArray].
func CreateGroup(ctx context.Context, location string, attributes any, opt *CreateOptions) (*Group, error) {
	return createAt(ctx, location, opt, func(h *Hierarchy, path string) (*Group, error) { return h.CreateGroup(ctx, path, attributes, opt) })
}

// Delete removes the node at a location with everything below it. A location that is a
// symbolic link, or leads through one within its store, is refused: it is not the only
// name of what would be deleted.
func Delete(ctx context.Context, location string, opt *Options) error {
	return DeleteIf(ctx, location, opt, nil)
}

// DeleteIf is [Delete] of a node that check permits to delete; see [Hierarchy.DeleteIf].
func DeleteIf(ctx context.Context, location string, opt *Options, check func(context.Context) error) error {
	if err := scheme.RefuseLink(location); err != nil {
		return fail("delete", scheme.Shown(location), err)
	}
	_, err := openAt(ctx, location, opt, func(h *Hierarchy, path string) (Node, error) { return nil, h.DeleteIf(ctx, path, opt, check) })
	if err == nil && opt.orZero().Rehearsal == nil {
		scheme.RemoveEmpty(location)
	}
	return err
}

// openAt finds the store of a location and calls open with the path in it.
func openAt[N Node](
	ctx context.Context, location string, opt *Options, open func(h *Hierarchy, path string) (N, error),
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

// createAt finds the store of a location where there may be nothing yet.
func createAt[N Node](
	ctx context.Context, location string, opt *CreateOptions, create func(h *Hierarchy, path string) (N, error),
) (n N, err error) {
	if opt.orZero().Overwrite {
		if err := scheme.RefuseLink(location); err != nil {
			return n, fail("create", scheme.Shown(location), err)
		}
	}
	if l := opt.orZero().Rehearsal; l != nil {
		h, path, err := rehearse(ctx, location, l)
		if err != nil {
			return n, err
		}
		return done(h, path, create)
	}
	return in(ctx, location, store.Create, "create", create)
}

// rehearse opens the store that a node is to be created in, or one that is not there, for
// a dry run.
func rehearse(ctx context.Context, location string, l *rehearsal.Ledger) (h *Hierarchy, path string, err error) {
	h, path, err = locate(ctx, location, store.Read, "create")
	dir, isLocal := scheme.LocalDir(location)
	if isLocal && scheme.ArchiveOn(dir, store.Read) == "" {
		// Where the node is to be decides which groups are made above it.
		root, p, err := scheme.RootOf(dir, store.Create)
		if err != nil {
			return nil, "", fail("create", location, err)
		}
		if h == nil || path != p.String() {
			h, err = rehearsedAt(ctx, root, h, l)
		}
		return h, p.String(), fail("create", location, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &Hierarchy{store: rehearsal.New(nil, l), location: scheme.Shown(location), ledger: l}, "", nil
	}
	return h, path, err
}

// rehearsedAt opens the directory of a store that may not be there yet, in place of
// another one.
func rehearsedAt(ctx context.Context, root string, other *Hierarchy, l *rehearsal.Ledger) (*Hierarchy, error) {
	if other != nil {
		if c, ok := other.store.(io.Closer); ok {
			_ = c.Close() // it was read only
		}
	}
	h, _, err := locate(ctx, root, store.Read, "create")
	if errors.Is(err, fs.ErrNotExist) {
		return &Hierarchy{store: rehearsal.New(nil, l), location: root, ledger: l}, nil
	}
	return h, err
}

// in opens the store of a location and does something in it. The store is closed where no
// node comes of that.
func in[N Node](
	ctx context.Context, location string, access store.Access, op string, do func(*Hierarchy, string) (N, error),
) (n N, err error) {
	h, path, err := locate(ctx, location, access, op)
	if err != nil {
		return n, err
	}
	return done(h, path, do)
}

// done does something in a store that was opened for it.
func done[N Node](h *Hierarchy, path string, do func(*Hierarchy, string) (N, error)) (n N, err error) {
	if n, err = do(h, path); err == nil && Node(n) != nil {
		n.base().owner = true
		return n, nil
	}
	switch s := h.store.(type) {
	case *zipstore.Archive: // one without what it was begun for is none
		err = errors.Join(err, s.Discard())
	case io.Closer:
		err = errors.Join(err, s.Close())
	}
	return n, err
}

// Locate opens the store of a location and returns the hierarchy in it with the path of
// the node that the location names, which may be missing. It is for what is neither
// [Open] nor to create a node; the caller closes the store, where it can be closed.
func Locate(ctx context.Context, location string, access store.Access) (h *Hierarchy, path string, err error) {
	return locate(ctx, location, access, "open")
}

func locate(ctx context.Context, location string, access store.Access, op string) (h *Hierarchy, path string, err error) {
	if location == "" {
		return nil, "", fail(op, location, fault.Argument("the location is empty"))
	}
	s, p, err := store.OpenLocation(ctx, location, access)
	if err != nil {
		return nil, "", fail(op, scheme.Shown(location), err)
	}
	h = &Hierarchy{store: s, location: strings.TrimSuffix(scheme.Shown(location), "/")}
	h.location = strings.TrimSuffix(strings.TrimSuffix(h.location, p.String()), "/")
	return h, p.String(), nil
}
