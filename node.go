package zarr

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/rehearsal"
)

// documentName is the name of the metadata document of a node (zarr-specs v3 core,
// "Metadata document").
const documentName = metadata.V3Node

// Node is an [*Array] or a [*Group].
type Node interface {
	// Path returns the place of the node in its store; the root is "".
	Path() string
	// Attributes returns the user attributes as a JSON object, spelled as they are
	// stored.
	Attributes() []byte
	// Format returns the version of the format in which the node is stored: 2 or 3.
	Format() int
	// Notes says in what respects the node was not read as it is stored: one sentence
	// each.
	Notes() []string
	// Shadowed returns the names of the documents of format 2 that stand beside a node of
	// format 3, which is read in their place.
	Shadowed(ctx context.Context) ([]string, error)
	// Hierarchy returns the tree that the node is in.
	Hierarchy() *Hierarchy
	// Close lets go of the store where opening the node opened it.
	Close() error

	base() *node
}

// node is what arrays and groups have in common.
type node struct {
	hierarchy *Hierarchy
	path      store.Path
	options   Options
	owner     bool   // Close closes the store
	document  string // name of the document that makes the node; "" is that of format 3

	held *publish.Locks // of a call that changes the node and holds locks already; else nil
}

// documentName returns the name of the document that makes the node.
func (n *node) documentName() string {
	if n.document == "" {
		return documentName
	}
	return n.document
}

// isV2 reports whether the node is of format 2.
func (n *node) isV2() bool { return n.documentName() != documentName }

// Format returns the version of the format in which the node is stored: 2 or 3.
func (n *node) Format() int {
	if n.isV2() {
		return 2
	}
	return 3
}

// key returns the key of the document that makes the node.
func (n *node) key() store.Key { return n.path.MustKey(n.documentName()) }

// Path returns the place of the node in its store; the root is "".
func (n *node) Path() string { return n.path.String() }

// Hierarchy returns the tree that the node is in.
func (n *node) Hierarchy() *Hierarchy { return n.hierarchy }

// Close lets go of the store where opening the node by its location opened it. It need
// not be called: the runtime closes what is forgotten.
func (n *node) Close() error {
	if c, ok := store.As[io.Closer](n.hierarchy.store); ok && n.owner {
		return c.Close()
	}
	return nil
}

func (n *node) base() *node { return n }

// fail returns err as an error of this node.
func (n *node) fail(op string, err error) error {
	return fail(op, n.hierarchy.name(n.path), err)
}

// writable refuses changes to nodes opened for reading.
func (n *node) writable() error {
	if !n.options.Write {
		return ErrReadOnly
	}
	if _, compares := store.As[store.ConditionalWriter](n.hierarchy.store); n.options.SharedWriters && !compares {
		return fmt.Errorf("%w: this store cannot compare versions, so that one of several writers of a chunk would be lost (Options.SharedWriters)", ErrUnsafeConcurrentWrite)
	}
	return nil
}

// publisher describes the node to package publish.
func (n *node) publisher() publish.Node {
	return publish.Node{
		Store: n.hierarchy.store, Path: n.path, Document: n.documentName(),
		Durability: n.options.Durability, SingleWriter: n.options.SingleWriter, Limit: n.options.Limits.document(),
		Locking: n.options.Locking, Held: n.held,
	}
}

// Hierarchy is a tree of nodes in a store.
type Hierarchy struct {
	store    store.Store
	location string            // for messages
	observer observe.Observer  // nil where there is none; otherwise store is an [observed.Store]
	ledger   *rehearsal.Ledger // of the rehearsal that the store is, nil where it is none
}

// On returns the hierarchy in a store.
func On(s store.Store) *Hierarchy { return &Hierarchy{store: s} }

// Store returns the store of the hierarchy. Where that is observed it is wrapped, and
// [store.Driver] returns the one below.
func (h *Hierarchy) Store() store.Store { return h.store }

// name returns the place of a node for people.
func (h *Hierarchy) name(p store.Path) string {
	if h.location == "" {
		return p.String()
	}
	if p.IsRoot() {
		return h.location
	}
	return strings.TrimSuffix(h.location, "/") + "/" + p.String()
}

