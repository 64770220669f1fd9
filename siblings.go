// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"

	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// mostSiblings bounds the members that are compared in a group without consolidated
// metadata. Their documents are read one by one, and an append to a group of thousands
// must not pay for all of them.
const mostSiblings = 1000

// extents are the lengths of an array and the names of its dimensions.
type extents struct {
	path  store.Path
	names []string
	shape []int64
}

// nameIn returns the last segment of the path, or the path from the root if the array is
// in another group.
func (e extents) nameIn(group store.Path) string {
	if e.path.Parent() != group {
		return "/" + e.path.String()
	}
	return e.path.String()[strings.LastIndexByte(e.path.String(), '/')+1:]
}

// along returns the length along a dimension that the array has.
func (e extents) along(name string) int64 { return e.shape[slices.Index(e.names, name)] }

// siblings returns the arrays of the same group that have one of the dimensions, and the
// coordinates that the group inherits for them.
func (a *Array) siblings(ctx context.Context, names []string) (found []extents, err error) {
	g, err := a.hierarchy.at(a.path.Parent()).OpenGroup(ctx, &Options{Limits: a.options.Limits, Concurrency: a.options.Concurrency})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the store was opened below the group
	}
	if err != nil || isPyramid(g.doc.Attributes) {
		return nil, err
	}
	err = g.arrays(ctx, names, func(p store.Path, doc *metadata.Array) {
		e := extents{p, snapshot.NamesOf(doc), doc.Shape}
		if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(e.names, n) }) {
			found = append(found, e)
		}
	})
	return append(found, g.inherited(ctx, names, found)...), err
}

// inherited returns the coordinates of dimensions that are not among the arrays of the
// group: each is in the nearest group above that has one. Levels of a pyramid inherit
// none.
func (g *Group) inherited(ctx context.Context, names []string, arrays []extents) (found []extents) {
	for _, name := range names {
		if slices.ContainsFunc(arrays, func(e extents) bool { return e.nameIn(g.path) == name }) {
			continue
		}
		if e, ok := g.coordinateAbove(ctx, name); ok {
			found = append(found, e)
		}
	}
	return found
}

// coordinateAbove returns the coordinate of a dimension in the nearest group above that
// has one.
func (g *Group) coordinateAbove(ctx context.Context, name string) (extents, bool) {
	for p := g.path; !p.IsRoot(); {
		p = p.Parent()
		at, err := p.Join(name)
		if err != nil {
			return extents{}, false // no legal name of a node
		}
		doc := g.hierarchy.arrayAt(ctx, at, g.options.Limits)
		if doc == nil || !slices.Equal(snapshot.NamesOf(doc), []string{name}) {
			continue
		}
		s, _ := g.hierarchy.reader(g.options.Limits).Load(ctx, p) // a group need not have a document
		above, ok := s.Doc.(*metadata.Group)
		return extents{at, []string{name}, doc.Shape}, !ok || !isPyramid(above.Attributes)
	}
	return extents{}, false
}

// arrays calls use with the documents of the arrays directly below the group. Without
// consolidated metadata it reads at most mostSiblings documents, those of coordinates with
// the given names first.
func (g *Group) arrays(ctx context.Context, names []string, use func(store.Path, *metadata.Array)) error {
	c := g.doc.Consolidated
	if c == nil && !g.listed {
		c, _ = g.recordedAbove(ctx) // if it is damaged, read the documents
	}
	if c != nil {
		g.recorded(c, use)
		return nil
	}
	dirs, err := g.directories(ctx, g.path)
	if errors.Is(err, store.ErrUnsupported) {
		return nil // the store cannot list, so the siblings are unknown
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(dirs, func(x, y string) int { return rank(names, x) - rank(names, y) })
	dirs = dirs[:min(len(dirs), mostSiblings)]
	type read struct {
		path store.Path
		doc  *metadata.Array
	}
	open := func(i int) (r read, bytes int) {
		p, err := g.path.Join(dirs[i])
		if err != nil {
			return r, 0 // no legal name of a node
		}
		return read{p, g.hierarchy.arrayAt(ctx, p, g.options.Limits)}, 0
	}
	parallel.Prefetch(len(dirs), engine.InFlight(g.hierarchy.store, g.options.Concurrency, runtime.GOMAXPROCS(0)), open, func(r read) bool {
		if r.doc != nil {
			use(r.path, r.doc)
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
func (g *Group) recorded(c *metadata.Consolidated, use func(store.Path, *metadata.Array)) {
	for path := range c.Nodes() {
		if strings.Contains(path, "/") {
			continue
		}
		p, err := g.path.Join(path)
		if err != nil {
			continue // no legal name of a node
		}
		doc, _ := c.Entry(path, g.options.Limits.metadata())
		if doc, ok := doc.(*metadata.Array); ok && doc != nil {
			use(p, doc)
		}
	}
}

// arrayAt returns the document of the array at p, or nil if there is no array. The array
// may have unsupported extensions.
func (h *hierarchy) arrayAt(ctx context.Context, p store.Path, l Limits) *metadata.Array {
	s, _ := h.reader(l).Load(ctx, p) // a damaged sibling must not prevent an append
	doc, _ := s.Doc.(*metadata.Array)
	return doc
}

// extentsOf reads the current lengths of arrays. It leaves out arrays that were deleted.
func (h *hierarchy) extentsOf(ctx context.Context, arrays []extents, l Limits) (now []extents) {
	for _, e := range arrays {
		if doc := h.arrayAt(ctx, e.path, l); doc != nil {
			now = append(now, extents{e.path, snapshot.NamesOf(doc), doc.Shape})
		}
	}
	return now
}

// isPyramid reports whether a group holds levels of resolution. Their dimensions have the
// same names and different lengths.
func isPyramid(attributes []byte) bool {
	var a struct {
		Multiscales json.RawMessage `json:"multiscales"`
		OME         struct {
			Multiscales json.RawMessage `json:"multiscales"`
		} `json:"ome"`
	}
	return json.Unmarshal(attributes, &a) == nil && (a.Multiscales != nil || a.OME.Multiscales != nil)
}
