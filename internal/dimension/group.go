// SPDX-License-Identifier: Apache-2.0

package dimension

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// mostMembers bounds the members that are compared in a group without consolidated
// metadata. Their documents are read one by one, and an append to a group of thousands
// must not pay for all of them.
const mostMembers = 1000

// Group is a group whose arrays are compared.
type Group struct {
	tree.Reader
	Path     store.Path
	Doc      *metadata.Group
	Listed   bool // do not use consolidated metadata
	InFlight int  // documents that are read at the same time
}

// load reads the document of the group. ok is false if there is none, because the store
// was opened below the group.
func (g Group) load(ctx context.Context) (_ Group, ok bool, err error) {
	s, err := g.Load(ctx, g.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return g, false, nil
	}
	if err == nil {
		g.Doc, ok = s.Doc.(*metadata.Group)
	}
	return g, ok, err
}

// siblings returns the arrays of the group that have one of the dimensions, and the
// coordinates that the group inherits for them.
func (g Group) siblings(ctx context.Context, names []string) (found []Array, err error) {
	g, ok, err := g.load(ctx)
	if err != nil || !ok || isPyramid(g.Doc.Attributes) {
		return nil, err
	}
	err = g.arrays(ctx, names, func(a Array) {
		if a.hasAny(names) {
			found = append(found, a)
		}
	})
	return append(found, g.inherited(ctx, names, found)...), err
}

// inherited returns the coordinates of dimensions that are not among the arrays of the
// group: each is in the nearest group above that has one. Levels of a pyramid inherit
// none.
func (g Group) inherited(ctx context.Context, names []string, arrays []Array) (found []Array) {
	for _, name := range names {
		if slices.ContainsFunc(arrays, func(a Array) bool { return a.nameIn(g.Path) == name }) {
			continue
		}
		if a, ok := g.coordinateAbove(ctx, name); ok {
			found = append(found, a)
		}
	}
	return found
}

// coordinateAbove returns the coordinate of a dimension in the nearest group above that
// has one.
func (g Group) coordinateAbove(ctx context.Context, name string) (Array, bool) {
	for p := g.Path; !p.IsRoot(); {
		p = p.Parent()
		at, err := p.Join(name)
		if err != nil {
			return Array{}, false // no legal name of a node
		}
		a, ok := g.arrayAt(ctx, at)
		// A coordinate has one axis, which is named like the array.
		if !ok || !slices.Equal(a.Names, []string{name}) {
			continue
		}
		s, _ := g.Load(ctx, p) // a group need not have a document
		above, ok := s.Doc.(*metadata.Group)
		return a, !ok || !isPyramid(above.Attributes)
	}
	return Array{}, false
}

// arrays calls use with the arrays directly below the group. Without consolidated
// metadata it reads at most mostMembers documents, those of coordinates with the given
// names first.
func (g Group) arrays(ctx context.Context, names []string, use func(Array)) error {
	c := g.Doc.Consolidated
	if c == nil && !g.Listed {
		c, _, _ = g.Inherited(ctx, g.Path, g.Doc.Format()) // if it is damaged, read the documents
	}
	if c != nil {
		g.recorded(c, use)
		return nil
	}
	dirs, err := tree.Directories(ctx, g.Store, g.Path)
	if errors.Is(err, store.ErrUnsupported) {
		return nil // the store cannot list, so the siblings are unknown
	}
	if err != nil && !errors.Is(err, store.ErrUnusable) { // which are no arrays
		return err
	}
	slices.SortStableFunc(dirs, func(x, y string) int { return rank(names, x) - rank(names, y) })
	dirs = dirs[:min(len(dirs), mostMembers)]
	type member struct {
		Array
		ok bool
	}
	open := func(i int) (m member, bytes int) {
		if p, err := g.Path.Join(dirs[i]); err == nil { // else no legal name of a node
			m.Array, m.ok = g.arrayAt(ctx, p)
		}
		return m, 0
	}
	parallel.Prefetch(len(dirs), g.InFlight, g.InFlight, open, func(m member) bool {
		if m.ok {
			use(m.Array)
		}
		return true
	})
	return ctx.Err()
}

// rank orders names of the list before all others.
func rank(names []string, name string) int {
	if slices.Contains(names, name) {
		return 0
	}
	return 1
}

// recorded calls use with the arrays of consolidated metadata that are directly below the
// group.
func (g Group) recorded(c *metadata.Consolidated, use func(Array)) {
	for path := range c.Nodes() {
		if strings.Contains(path, "/") {
			continue
		}
		p, err := g.Path.Join(path)
		if err != nil {
			continue // no legal name of a node
		}
		doc, _ := c.Entry(path, g.Limits)
		if doc, ok := doc.(*metadata.Array); ok && doc != nil {
			use(arrayOf(p, doc))
		}
	}
}

// arrayAt returns the array at p, and false if there is none. The array may have
// unsupported extensions.
func (g Group) arrayAt(ctx context.Context, p store.Path) (Array, bool) {
	s, _ := g.Load(ctx, p) // a damaged sibling must not prevent an append
	doc, ok := s.Doc.(*metadata.Array)
	if !ok || doc == nil {
		return Array{}, false
	}
	return arrayOf(p, doc), true
}

// again reads the current lengths of arrays. It omits arrays that were deleted.
func (g Group) again(ctx context.Context, arrays []Array) (now []Array) {
	for _, a := range arrays {
		if a, ok := g.arrayAt(ctx, a.Path); ok {
			now = append(now, a)
		}
	}
	return now
}
