// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"runtime"
	"slices"
	"strings"

	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/dimension"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Group is a node that has nodes below it.
type Group struct {
	node
	doc    *metadata.Group
	listed bool          // consolidated metadata is not used
	copied snapshot.Copy // when the consolidated metadata was written
}

// Unconsolidated returns the group without its consolidated metadata, which another
// program may have left stale. Members and CheckDimensions then list the store and read
// the documents of nodes. In a store that cannot list, Members fails with
// [store.ErrUnsupported]. Closing g closes the store of both.
func (g *Group) Unconsolidated() *Group {
	u := &Group{node: g.node, doc: g.doc.WithConsolidated(nil), listed: true}
	u.owner = false
	return u
}

// Attributes returns the user attributes as a JSON object, in their stored spelling.
func (g *Group) Attributes() []byte { return bytes.Clone(g.doc.Attributes) }

// Metadata returns a copy of the document that describes the group. Its consolidated
// metadata is shared and must not be changed.
func (g *Group) Metadata() *metadata.Group {
	c := *g.doc
	c.Attributes = bytes.Clone(c.Attributes)
	return &c
}

// String describes the group in one line.
func (g *Group) String() string { return "group at " + g.Location().String() }

// At returns the location of a path below the group. Options that a call there does not
// set are those of the group. Nodes are created there only if the group is open for
// writing.
func (g *Group) At(path string) *Location { return g.Location().At(path) }

// newGroup returns a group of a format with the given attributes.
func newGroup(base node, attributes []byte, format int) *Group {
	doc := tree.NewGroup(attributes, format)
	base.document = doc.Document()
	return &Group{node: base, doc: doc}
}

// Member is an entry of a group.
type Member struct {
	Path string // relative to the group that was listed
	Kind string // "array" or "group"; "" if the document is too damaged to tell
	// Node is the opened node. It is nil if Err is not, for example because the data type
	// is unknown.
	Node Node
	Err  error
}

// Name returns the last segment of the path.
func (m Member) Name() string { return m.Path[strings.LastIndexByte(m.Path, '/')+1:] }

// Members yields the nodes directly below the group, or all nodes below it if deep is
// set: parents first, and each level in alphabetical order.
//
// If the group has consolidated metadata, Members uses it. In a store that cannot list,
// it also uses that of a group above. It may be older than the nodes; [Array.Refresh]
// reads the document of an array again, and so does every write. A damaged entry yields
// an error, and the sequence continues. Entries that must not exist yield errors at the
// end: illegal paths, duplicates, and nodes below an array. Paths that may be those of
// stored nodes but cannot be used are counted in one [store.UnusableError].
//
// Members opens up to [Options.Concurrency] nodes at once, slightly ahead of the
// sequence. A node that exists but cannot be opened is a Member with an Err. An error of
// the store, or of ctx, ends the sequence. Below the group, a directory that may not be
// read yields an error and the Path, and the sequence continues. Where a directory has
// names that cannot be used ([store.UnusableError]), Members yields that error after the
// members of the directory, and continues.
func (g *Group) Members(ctx context.Context, deep bool) iter.Seq2[Member, error] {
	if c := g.doc.Consolidated; c != nil {
		return g.consolidated(ctx, c, deep)
	}
	return func(yield func(Member, error) bool) {
		g.walk(ctx, g.path, deep, yield)
	}
}

