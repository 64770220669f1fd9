// SPDX-License-Identifier: Apache-2.0

// Package tree finds nodes in a store and reads their documents.
package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/zarrjson"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Documents has the names of the documents that make a node, in the order of the
// look-up. A node that has documents of both formats is one of format 3.
var Documents = []string{nodename.V3Node, nodename.V2Array, nodename.V2Group}

// ErrNoNode reports a path without a node. It wraps [fs.ErrNotExist]. [Reader.Describe]
// describes the path, which takes a listing.
var ErrNoNode error = fault.NotFound("no Zarr node here")

// Reader reads the documents of nodes.
type Reader struct {
	Store  store.Store
	Limits metadata.Limits // Document must be set

	known map[string]reply // documents that were read already, by name
	// hides is set for a store that refuses access to a document that is missing.
	hides bool
}

// reply is the result of reading a document.
type reply struct {
	data []byte
	info store.Info
	err  error
}

// Stored is a node as its documents describe it.
type Stored struct {
	Doc    metadata.Node
	Info   store.Info // of the document that makes the node
	Copies store.Info // of the document with the consolidated metadata of a group
	Warned bool       // the document has the mark of a warning; see [publish.Warned]
}

// Load reads the documents of the node at p. It returns ErrNoNode for a path without a
// node. A document with an extension that is not supported is returned together with an
// error that wraps [metadata.ErrUnsupported]: such a node can be described, not opened.
func (r Reader) Load(ctx context.Context, p store.Path) (s Stored, err error) {
	data, info, err := r.document(ctx, p, nodename.V3Node)
	// Only now look for format 2: a node with documents of both formats is one of format
	// 3.
	if errors.Is(err, fs.ErrNotExist) {
		return r.loadV2(ctx, p)
	}
	if _, near := store.As[store.Opener](r.Store); !near && errors.Is(err, fs.ErrPermission) {
		return r.loadHidden(ctx, p, err)
	}
	if err != nil {
		return s, err
	}
	doc, err := metadata.Parse(data, r.Limits)
	return Stored{doc, info, info, publish.Warned(data)}, fault.InFile(p.MustKey(nodename.V3Node), err)
}

// loadHidden is [Reader.loadV2] after access to zarr.json was refused. Object stores do
// that for missing objects too, if the user may not list them, as in some public buckets.
// If there is no node of format 2, the refusal may have been one, so it is the error.
func (r Reader) loadHidden(ctx context.Context, p store.Path, refused error) (Stored, error) {
	r.hides = true
	s, err := r.loadV2(ctx, p)
	if errors.Is(err, ErrNoNode) {
		err = refused
	}
	return s, err
}

func (r Reader) loadV2(ctx context.Context, p store.Path) (s Stored, err error) {
	for i, name := range Documents[1:] {
		if _, near := store.As[store.Opener](r.Store); !near {
			r.known = r.together(ctx, p, companions[i])
		}
		data, info, err := r.document(ctx, p, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, err
		}
		attributes, err := r.Attributes(ctx, p)
		if err != nil {
			return s, err
		}
		s = Stored{Info: info, Warned: publish.Warned(data)}
		s.Doc, err = metadata.ParseV2(name, data, attributes, r.Limits)
		if g, ok := s.Doc.(*metadata.Group); ok && err == nil {
			s.Doc, s.Copies, err = r.withConsolidated(ctx, p, g)
		}
		return s, fault.InFile(p.MustKey(name), err)
	}
	return s, ErrNoNode
}

// companions are the documents of format 2 that belong together: those of an array, and
// the further ones of a group.
var companions = [...][]string{{nodename.V2Array, nodename.V2Attributes}, {nodename.V2Group, nodename.V2Consolidated}}

// together reads documents in one round trip. It keeps those that r knows.
func (r Reader) together(ctx context.Context, p store.Path, names []string) map[string]reply {
	replies := make([]reply, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { replies[i].data, replies[i].info, replies[i].err = r.document(ctx, p, name) })
	}
	all.Wait()
	known := maps.Clone(r.known)
	if known == nil {
		known = map[string]reply{}
	}
	for i, name := range names {
		known[name] = replies[i]
	}
	return known
}