// Open opens the node at path. A path without a node wraps [fs.ErrNotExist] and says what
// is there instead.
func (h *Hierarchy) Open(ctx context.Context, path string, opt *Options) (Node, error) {
	p, err := store.ParsePath(path)
	if err != nil {
		return nil, fail("open", path, err)
	}
	n, err := h.open(ctx, p, opt.orZero())
	if err != nil {
		return nil, fail("open", h.name(p), h.as(opt.orZero()).explained(ctx, p, err))
	}
	return n, nil
}

// OpenArray opens the array at path. A group there is an error that wraps
// [ErrInvalidArgument].
func (h *Hierarchy) OpenArray(ctx context.Context, path string, opt *Options) (*Array, error) {
	n, err := h.Open(ctx, path, opt)
	if err != nil {
		return nil, err
	}
	a, ok := n.(*Array)
	if !ok {
		return nil, n.base().fail("open", badArgument("it is a group, not an array"))
	}
	return a, nil
}

// OpenGroup opens the group at path. An array there is an error that wraps
// [ErrInvalidArgument].
func (h *Hierarchy) OpenGroup(ctx context.Context, path string, opt *Options) (*Group, error) {
	n, err := h.Open(ctx, path, opt)
	if err != nil {
		return nil, err
	}
	g, ok := n.(*Group)
	if !ok {
		return nil, n.base().fail("open", badArgument("it is an array, not a group"))
	}
	return g, nil
}

// open opens the node at p. A place without a node is errNoNode.
func (h *Hierarchy) open(ctx context.Context, p store.Path, opt Options) (Node, error) {
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

// loaded returns the node at p as its documents describe it.
func (h *Hierarchy) loaded(ctx context.Context, p store.Path, opt Options) (Node, error) {
	now := time.Now()
	s, err := h.load(ctx, p, opt.Limits)
	if err != nil {
		return nil, err
	}
	n, err := h.node(p, s.doc, s.version, opt)
	if err != nil {
		return nil, err
	}
	if a, ok := n.(*Array); ok {
		a.state.Load().confirm(now)
	}
	return n, nil
}

// sweep removes what killed writers left in a store that is opened for writing.
func (h *Hierarchy) sweep(ctx context.Context) {
	if s, ok := store.Driver(h.store).(store.Sweeper); ok {
		s.Sweep(ctx)
	}
}

// node returns the node that documents describe; the version is that of the document that
// makes it.
func (h *Hierarchy) node(p store.Path, doc metadata.Node, version store.Version, opt Options) (Node, error) {
	base := node{hierarchy: h, path: p, options: opt, document: doc.Document()}
	switch doc := doc.(type) {
	case *metadata.Array:
		a, err := newArray(base, doc, version)
		if err != nil {
			return nil, inDocument(err) // not a: an interface that holds a nil pointer is not nil
		}
		return a, nil
	case *metadata.Group:
		return &Group{node: base, doc: doc}, nil
	}
	return nil, fmt.Errorf("%w: node type", ErrUnsupported)
}

// errNoNode says that there is no node at a path. Finding out what is there instead takes
// a listing, so that is left to [Hierarchy.explained].
var errNoNode error = notFound("no Zarr node here")

// explained returns err, or what stands at the path where it says that no node does.
func (h *Hierarchy) explained(ctx context.Context, p store.Path, err error) error {
	if err == errNoNode {
		return h.describe(ctx, p)
	}
	return err
}

// describe says what stands at a path that has no node.
func (h *Hierarchy) describe(ctx context.Context, p store.Path) error {
	var names []string
	for e, err := range store.List(ctx, h.store, p, false) {
		if err != nil {
			break
		}
		names = append(names, e.Name)
	}
	if slices.Sort(names); len(names) > 4 {
		names = append(names[:4], "…")
	}
	if len(names) > 0 {
		return notFound("no Zarr node here, only " + strings.Join(names, ", "))
	}
	if key, err := store.ParseKey(p.String()); err == nil {
		if found, _ := store.Exists(ctx, h.store, key); found {
			return notFound("no Zarr node here, only a file")
		}
	}
	return errNoNode
}

// notFound is an [fs.ErrNotExist] that says what is missing, or what is there instead.
type notFound string

func (n notFound) Error() string        { return string(n) }
func (n notFound) Is(target error) bool { return target == fs.ErrNotExist }