// walk yields the nodes below a directory. It returns false if the loop must stop.
func (g *Group) walk(ctx context.Context, dir store.Path, deep bool, yield func(Member, error) bool) bool {
	names, err := tree.Directories(ctx, g.hierarchy.store, dir)
	if errors.Is(err, store.ErrUnsupported) {
		err = g.unlisted(err)
	}
	if errors.Is(err, store.ErrUnsupported) && !g.listed {
		// The store cannot list, so the only way to find members is the consolidated
		// metadata of a group above.
		c, info, aboveErr := g.hierarchy.reader(g.options.Limits).Inherited(ctx, g.path, g.Format())
		if c != nil {
			below := *g
			below.copied.Written = info.Modified
			below.consolidated(ctx, c, deep)(yield)
			return false
		}
		err = cmp.Or(aboveErr, err)
	}
	unusable := err
	if errors.Is(err, fs.ErrPermission) && dir != g.path {
		return yield(Member{Path: g.below(dir)}, g.fail("list", err))
	}
	if err != nil && !errors.Is(err, store.ErrUnusable) {
		yield(Member{}, g.fail("list", err))
		return false
	}
	open := func(i int) (entry, int) { return g.entry(ctx, dir, names[i]) }
	goOn := parallel.Prefetch(len(names), g.ahead(), g.openers(), open, func(m entry) bool {
		if ctx.Err() == nil && errors.Is(m.err, fs.ErrPermission) {
			return yield(Member{Path: g.below(m.path)}, g.fail("list", m.err))
		}
		// Report the cancellation itself, not the failed request that it caused.
		if err := cmp.Or(ctx.Err(), m.err); err != nil {
			yield(Member{}, g.fail("list", err))
			return false
		}
		return !m.isNode || yield(m.Member, nil) && (m.Kind != "group" || !deep || g.walk(ctx, m.path, deep, yield))
	})
	return goOn && (unusable == nil || yield(Member{}, g.fail("list", unusable)))
}

// entry is an entry of a directory or of consolidated metadata.
type entry struct {
	Member
	path   store.Path
	isNode bool
	err    error // of the store
}

// entry opens the entry of a directory if it is a node. It also returns the approximate
// size of the node in memory.
func (g *Group) entry(ctx context.Context, dir store.Path, name string) (m entry, bytes int) {
	var err error
	if m.path, err = dir.Join(name); err != nil {
		return m, 0 // Varve's own directory, so not a node
	}
	m.Member, m.isNode, m.err = g.member(ctx, m.path)
	if m.Node != nil {
		bytes = weight(document(m.Node))
	}
	return m, bytes
}

// weight returns the bytes of the parts of a document that may be large.
func weight(doc metadata.Node) int {
	switch doc := doc.(type) {
	case *metadata.Array:
		return len(doc.ChunkGrid.Configuration) + len(doc.Attributes)
	case *metadata.Group:
		return len(doc.Attributes)
	}
	return 0
}

// openers returns how many members are opened at once. For writing it is one, because
// opening may complete a transaction that several members are part of.
func (g *Group) openers() int {
	if g.options.Write {
		return 1
	}
	return engine.InFlight(g.hierarchy.store, g.options.Concurrency, runtime.GOMAXPROCS(0))
}

// ahead returns how many members are opened before the first one is passed on. In a far
// store several take as long as one.
func (g *Group) ahead() int {
	if _, near := store.As[store.Opener](g.hierarchy.store); near {
		return 1
	}
	return g.openers()
}

// unlisted returns the error of [Group.Members] in a store that cannot list.
func (g *Group) unlisted(err error) error {
	if g.doc.Damaged != nil {
		return fmt.Errorf("%w; it finds the members of a group by consolidated metadata, and that of this group is damaged: %w", err, g.doc.Damaged)
	}
	return fmt.Errorf("%w; it finds the members of a group by consolidated metadata, which this group does not have: consolidate it where it can be written ("+remedy.Consolidate+"), or open an array by its full path", err)
}

// below returns a path relative to the group.
func (g *Group) below(p store.Path) string {
	return strings.TrimPrefix(strings.TrimPrefix(p.String(), g.path.String()), "/")
}

// member opens the node at p. ok is false if there is none. Errors of the node are in the
// member; err is an error of the store.
func (g *Group) member(ctx context.Context, p store.Path) (m Member, ok bool, err error) {
	m.Path = g.below(p)
	n, err := g.hierarchy.open(ctx, p, g.options)
	switch n := n.(type) {
	case *Group:
		m.Kind, m.Node = "group", n
	case *Array:
		m.Kind, m.Node = "array", n
	}
	if err == nil {
		return m, true, nil
	}
	switch m.Err = fail("open", g.hierarchy.name(p), err); KindOf(m.Err) {
	case "not-found":
		return m, false, nil
	case "unsupported", "invalid-metadata", "limit", "overflow", "corrupt":
		// This node cannot be opened, but the others can. Yield it with its error.
		m.Kind = g.hierarchy.reader(g.options.Limits).Type(ctx, p)
	default:
		// The store failed, so the other members would probably fail, too.
		return m, false, err
	}
	return m, true, nil
}