// document returns the bytes of a document. Those of an empty one are not nil: it is
// damaged, and not missing.
func (r Reader) document(ctx context.Context, p store.Path, name string) ([]byte, store.Info, error) {
	if k, ok := r.known[name]; ok {
		return k.data, k.info, k.err
	}
	data, info, err := r.Store.Get(ctx, p.MustKey(name), store.Request{Limit: r.Limits.Document}, nil)
	switch {
	case errors.Is(err, store.ErrTooLarge):
		err = fmt.Errorf("%w: %w"+remedy.LimitsDocument, engine.ErrLimit, err)
	case r.hides && errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case err == nil && data == nil:
		data = []byte{}
	}
	return data, info, err
}

// Attributes returns the attributes document of a node of format 2, nil if it has none.
func (r Reader) Attributes(ctx context.Context, p store.Path) ([]byte, error) {
	data, _, err := r.document(ctx, p, nodename.V2Attributes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// withConsolidated adds the consolidated metadata of a group of format 2. It only has
// copies of other documents, so a damaged one does not make the group unreadable.
func (r Reader) withConsolidated(ctx context.Context, p store.Path, g *metadata.Group) (metadata.Node, store.Info, error) {
	data, info, err := r.document(ctx, p, nodename.V2Consolidated)
	if errors.Is(err, fs.ErrNotExist) {
		return g, info, nil
	}
	if err != nil {
		return nil, info, err
	}
	c, err := metadata.ParseConsolidatedV2(data, r.Limits)
	g = g.WithConsolidated(c)
	g.Damaged = err
	return g, info, nil
}

// Record returns the entry of the node at p for consolidated metadata, with the bytes
// that are stored, and the format of the node.
func (r Reader) Record(ctx context.Context, p store.Path) (raw []byte, format int, err error) {
	raw, _, err = r.document(ctx, p, nodename.V3Node)
	if !errors.Is(err, fs.ErrNotExist) {
		// Do not parse the document: a node with an unknown extension is recorded as it
		// is.
		return bytes.TrimSpace(raw), 3, err
	}
	for _, name := range Documents[1:] {
		document, _, nameErr := r.document(ctx, p, name)
		if errors.Is(nameErr, fs.ErrNotExist) {
			continue
		}
		if nameErr != nil {
			return nil, 2, nameErr
		}
		attributes, err := r.Attributes(ctx, p)
		if err != nil {
			return nil, 2, err
		}
		raw, err = metadata.RecordV2(name, document, attributes, r.Limits)
		return raw, 2, err
	}
	return nil, 0, err
}

// Type returns "array" or "group" for a node that cannot be opened, or "" if its
// documents do not contain it.
func (r Reader) Type(ctx context.Context, p store.Path) string {
	data, _, err := r.document(ctx, p, nodename.V3Node)
	if errors.Is(err, fs.ErrNotExist) {
		return r.typeV2(ctx, p)
	}
	if err != nil {
		return ""
	}
	return zarrjson.NodeType(data)
}

func (r Reader) typeV2(ctx context.Context, p store.Path) string {
	for _, d := range [...]struct{ document, kind string }{{nodename.V2Array, "array"}, {nodename.V2Group, "group"}} {
		if found, err := store.Exists(ctx, r.Store, p.MustKey(d.document)); err == nil && found {
			return d.kind
		}
	}
	return ""
}

// Format returns the format of the node at p, 0 if there is none.
func Format(ctx context.Context, s store.Store, p store.Path) (int, error) {
	for _, name := range Documents {
		found, err := store.Exists(ctx, s, p.MustKey(name))
		switch {
		case err != nil:
			return 0, err
		case found && name == nodename.V3Node:
			return 3, nil
		case found:
			return 2, nil
		}
	}
	return 0, nil
}

// Shadowed returns the names of the documents of format 2 beside the document of a node
// of format 3. Programs that know only format 2 see another node there.
func Shadowed(ctx context.Context, s store.Store, p store.Path) ([]string, error) {
	asked := Documents[1:]
	found, errs := make([]bool, len(asked)), make([]error, len(asked))
	var all sync.WaitGroup // in a far store, these take one round trip
	for i, name := range asked {
		all.Go(func() { found[i], errs[i] = store.Exists(ctx, s, p.MustKey(name)) })
	}
	all.Wait()
	var names []string
	for i, name := range asked {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if found[i] {
			names = append(names, name)
		}
	}
	return names, nil
}

// Describe returns an [fs.ErrNotExist] that describes a path without a node.
func Describe(ctx context.Context, s store.Store, p store.Path) error {
	var names []string
	for e, err := range store.Usable(store.List(ctx, s, p, store.Flat)) {
		if err != nil {
			break
		}
		names = append(names, strconv.Quote(e.Name))
	}
	if slices.Sort(names); len(names) > 4 {
		names = append(names[:4], "…")
	}
	if len(names) > 0 {
		return fault.NotFound("no Zarr node here, only " + strings.Join(names, ", "))
	}
	if key, err := store.ParseKey(p.String()); err == nil {
		if found, _ := store.Exists(ctx, s, key); found {
			return fault.NotFound("no Zarr node here, only a file")
		}
	}
	return ErrNoNode
}

// Inherited returns the entries below the group at p of the consolidated metadata of the
// nearest group above that has some. It returns nil if there is none, or if it does not
// list the group. The information is that of the document which has them.
func (r Reader) Inherited(ctx context.Context, group store.Path, format int) (*metadata.Consolidated, store.Info, error) {
	for p := group; !p.IsRoot(); {
		p = p.Parent()
		s, err := r.Load(ctx, p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the store may have been opened below its root
		}
		if err != nil {
			return nil, s.Info, err
		}
		up, ok := s.Doc.(*metadata.Group)
		// Consolidated metadata describes only nodes of its own format.
		if !ok || up.Consolidated == nil || up.Format() != format {
			continue
		}
		path := Inside(p, group)
		if e, err := up.Consolidated.Entry(path, r.Limits); e == nil {
			return nil, s.Info, err
		}
		return up.Consolidated.Below(path), s.Copies, nil
	}
	return nil, store.Info{}, nil
}

// Directories returns the names of the directories below dir in alphabetical order. An
// error that is [store.ErrUnusable] comes together with the names.
func Directories(ctx context.Context, s store.Store, dir store.Path) (names []string, err error) {
	for e, listErr := range store.List(ctx, s, dir, store.Flat) {
		if err = listErr; err != nil && !errors.Is(err, store.ErrUnusable) {
			return nil, err
		}
		if e.Dir {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	if _, ours := slices.BinarySearch(names, own.Dir); ours && err == nil {
		err = foreign(ctx, s, dir)
	}
	return names, err
}

// foreign returns a [store.UnusableError] if the directory that Varve reserves is a node
// of another program, or has something of it.
func foreign(ctx context.Context, s store.Store, dir store.Path) error {
	for _, err := range store.List(ctx, s, dir.MustKey(own.Dir+"/-").Dir(), store.Flat) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Container returns the document with the consolidated metadata of the group at a path
// above the node. In format 3 it is the document of the group, in format 2 a separate
// one.
func (n Node) Container(p store.Path) Node {
	n.Path, n.Holder = p, "" // only arrays have reservations
	if n.IsV2() {
		n.Document = nodename.V2Consolidated
	}
	return n
}

// Record returns the entry of the node for consolidated metadata, as it is stored now.
func (n Node) Record(ctx context.Context) (raw []byte, err error) {
	raw, format, err := n.Reader().Record(ctx, n.Path)
	if err == nil && format != n.Format() {
		err = fault.NotFound("another writer replaced the node by one of another format")
	}
	return raw, err
}

// RecordMember stores the entry of a node in the consolidated metadata of all groups
// above it. A nil entry removes it. Groups without consolidated metadata stay without.
func (n Node) RecordMember(ctx context.Context, raw []byte) error {
	var groups []Node
	for p := n.Path; !p.IsRoot(); {
		p = p.Parent()
		groups = append(groups, n.Container(p))
	}
	return changeEach(ctx, groups, func(group Node, c *metadata.Consolidated) (*metadata.Consolidated, error) {
		return WithMember(c, Inside(group.Path, n.Path), raw, n.Limits)
	}, func(_ Node, err error) error { return err })
}

// Refresh returns the function that updates the consolidated metadata of the groups above
// the nodes that a transaction has changed.
func Refresh(l metadata.Limits) publish.After {
	return func(ctx context.Context, journal store.Key, changed []publish.Node) error {
		members := make([]Node, len(changed))
		for i, c := range changed {
			c.Holder = "" // the update is for any writer
			members[i] = Node{c, l}
		}
		return RefreshAbove(ctx, journal, members...)
	}
}

// Inside returns the path of a node relative to a group above it.
func Inside(group, p store.Path) string {
	return strings.TrimPrefix(strings.TrimPrefix(p.String(), group.String()), "/")
}

// RefreshAbove makes the consolidated metadata of the groups above some nodes agree with
// their documents. It changes each group once, and skips groups that do not list the
// nodes. journal is the journal of the transaction that the nodes are part of, if any.
func RefreshAbove(ctx context.Context, journal store.Key, members ...Node) error {
	below := map[store.Key][]Node{} // the nodes below each group, by its container
	var groups []Node
	for _, m := range members {
		for p := m.Path; !p.IsRoot(); {
			p = p.Parent()
			group := m.Container(p)
			if below[group.Key()] == nil {
				groups = append(groups, group)
			}
			below[group.Key()] = append(below[group.Key()], m)
		}
	}
	return changeEach(ctx, groups, func(group Node, c *metadata.Consolidated) (*metadata.Consolidated, error) {
		return refreshed(ctx, c, group.Path, journal, below[group.Key()])
	}, func(group Node, err error) error {
		// The store may have been opened below its root, and then a group above has no
		// document here.
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("%w: the consolidated metadata of %q is not up to date: %w", publish.ErrIncomplete, "/"+group.Path.String(), err)
	})
}

// refreshed returns the consolidated metadata of a group, with entries of some nodes that
// agree with their documents. A node must not be part of another pending transaction,
// whose other documents may not be published yet.
func refreshed(
	ctx context.Context, c *metadata.Consolidated, group store.Path, journal store.Key, members []Node,
) (*metadata.Consolidated, error) {
	var listed []Node
	for _, m := range members {
		old, err := c.Entry(Inside(group, m.Path), m.Limits)
		if old != nil || err != nil {
			listed = append(listed, m)
		}
	}
	records := make([][]byte, len(listed))
	reading, ctx := parallel.New(ctx)
	reading.SetLimit(mostRead)
	for i, m := range listed {
		reading.Go(func() (err error) {
			if records[i], err = m.Record(ctx); err != nil {
				return err
			}
			// Check this after reading the document. The other order would miss a
			// transaction that published it in between.
			return m.CheckPending(ctx, journal)
		})
	}
	if err := reading.Wait(nil); err != nil {
		return nil, err
	}
	for i, m := range listed {
		var err error
		if c, err = c.With(Inside(group, m.Path), records[i], m.Limits); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// mostRead is the number of documents that are read at once.
const mostRead = 16

// copying changes the consolidated metadata of a group. It returns the new one, or its
// argument if nothing changes.
type copying func(group Node, c *metadata.Consolidated) (*metadata.Consolidated, error)

// changeEach changes the consolidated metadata of groups, one after the other. It stops
// at the first error that failed returns for that of a group. In a store without locks,
// where a request is a round trip, it looks at all of them at once before: most groups
// have no consolidated metadata.
func changeEach(ctx context.Context, groups []Node, change copying, failed func(group Node, err error) error) error {
	of := func(i int) func(*metadata.Consolidated) (*metadata.Consolidated, error) {
		return func(c *metadata.Consolidated) (*metadata.Consolidated, error) { return change(groups[i], c) }
	}
	changes, errs := make([]bool, len(groups)), make([]error, len(groups))
	look := func(i int) { changes[i], errs[i] = groups[i].wouldChange(ctx, of(i)) }
	atOnce := len(groups) > 1 && groups[0].AtOnce() > 1
	if atOnce {
		looking, _ := parallel.New(ctx) // an error must not stop the other looks
		looking.SetLimit(groups[0].AtOnce())
		for i := range groups {
			looking.Go(func() error { look(i); return nil })
		}
		if err := looking.Wait(nil); err != nil {
			return err
		}
	}
	for i, g := range groups {
		if !atOnce {
			look(i)
		}
		err := errs[i]
		if err == nil && changes[i] {
			err = g.publishChange(ctx, of(i))
		}
		if err := failed(g, err); err != nil {
			return err
		}
	}
	return nil
}

// ChangeConsolidated publishes a change of the consolidated metadata in a container. It
// does nothing if there is none, or if change returns its argument.
func (n Node) ChangeConsolidated(ctx context.Context, change func(*metadata.Consolidated) (*metadata.Consolidated, error)) error {
	changes, err := n.wouldChange(ctx, change)
	if !changes || err != nil {
		return err
	}
	return n.publishChange(ctx, change)
}

// wouldChange reports whether change changes the consolidated metadata in a container. It
// takes no lock.
func (n Node) wouldChange(ctx context.Context, change func(*metadata.Consolidated) (*metadata.Consolidated, error)) (bool, error) {
	document, _, err := n.Store.Get(ctx, n.Key(), store.Request{Limit: n.Limit}, nil)
	if n.IsV2() && errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	doc, err := n.replan(document, change)
	if errors.Is(err, publish.ErrPending) { // publishChange finishes what is pending
		return true, nil
	}
	return doc != nil, err
}

// publishChange publishes a change of the consolidated metadata in a container.
func (n Node) publishChange(ctx context.Context, change func(*metadata.Consolidated) (*metadata.Consolidated, error)) error {
	plan := func(d publish.Document) (*publish.Change, error) {
		doc, err := n.replan(d.Bytes, change)
		if doc == nil || err != nil {
			return nil, err
		}
		return &publish.Change{Document: doc}, nil
	}
	return publish.Retry(ctx, func() error { return FinishMember(ctx, publish.Update(ctx, n.Node, plan)) })
}

// replan returns the document of a container after a change of its consolidated metadata.
// It returns nil if nothing changes.
func (n Node) replan(document []byte, change func(*metadata.Consolidated) (*metadata.Consolidated, error)) ([]byte, error) {
	l := n.Limits
	if n.IsV2() {
		old, err := metadata.ParseConsolidatedV2(document, l)
		if errors.Is(err, metadata.ErrInvalid) {
			return nil, nil // readers ignore a damaged .zmetadata, so leave it
		}
		if err != nil {
			return nil, err
		}
		c, err := change(old)
		if err != nil || c == old {
			return nil, err
		}
		return c.Marshal(l)
	}
	g, err := metadata.ParseGroup(document, l)
	if err != nil || g.Consolidated == nil {
		return nil, err
	}
	c, err := change(g.Consolidated)
	if err != nil || c == g.Consolidated {
		return nil, err
	}
	return g.WithConsolidated(c).Marshal(l)
}

// WithMember returns consolidated metadata with another entry at path, and without the
// entries below it.
func WithMember(c *metadata.Consolidated, path string, raw []byte, l metadata.Limits) (*metadata.Consolidated, error) {
	// A removed group takes its members with it. A replaced one begins without members.
	b := c.Without(path)
	var gone []string
	for name := range b.Nodes() {
		if strings.HasPrefix(name, path+"/") {
			gone = append(gone, name)
		}
	}
	for _, name := range gone {
		b = b.Without(name)
	}
	if raw == nil {
		return b, nil
	}
	return b.With(path, raw, l)
}

// Listed returns the node as the consolidated metadata of the group at a path above it
// describes it. It returns nil if the group does not list the node.
func (n Node) Listed(ctx context.Context, group store.Path) (metadata.Node, error) {
	s, err := n.Reader().Load(ctx, group)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	g, ok := s.Doc.(*metadata.Group)
	if !ok || g.Consolidated == nil {
		return nil, nil
	}
	return g.Consolidated.Entry(Inside(group, n.Path), n.Limits)
}
