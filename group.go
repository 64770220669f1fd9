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

	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Group is a node that has other nodes below it.
type Group struct {
	node
	doc    *metadata.Group
	listed bool // consolidated metadata is not used
}

// Unconsolidated returns the group as one that uses no consolidated metadata. Its Members
// and CheckDimensions list the store and read the documents of the nodes, also where
// another program has left the consolidated metadata stale. In a store that cannot be
// listed Members fails with [store.ErrUnsupported]. Closing g closes the store of both.
func (g *Group) Unconsolidated() *Group {
	u := &Group{node: g.node, doc: g.doc.WithConsolidated(nil), listed: true}
	u.owner = false
	return u
}

// Attributes returns the user attributes as a JSON object, spelled as they are stored.
func (g *Group) Attributes() []byte { return bytes.Clone(g.doc.Attributes) }

// Metadata returns the document that describes the group. It is not to be changed.
func (g *Group) Metadata() *metadata.Group { return g.doc }

// String describes the group in one line.
func (g *Group) String() string { return "group at " + g.Location().String() }

// At returns the location of a path below the group. Options that a call there does not
// set are those of the group. Nodes are created there only if the group is open for
// writing.
func (g *Group) At(path string) *Location {
	l := &Location{hierarchy: g.hierarchy, path: g.path, options: g.options, readOnly: !g.options.Write}
	return l.At(path)
}

// Member is an entry of a group.
type Member struct {
	Path string // relative to the group that was listed
	Kind string // "array" or "group"; "" where the document is too damaged to tell
	// Node is the opened node; nil where Err says why it cannot be opened, as with a data
	// type that is not known.
	Node Node
	Err  error
}

// Name returns the last segment of the path.
func (m Member) Name() string { return m.Path[strings.LastIndexByte(m.Path, '/')+1:] }

// Members yields the nodes one level down, or all nodes below the group where deep is
// set, parents first and each level in alphabetical order. Consolidated metadata is used
// where the group has it, or a group above in a store that cannot list, and may be older
// than the nodes are: a member that is written to looks again, [Array.Refresh] does so at
// once. An entry of it that is damaged is an error; so is, behind all others, one that
// must not be there: at a path that is not legal, listed twice or below an array. The
// sequence goes on after it. Members are opened some at a time, at most
// [Options.Concurrency], a little ahead of the sequence, but not while the caller looks
// at one. A node that is there but cannot be opened is a Member with an Err. An error of
// the store, and the end of ctx, end the sequence.
func (g *Group) Members(ctx context.Context, deep bool) iter.Seq2[Member, error] {
	if c := g.doc.Consolidated; c != nil {
		return g.consolidated(ctx, c, deep)
	}
	return func(yield func(Member, error) bool) {
		g.walk(ctx, g.path, deep, yield)
	}
}

// recordedAbove returns what the consolidated metadata of the nearest group above that
// has some says of the nodes below g; nil where no group has any, or it does not know g.
func (g *Group) recordedAbove(ctx context.Context) (*metadata.Consolidated, error) {
	for p := g.path; !p.IsRoot(); {
		p = p.Parent()
		s, err := g.hierarchy.reader(g.options.Limits).Load(ctx, p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a group need not have a document where the store was opened below its root
		}
		if err != nil {
			return nil, err
		}
		up, ok := s.Doc.(*metadata.Group)
		if !ok || up.Consolidated == nil || up.Format() != g.doc.Format() {
			continue
		}
		path := strings.TrimPrefix(strings.TrimPrefix(g.path.String(), p.String()), "/")
		if e, err := up.Consolidated.Entry(path, g.options.Limits.metadata()); e == nil {
			return nil, err
		}
		return up.Consolidated.Below(path), nil
	}
	return nil, nil
}

// walk yields what is below the directory; it is false when it has to stop.
func (g *Group) walk(ctx context.Context, dir store.Path, deep bool, yield func(Member, error) bool) bool {
	names, err := g.directories(ctx, dir)
	if errors.Is(err, store.ErrUnsupported) && !g.listed {
		c, aboveErr := g.recordedAbove(ctx)
		if c != nil {
			g.consolidated(ctx, c, deep)(yield)
			return false
		}
		err = cmp.Or(aboveErr, err)
	}
	if err != nil {
		yield(Member{}, g.fail("list", err))
		return false
	}
	open := func(i int) (met, int) { return g.meet(ctx, dir, names[i]) }
	return parallel.Prefetch(len(names), g.openers(), open, func(m met) bool {
		if err := cmp.Or(ctx.Err(), m.err); err != nil {
			yield(Member{}, g.fail("list", err))
			return false
		}
		return !m.isNode || yield(m.Member, nil) && (m.Kind != "group" || !deep || g.walk(ctx, m.path, deep, yield))
	})
}