// consolidated yields the members that consolidated metadata describes.
func (g *Group) consolidated(ctx context.Context, c *metadata.Consolidated, deep bool) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		paths := make([]string, 0, c.Len())
		for path := range c.Nodes() {
			if deep || !strings.Contains(path, "/") {
				paths = append(paths, path)
			}
		}
		open := func(i int) (m entry, bytes int) {
			m.Member, m.err = g.described(c, paths[i])
			return m, 0
		}
		if !parallel.Prefetch(len(paths), 1, min(g.openers(), runtime.GOMAXPROCS(0)), open, func(m entry) bool {
			if err := ctx.Err(); err != nil {
				yield(Member{}, g.fail("list", err))
				return false
			}
			return yield(m.Member, m.err)
		}) {
			return
		}
		// Valid members come first, so that a program that stops at the first error has
		// seen them.
		for path, err := range c.Refused() {
			if !errors.Is(err, nodename.ErrUnusable) && !yield(g.refused(path), g.fail("list", err)) {
				return
			}
		}
		for _, err := range store.Sift(g.path, unusable(c)) {
			yield(Member{}, g.fail("list", err))
		}
	}
}

// unusable yields the entries of consolidated metadata whose paths cannot be used.
func unusable(c *metadata.Consolidated) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for path, err := range c.Refused() {
			if errors.Is(err, nodename.ErrUnusable) && !yield(store.Entry{Name: path, Unusable: "the consolidated metadata lists it: " + err.Error()}, nil) {
				return
			}
		}
	}
}

// refused returns the member for an entry that must not exist. It has no path if that is
// illegal; the error names it.
func (g *Group) refused(path string) (m Member) {
	if _, err := g.path.Join(path); err == nil {
		m.Path = path
	}
	return m
}

// described opens the node of an entry of consolidated metadata.
func (g *Group) described(c *metadata.Consolidated, path string) (Member, error) {
	m := Member{Path: path}
	doc, err := c.Entry(path, g.options.Limits.metadata())
	// The entry is so damaged that not even the kind of node is known.
	if doc == nil {
		return m, g.fail("list", err)
	}
	p, pathErr := g.path.Join(path)
	if pathErr != nil {
		return m, g.fail("list", pathErr)
	}
	below := doc
	switch doc := doc.(type) {
	case *metadata.Array:
		m.Kind = "array"
	case *metadata.Group:
		m.Kind = "group"
		// The members of this group are in the same consolidated metadata.
		below = doc.WithConsolidated(c.Below(path))
	}
	if err == nil {
		m.Node, err = g.hierarchy.node(p, below, store.Version{}, g.options)
	}
	switch n := m.Node.(type) {
	case *Array:
		n.core.State().Copy = &g.copied
	case *Group:
		n.copied = g.copied
	}
	if err != nil {
		m.Err = fail("open", g.hierarchy.name(p), err)
	}
	return m, nil
}

// ArraysOptions selects arrays of a group.
type ArraysOptions struct {
	// Deep also selects arrays of the groups below.
	Deep bool
	// Dimensions selects arrays with any of these dimensions. Nil selects all arrays.
	Dimensions []string
	// Link, if it is not nil, is told of members that are left out: at the path is a
	// symbolic link to an array at another place in the store.
	Link func(path string, to store.Path)
	// Options are those of the arrays. What they do not set is that of the group.
	Options *Options
}

