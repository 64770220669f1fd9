// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodelock"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/scheme"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	observing "varve.dev/zarr/store/observed"
	"varve.dev/zarr/store/zipstore"
)

// Open opens the node at a location. A location is a path of the file system, a file://
// URL, an http:// or https:// URL, which is read-only
// ([varve.dev/zarr/store/httpstore]), or a URL with a scheme that a driver has registered
// ([store.Register]).
//
// A name that ends in .zip, or in .ozx, is a zip archive with a store in it, and a path
// in that store may follow: era5.zip/t2m. In the file system, the root of the store is
// the highest ancestor such that all directories from it down are nodes. So era5.zarr/t2m
// is the node t2m in the store era5.zarr. Symbolic links that lead out of the store are
// not followed.
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

// documentName is the name of the metadata document of a node (zarr-specs v3 core,
// "Metadata document").
const documentName = nodename.V3Node

// Node is an [*Array] or a [*Group].
type Node interface {
	// Path returns the path of the node in its store. The root is "".
	Path() string
	// Attributes returns the user attributes as a JSON object, in their stored spelling.
	Attributes() []byte
	// DecodeAttributes stores the user attributes in the value that v points to, as
	// [json.Unmarshal] does.
	DecodeAttributes(v any) error
	// SetAttribute publishes one user attribute.
	SetAttribute(ctx context.Context, name string, value any) error
	// Format returns the version of the Zarr format of the node, 2 or 3.
	Format() int
	// Notes returns one sentence for each deviation from the specification that was
	// repaired when the node was read.
	Notes() []string
	// Location returns the store of the node and its path in it. Options that a call
	// there does not set are those of the node. Nodes are created there only if the node
	// is open for writing.
	Location() *Location
	// Options returns the options of the node, including those that it took from a group.
	Options() Options
	// Close closes the store if opening the node opened it. A new zip archive does not
	// exist before: check the error.
	Close() error

	base() *node
}

// node has what arrays and groups have in common.
type node struct {
	hierarchy *hierarchy
	path      store.Path
	options   Options
	owner     bool   // Close closes the store
	document  string // name of the document that makes the node; "" is that of format 3
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

// Format returns the version of the Zarr format of the node, 2 or 3.
func (n *node) Format() int {
	if n.isV2() {
		return 2
	}
	return 3
}

// key returns the key of the document that makes the node.
func (n *node) key() store.Key { return n.path.MustKey(n.documentName()) }

// Path returns the path of the node in its store. The root is "".
func (n *node) Path() string { return n.path.String() }

// Location returns the store of the node and its path in it. Options that a call there
// does not set are those of the node. Nodes are created there only if the node is open
// for writing.
func (n *node) Location() *Location {
	return &Location{hierarchy: n.hierarchy, path: n.path, options: n.options, readOnly: !n.options.Write}
}

// Options returns the options of the node, including those that it took from a group.
func (n *node) Options() Options { return n.options }

// Close closes the store if opening the node by its location opened it. Calling Close is
// optional for directories and web servers: the runtime closes what is unreachable. It is
// required for a new zip archive, which does not exist until Close returns without an
// error; without Close all that was written is lost.
func (n *node) Close() error {
	// A node that was opened from a group or a Location shares its store with others.
	if !n.owner {
		return nil
	}
	return store.Close(n.hierarchy.store)
}

func (n *node) base() *node { return n }

// fail returns err as an error of this node.
func (n *node) fail(op string, err error) error {
	return fail(op, n.hierarchy.name(n.path), err)
}

// writable returns an error if the node must not be changed.
func (n *node) writable() error {
	if !n.options.Write {
		return ErrReadOnly
	}
	if compares := store.Can(n.hierarchy.store, store.OpPutIf); n.options.SharedWriters && !compares {
		return fmt.Errorf("%w: this store cannot compare versions, so the update of one of several writers of a chunk would be lost"+remedy.SharedWriters, ErrUnsafeConcurrentWrite)
	}
	return nil
}

// publisher describes the node to package publish.
func (n *node) publisher() publish.Node {
	return publish.Node{
		Store: n.hierarchy.store, Path: n.path, Document: n.documentName(),
		Durability: n.options.Durability, SingleWriter: n.options.SingleWriter, Limit: n.options.Limits.document(),
		Locking: n.options.Locking, Concurrency: n.options.Concurrency,
	}
}

// place returns the node for package tree.
func (n *node) place() tree.Node {
	return tree.Node{Node: n.publisher(), Limits: n.options.Limits.metadata()}
}

// lock returns the lock that orders the calls of this process on the node.
func (n *node) lock() nodelock.Node {
	return nodelock.Node{Store: n.hierarchy.store, Path: n.path, Locking: n.options.Locking}
}

// Some programs write, or once wrote, documents that deviate from the specification.
// Three tables list the known deviations: for chunk grids in package grid, for codecs in
// package codec, and for everything else in package metadata. Each is read with a note.
// When Varve writes the document again, it follows the specification.

// Notes returns one sentence for each deviation from the specification that was repaired
// when the array was read, and for an unusual name.
func (a *Array) Notes() []string {
	s := a.core.State()
	notes := slices.Concat(s.Grid.Notes(), s.Doc.Notes(), tree.NameNotes(a.Format(), a.path))
	for _, r := range s.Engine.Chain.Repairs() {
		notes = append(notes, r.Note)
	}
	return append(notes, a.storeNotes()...)
}

// Notes returns one sentence for each deviation from the specification that was repaired
// when the group was read, and for an unusual name.
func (g *Group) Notes() []string {
	return slices.Concat(g.doc.Notes(), g.storeNotes(), tree.NameNotes(g.Format(), g.path))
}

// specifiedCodecs returns codecs in their specified form. Codecs that cannot be bound are
// returned as they are; creating the array reports them. strict is not nil if arrays with
// these codecs can be read but must not be created.
func specifiedCodecs(env *codec.Environment, codecs []metadata.Extension, t dtype.Type, fill []byte, rank int) (specified []metadata.Extension, strict error) {
	elem, err := t.ParseFill(fill)
	if err != nil {
		return codecs, nil
	}
	chain, err := coding.NewChain(env, codecs, codec.Spec{Type: t, Fill: elem, Rank: rank})
	if err != nil {
		return codecs, nil
	}
	for _, r := range chain.Repairs() {
		if r.Strict != nil {
			strict = fault.At("/codecs", r.Strict)
			break
		}
	}
	return chain.Specified(codecs), strict
}

// storeNotes returns notes on the store of a node, such as an archive that has two
// members with the same name.
func (n *node) storeNotes() []string { return archive.Notes(n.hierarchy.store) }
