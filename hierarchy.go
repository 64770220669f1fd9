// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"cmp"
	"context"
	"strings"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/internal/scheme"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	observing "varve.dev/zarr/store/observed"
)

// hierarchy is all nodes of one store.
type hierarchy struct {
	store    store.Store
	location string            // for messages
	observer observe.Observer  // nil if there is none; otherwise store is one of package observed
	ledger   *rehearsal.Ledger // nil unless store is a rehearsal
}

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

// sweep removes temporary files of crashed writers from the store. It sends no request;
// see [store.UploadSweeper].
func (h *hierarchy) sweep(ctx context.Context) {
	store.DirectoriesOf(h.store).Sweep(ctx)
}

// explained replaces [tree.ErrNoNode] by an error that names what is at the path.
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

// observed returns the hierarchy with another observer; nil keeps the one it has.
func (h *hierarchy) observed(o observe.Observer) *hierarchy {
	if o == nil {
		return h
	}
	s := h.store
	if h.observer != nil {
		// The new observer replaces the old one. Wrapping twice would report every
		// request to both.
		s = s.(store.Wrapper).Unwrap()
	}
	return &hierarchy{store: observing.New(s, o), location: h.location, observer: o, ledger: h.ledger}
}

// as returns the hierarchy with the observer and the rehearsal of options.
func (h *hierarchy) as(o Options) *hierarchy {
	if o.Rehearsal == nil || o.Rehearsal == h.ledger {
		return h.observed(o.Observer)
	}
	s := h.store
	if h.observer != nil {
		s = s.(store.Wrapper).Unwrap()
	}
	// The rehearsal must be below the observer, so that the observer also sees requests
	// that the ledger answers.
	if o.Observer == nil {
		o.Observer = h.observer
	}
	r := &hierarchy{store: rehearsal.New(s, o.Rehearsal), location: h.location, ledger: o.Rehearsal}
	return r.observed(o.Observer)
}

// Location is a place for a node: a path in a store. There may be a node, or nothing yet.
//
// [At] and [Locate] make one, and so do [Group.At] and [Location.At] for places below.
// The functions [Open], [OpenArray], [OpenGroup], [CreateArray], [CreateGroup] and
// [Delete] take a location as a string.
type Location struct {
	hierarchy *hierarchy
	path      store.Path
	illegal   error   // why the path is illegal; every call returns it
	text      string  // the illegal path
	options   Options // what calls do not set is taken from these
	readOnly  bool    // nothing is created at or below a node that is open for reading
}

// At returns the location of a path in a store; "" is the root. If the path is illegal,
// the calls that use the location return an error.
func At(s store.Store, path string) *Location {
	return (&Location{hierarchy: &hierarchy{store: s}}).At(path)
}

// Locate opens the store of a location that is written as a string, as [Open] does. The
// caller closes the store, if it is an [io.Closer]. A new zip archive ([store.Create])
// does not exist until that Close returns without an error. Locate is for programs that
// need the store; [Open] and [CreateArray] open a node in one step.
func Locate(ctx context.Context, location string, access store.Access) (*Location, error) {
	return locate(ctx, location, access, "open")
}

// At returns the location of a path below l. Options that a call does not set are those
// of l.
func (l *Location) At(path string) *Location {
	below := *l
	if l.illegal == nil {
		if below.path, below.illegal = l.path.Join(path); below.illegal != nil {
			below.text = path
		}
	}
	return &below
}

// Wrapped returns the location in the store that wrap makes of its store, which must have
// the same values. The options of l stay.
func (l *Location) Wrapped(wrap func(store.Store) store.Store) *Location {
	within := *l
	h := *l.hierarchy
	observer := h.observer
	if observer != nil {
		// The wrapper must be below the observer.
		h.store, h.observer = h.store.(store.Wrapper).Unwrap(), nil
	}
	h.store = wrap(h.store)
	within.hierarchy = h.observed(observer)
	return &within
}

// Root returns the root of the store, without the options of l: calls there take only the
// options that they are given (see [Options]). The observer and the dry run of l stay
// with the store.
func (l *Location) Root() *Location { return &Location{hierarchy: l.hierarchy} }

// Store returns the store. If it is observed it is wrapped, and [store.Driver] returns
// the driver below.
func (l *Location) Store() store.Store { return l.hierarchy.store }

// Path returns the path in the store; the root is "".
func (l *Location) Path() string {
	if l.illegal != nil {
		return l.text
	}
	return l.path.String()
}

// String returns the location for messages, without credentials. The root of a store
// that has no name is "/".
func (l *Location) String() string { return cmp.Or(l.name(), "/") }

// name returns the location for [Error.Path].
func (l *Location) name() string {
	if l.illegal != nil {
		return l.text
	}
	return l.hierarchy.name(l.path)
}

// With returns the location with options, which calls there take for every field that
// they do not set. An observer and a dry run apply to [Location.Store] as well.
func (l *Location) With(opt *Options) *Location {
	with := *l
	with.hierarchy, with.options = l.merged(opt)
	with.options.Observer = nil // the store has it, and a call with it would wrap that again
	return &with
}

// Core returns the place of the node in its store, with which the other packages of this
// module change the node: its type is internal. It reads no document, so there may be no
// node. The error is that of a location at which none can be created.
func (l *Location) Core() (tree.Node, error) {
	h, o, err := l.creating(nil)
	if err != nil {
		return tree.Node{}, err
	}
	n := node{hierarchy: h, path: l.path, options: o.Options}
	return n.place(), nil
}

// fail returns err as an error of an operation on the location.
func (l *Location) fail(op string, err error) error { return fail(op, l.name(), err) }

// merged returns the hierarchy and the options of a call.
func (l *Location) merged(opt *Options) (*hierarchy, Options) {
	o := opt.orZero().over(l.options)
	return l.hierarchy.as(o), o
}

// at returns the location of a path, without options.
func (h *hierarchy) at(p store.Path) *Location { return &Location{hierarchy: h, path: p} }

func locate(ctx context.Context, location string, access store.Access, op string) (*Location, error) {
	if location == "" {
		return nil, fail(op, location, fault.Argument("the location is empty"))
	}
	s, p, err := store.OpenLocation(ctx, location, access)
	if err != nil {
		return nil, fail(op, scheme.Shown(location), err)
	}
	// The hierarchy is named after the root of the store. Messages append the path of a
	// node to it.
	name := strings.TrimSuffix(scheme.Shown(location), "/")
	name = strings.TrimSuffix(strings.TrimSuffix(name, p.String()), "/")
	return &Location{hierarchy: &hierarchy{store: s, location: name}, path: p}, nil
}
