package zarr

import (
	"context"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

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
	readOnly  bool    // nothing is created below a group that is open for reading
}

// At returns the location of a path in a store; "" is the root. A path that is not legal
// is reported by the calls that use the location.
func At(s store.Store, path string) *Location {
	return (&Location{hierarchy: &hierarchy{store: s}}).At(path)
}

// Locate opens the store of a location that is written as a string, as [Open] does. The
// caller closes the store, if it is an [io.Closer]. Locate is for programs that need the
// store; [Open] and [CreateArray] open a node in one step.
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

// Root returns the root of the store, without the options of l.
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

// String returns the location for messages, without credentials.
func (l *Location) String() string {
	if l.illegal != nil {
		return l.text
	}
	return l.hierarchy.name(l.path)
}

// Observed returns the location with an observer, which is told of every request to the
// store and of every chunk that is decoded or encoded. It replaces an earlier observer;
// nil keeps that one.
func (l *Location) Observed(o observe.Observer) *Location {
	observed := *l
	observed.hierarchy = l.hierarchy.observed(o)
	return &observed
}

// fail returns err as an error of an operation on the location.
func (l *Location) fail(op string, err error) error { return fail(op, l.String(), err) }

// with returns the hierarchy and the options of a call.
func (l *Location) with(opt *Options) (*hierarchy, Options) {
	o := opt.orZero().over(l.options)
	return l.hierarchy.as(o), o
}

// Open opens the node. If there is none, the error wraps [fs.ErrNotExist] and tells what
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

// Create creates several nodes, and the groups above them that are missing, and returns
// the nodes by their paths. Paths are relative to l. All nodes have one format: that of
// the options, the specs, or a group above, or else 3.
//
// Nothing is written unless every spec is valid and every place is free; where something
// is, the error wraps [fs.ErrExist]. Then the documents are written in one batch, parents
// first, and made durable once. A crash in between leaves the first of them. The
// consolidated metadata of the groups above changes once.
func (l *Location) Create(ctx context.Context, nodes map[string]NodeSpec, opt *CreateOptions) (map[string]Node, error) {
	h, o, err := l.creating(opt)
	if err != nil {
		return nil, err
	}
	return h.createAll(ctx, l, nodes, o)
}

// Delete removes the node with everything below it. If there is no node, the error wraps
// [fs.ErrNotExist]. It holds the locks of the node and of all nodes below it before it
// deletes anything. It deletes links, not what they lead to. While an array has a
// [Reservation], deleting it fails with [ErrConflict].
func (l *Location) Delete(ctx context.Context, opt *Options) error {
	return l.DeleteIf(ctx, opt, nil)
}

// DeleteIf is [Location.Delete] if check permits it. check runs while all locks are held,
// so it sees what will be deleted. It must not change the nodes. If check fails, nothing
// is deleted and the error wraps that of check.
func (l *Location) DeleteIf(ctx context.Context, opt *Options, check func(context.Context) error) error {
	if l.illegal != nil {
		return l.fail("delete", l.illegal)
	}
	h, o := l.with(opt)
	return l.fail("delete", h.remove(ctx, node{hierarchy: h, path: l.path, options: o}, check))
}

// UpdateConsolidated makes the consolidated metadata of the groups above agree with what
// is stored at the location and below it. The calls of this package do that themselves;
// UpdateConsolidated is for programs that store documents in another way, such as a copy.
// Groups without consolidated metadata stay without.
func (l *Location) UpdateConsolidated(ctx context.Context, opt *Options) error {
	if l.illegal != nil {
		return l.fail("consolidate", l.illegal)
	}
	h, o := l.with(opt)
	return l.fail("consolidate", h.updateConsolidated(ctx, node{hierarchy: h, path: l.path, options: o}))
}
