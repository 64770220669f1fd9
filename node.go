// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodelock"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

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