// met is what was found in a directory.
type met struct {
	Member
	path   store.Path
	isNode bool
	err    error // of the store
}

// meet opens what has a name in a directory, if it is a node. It also returns about how
// many bytes of memory that takes.
func (g *Group) meet(ctx context.Context, dir store.Path, name string) (m met, bytes int) {
	var err error
	if m.path, err = dir.Join(name); err != nil {
		return m, 0 // no legal node name, so no node
	}
	m.Member, m.isNode, m.err = g.member(ctx, m.path)
	if m.Node != nil {
		bytes = weight(document(m.Node))
	}
	return m, bytes
}

// weight returns the bytes of what may be large in a document.
func weight(doc metadata.Node) int {
	switch doc := doc.(type) {
	case *metadata.Array:
		return len(doc.ChunkGrid.Configuration) + len(doc.Attributes)
	case *metadata.Group:
		return len(doc.Attributes)
	}
	return 0
}

// openers returns how many members are opened at a time. Opening to write may finish what
// others began on several nodes, so that is done one by one.
func (g *Group) openers() int {
	if g.options.Write {
		return 1
	}
	return engine.InFlight(g.hierarchy.store, g.options.Concurrency, runtime.GOMAXPROCS(0))
}

// directories returns the names of the directories below dir in alphabetical order.
func (g *Group) directories(ctx context.Context, dir store.Path) ([]string, error) {
	var names []string
	for e, err := range store.List(ctx, g.hierarchy.store, dir, false) {
		if errors.Is(err, store.ErrUnsupported) {
			err = g.unlisted(err)
		}
		if err != nil {
			return nil, err
		}
		if e.Dir {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// unlisted returns the error for the members of the group in a store that cannot be
// listed.
func (g *Group) unlisted(err error) error {
	if g.doc.Damaged != nil {
		return fmt.Errorf("%w; it finds the members of a group by consolidated metadata, and that of this group is damaged: %w", err, g.doc.Damaged)
	}
	return fmt.Errorf("%w; it finds the members of a group by consolidated metadata, which this group does not have: make it where the group can be written to (Group.Consolidate), or open an array by its full path", err)
}

// member opens what is at p; it is false where there is no node. What is wrong with the
// node itself stands in the member, any other error is one of the store.
func (g *Group) member(ctx context.Context, p store.Path) (m Member, ok bool, err error) {
	m.Path = strings.TrimPrefix(strings.TrimPrefix(p.String(), g.path.String()), "/")
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
	case KindNotFound:
		return m, false, nil
	case KindUnsupported, KindInvalidMetadata, KindLimit, KindOverflow:
		m.Kind = g.hierarchy.reader(g.options.Limits).Type(ctx, p)
	default:
		return m, false, err
	}
	return m, true, nil
}

// consolidated yields the members that the group's own document describes.
func (g *Group) consolidated(ctx context.Context, c *metadata.Consolidated, deep bool) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		paths := make([]string, 0, c.Len())
		for path := range c.Nodes() {
			if deep || !strings.Contains(path, "/") {
				paths = append(paths, path)
			}
		}
		open := func(i int) (m met, bytes int) {
			m.Member, m.err = g.described(c, paths[i])
			return m, 0
		}
		if !parallel.Prefetch(len(paths), min(g.openers(), runtime.GOMAXPROCS(0)), open, func(m met) bool {
			if err := ctx.Err(); err != nil {
				yield(Member{}, g.fail("list", err))
				return false
			}
			return yield(m.Member, m.err)
		}) {
			return
		}
		for path, err := range c.Refused() {
			if !yield(g.refused(path), g.fail("list", err)) {
				return
			}
		}
	}
}

// refused returns the member for an entry that must not be there. Its path is told by the
// error only where it may leave the group.
func (g *Group) refused(path string) (m Member) {
	if _, err := g.path.Join(path); err == nil {
		m.Path = path
	}
	return m
}

// described opens an entry of consolidated metadata.
func (g *Group) described(c *metadata.Consolidated, path string) (Member, error) {
	m := Member{Path: path}
	doc, err := c.Entry(path, g.options.Limits.metadata())
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
		below = doc.WithConsolidated(c.Below(path))
	}
	if err == nil {
		m.Node, err = g.hierarchy.node(p, below, store.Version{}, g.options)
	}
	if err != nil {
		m.Err = fail("open", g.hierarchy.name(p), err)
	}
	return m, nil
}