// Arrays opens the selected arrays of the group one after the other, in alphabetical
// order, for a caller that changes all of them. Symbolic links are left out, because an
// array is changed under its own name. The documents of the arrays are read, since
// consolidated metadata may be older.
//
// The sequence ends with an error if an array cannot be opened or, wrapping
// [fs.ErrNotExist], if no array has one of the dimensions.
func (g *Group) Arrays(ctx context.Context, opt *ArraysOptions) iter.Seq2[*Array, error] {
	if opt == nil {
		opt = &ArraysOptions{}
	}
	return func(yield func(*Array, error) bool) {
		var known, found []string // names of dimensions: of all arrays, and of those yielded
		for m, err := range g.Unconsolidated().Members(ctx, opt.Deep) {
			if err = cmp.Or(err, m.Err); err != nil {
				yield(nil, err)
				return
			}
			listed, ok := m.Node.(*Array)
			if !ok {
				continue
			}
			names := listed.DimensionNames()
			known = append(known, names...)
			if opt.Dimensions != nil && !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(opt.Dimensions, n) }) {
				continue
			}
			// Opening an array may finish an interrupted change, so a link is not opened.
			to, isLink, err := g.linkTo(m.Path)
			if isLink && err == nil {
				if opt.Link != nil {
					opt.Link(m.Path, to)
				}
				continue
			}
			found = append(found, names...)
			var a *Array
			if err == nil {
				a, err = g.At(m.Path).OpenArray(ctx, opt.Options)
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
		for _, name := range opt.Dimensions {
			if !slices.Contains(found, name) {
				yield(nil, g.fail("list arrays", &dimension.MissingError{Name: name, Known: known}))
				return
			}
		}
	}
}

// linkTo returns where a member is if a symbolic link leads there.
func (g *Group) linkTo(member string) (to store.Path, isLink bool, err error) {
	directories := store.DirectoriesOf(g.hierarchy.store)
	named, err := g.path.Join(member)
	if err != nil {
		return to, false, err
	}
	// The group itself may lie behind a link, so compare resolved paths.
	group, err := directories.Resolve(g.path)
	if err != nil {
		return to, false, err
	}
	plain, err := group.Join(member)
	if err == nil {
		to, err = directories.Resolve(named)
	}
	return to, err == nil && to != plain, err
}

// CheckDimensions returns an error that wraps [ErrInvalidMetadata] if arrays directly
// below the group differ in length along a shared dimension. It joins one error for each
// such dimension. Some programs, such as xarray, do not open such a group.
//
// If the group has no coordinate for a dimension, it also compares the coordinate in the
// nearest group above. It does not compare levels of a pyramid (attribute multiscales).
// Without consolidated metadata it reads the documents of the coordinates of these
// dimensions and of the first 1,000 members. [Group.Append] makes the same check before
// it changes anything; [Append] and [Array.Resize] do not.
func (g *Group) CheckDimensions(ctx context.Context) error {
	of := array.DimensionsOf(g.hierarchy.reader(g.options.Limits), g.path, g.options.Concurrency)
	// Use the document that the group was opened with, as Members does.
	of.Doc, of.Listed = g.doc, g.listed
	return g.fail("check dimensions", of.Check(ctx))
}

// Consolidate stores copies of the documents of all nodes below the group in the document
// of the group, or in format 2 in a separate document. A reader then needs one request to
// learn about all nodes. Changes by this package keep the copies up to date. After a
// change by another program, call Consolidate again. Nodes of the other format are left
// out. The group uses the copies after it is opened again. Nodes with names that cannot
// be in such a document, such as ones made of periods, are left out, and a
// [store.UnusableError] names them. So are those that would lead out of their directory
// on Windows, and those that are no UTF-8.
//
// The form is that of zarr-python 3.4.1: "consolidated_metadata" of kind "inline", and
// ".zmetadata" in format 2.
func (g *Group) Consolidate(ctx context.Context) error {
	if err := g.writable(); err != nil {
		return g.fail("consolidate", err)
	}
	w := walked{dir: g.path}
	err := g.consolidateNow(ctx, &w)
	// A writer that published while the documents were read has found no copies to
	// update. One that publishes from now on will.
	if err == nil && !g.options.SingleWriter {
		if err = publish.Retry(ctx, func() error { return g.recopy(ctx) }); err != nil {
			err = fmt.Errorf("the copies are published, but may lack what other writers changed meanwhile; consolidate again: %w", err)
		}
	}
	return g.fail("consolidate", cmp.Or(err, w.unusable()))
}

// recopy updates the copies that differ from the documents, one by one: others are
// updated by their writers meanwhile.
func (g *Group) recopy(ctx context.Context) error {
	n := g.place().Container(g.path)
	document, _, err := n.Store.Get(ctx, n.Key(), store.Request{Limit: n.Limit}, nil)
	if err != nil {
		return err
	}
	fresh, err := g.consolidate(ctx, document, new(walked))
	if err != nil {
		return tree.FinishMember(ctx, err)
	}
	was, err := g.copiesIn(document)
	if err != nil {
		return err
	}
	is, err := g.copiesIn(fresh)
	if err != nil {
		return err
	}
	var changed []string
	for path, raw := range is.Nodes() {
		if !bytes.Equal(was.Raw(path), raw) {
			changed = append(changed, path)
		}
	}
	for path := range was.Nodes() {
		if is.Raw(path) == nil {
			changed = append(changed, path)
		}
	}
	for _, path := range changed {
		member := node{hierarchy: g.hierarchy, options: g.options, document: g.document}
		if member.path, err = g.path.Join(path); err == nil {
			err = g.hierarchy.recordAll(ctx, member)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copiesIn returns the consolidated metadata in a document.
func (g *Group) copiesIn(document []byte) (*metadata.Consolidated, error) {
	l := g.options.Limits.metadata()
	if g.isV2() {
		return metadata.ParseConsolidatedV2(document, l)
	}
	doc, err := metadata.ParseGroup(document, l)
	if err != nil || doc.Consolidated == nil { // another program has removed it
		return new(metadata.Consolidated), err
	}
	return doc.Consolidated, nil
}

// consolidateNow stores copies of the documents as they are now.
func (g *Group) consolidateNow(ctx context.Context, w *walked) error {
	n := g.place().Container(g.path)
	plan := func(d publish.Document) (*publish.Change, error) {
		doc, err := g.consolidate(ctx, d.Bytes, w)
		if err != nil {
			return nil, err
		}
		return &publish.Change{Document: doc}, nil
	}
	return publish.Retry(ctx, func() error {
		// FinishMember completes a pending transaction of a member. The error stays a
		// conflict, so Retry lists the members again.
		err := tree.FinishMember(ctx, publish.Update(ctx, n.Node, plan))
		if !g.isV2() || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// In format 2 the copies have a document of their own, .zmetadata, which does not
		// exist yet.
		doc, err := g.consolidate(ctx, nil, w)
		if err != nil {
			return tree.FinishMember(ctx, err)
		}
		_, err = publish.Create(ctx, n.Node, doc)
		return err
	})
}

// consolidate returns the document with the consolidated metadata of the group. In format
// 3 it is the given document of the group with that member replaced.
func (g *Group) consolidate(ctx context.Context, document []byte, w *walked) ([]byte, error) {
	l := g.options.Limits.metadata()
	w.failed, w.left = nil, nil
	if g.isV2() {
		own, err := g.place().Record(ctx)
		if err != nil {
			return nil, err
		}
		c, err := metadata.NewConsolidatedV2(own, g.documents(ctx, w), l)
		if err = errors.Join(w.failed, err); err != nil {
			return nil, err
		}
		return c.Marshal(l)
	}
	doc, err := metadata.ParseGroup(document, l)
	if err != nil {
		return nil, err
	}
	c, err := metadata.NewConsolidated(g.documents(ctx, w), l)
	if err = errors.Join(w.failed, err); err != nil {
		return nil, err
	}
	return doc.WithConsolidated(c).Marshal(l)
}

// walked is what a walk over the documents below a group has met besides them.
type walked struct {
	dir    store.Path
	failed error
	left   []store.Entry // nodes that consolidated metadata cannot have
}

// unusable returns the [store.UnusableError] that names the nodes that were left out.
func (w *walked) unusable() error {
	entries := func(yield func(store.Entry, error) bool) {
		for _, e := range w.left {
			if !yield(e, nil) {
				return
			}
		}
	}
	for _, err := range store.Sift(w.dir, entries) {
		return err
	}
	return nil
}

// documents yields the paths and stored entries of all nodes below the group that have
// its format. It stops at an error and sets w.failed.
func (g *Group) documents(ctx context.Context, w *walked) iter.Seq2[string, []byte] {
	plain := &Group{node: g.node, doc: g.doc.WithConsolidated(nil)}
	// Opening members for writing would finish changes of crashed writers. That takes the
	// lock of the group, which this goroutine holds.
	plain.options.Write = false
	return func(yield func(string, []byte) bool) {
		for m, err := range plain.Members(ctx, true) {
			var raw []byte
			format := 0
			n := g.place()
			if why := nodename.CheckBelow(m.Path); err == nil && why != nil {
				w.left = append(w.left, store.Entry{Name: m.Path, Unusable: "left out of the consolidated metadata: " + why.Error()})
				continue
			}
			if err == nil {
				n.Path, err = g.path.Join(m.Path)
			}
			if err == nil {
				raw, format, err = n.Reader().Record(ctx, n.Path)
			}
			if err == nil {
				// A copy that was made in the middle of a transaction could show one
				// array grown and another one not.
				err = n.CheckPending(ctx, store.Key{})
			}
			if err != nil {
				w.failed = err
				return
			}
			if format == g.Format() && !yield(m.Path, raw) {
				return
			}
		}
	}
}

// updateConsolidated makes the consolidated metadata above a node agree with what is
// stored at the node and below it.
func (h *hierarchy) updateConsolidated(ctx context.Context, n node) error {
	if err := n.writable(); err != nil {
		return err
	}
	// Each format has consolidated metadata of its own, and a node may have documents of
	// both.
	for _, document := range []string{documentName, nodename.V2Array} {
		n.document = document
		if err := h.recordAll(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// recordAll stores the entries of a node and of all nodes below it in the consolidated
// metadata of the groups above that have the node's format.
func (h *hierarchy) recordAll(ctx context.Context, n node) error {
	raw, format, err := h.reader(n.options.Limits).Record(ctx, n.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || format != n.Format() {
		// There is no node of this format, so its entry is removed.
		raw = nil
	}
	for p := n.path; !p.IsRoot(); {
		p = p.Parent()
		path := tree.Inside(p, n.path)
		err := n.place().Container(p).ChangeConsolidated(ctx, func(c *metadata.Consolidated) (*metadata.Consolidated, error) {
			return h.withNode(ctx, n, c, path, raw)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// withNode returns consolidated metadata with the entry of a node at a path and those of
// the nodes below it.
func (h *hierarchy) withNode(ctx context.Context, n node, c *metadata.Consolidated, path string, raw []byte) (*metadata.Consolidated, error) {
	c, err := tree.WithMember(c, path, raw, n.options.Limits.metadata())
	if err != nil || raw == nil {
		return c, err
	}
	at, err := h.open(ctx, n.path, n.options)
	g, isGroup := at.(*Group)
	if err != nil || !isGroup {
		return c, nil // an array has nothing below it; a node that does not open has an entry all the same
	}
	var w walked
	for below, raw := range g.documents(ctx, &w) {
		if c, err = c.With(path+"/"+below, raw, n.options.Limits.metadata()); err != nil {
			return nil, fmt.Errorf("%s: %w", below, err)
		}
	}
	return c, w.failed
}

// UpdateConsolidated makes the consolidated metadata of the groups above the location
// agree with what is stored there and below it. It is for programs that store documents
// themselves, such as copies. Groups without consolidated metadata stay without.
func (l *Location) UpdateConsolidated(ctx context.Context, opt *Options) error {
	if l.illegal != nil {
		return l.fail("consolidate", l.illegal)
	}
	h, o := l.merged(opt)
	return l.fail("consolidate", h.updateConsolidated(ctx, node{hierarchy: h, path: l.path, options: o}))
}
