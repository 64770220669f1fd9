// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// mostSiblings is how many members of a group are compared that has no consolidated
// metadata. Their documents are read one by one, which a group of thousands should not
// cost every append.
const mostSiblings = 1000

// extents are the lengths of an array and the names that it has for them.
type extents struct {
	path  store.Path
	names []string
	shape []int64
}

// reshaping is an array whose extents are about to change.
type reshaping struct {
	array *Array
	after func(shape []int64) []int64
	alone bool // whatever its siblings do
}

// disagreement says that a change would leave arrays of a group that differ in length
// along a dimension they share.
type disagreement struct {
	path   store.Path // of the array that changes
	axis   int
	name   string
	length int64
	others []extents // which have another length
	found  int64     // the length of the first of them
}

// mostNamed is how many arrays an error names.
const mostNamed = 3

func (d *disagreement) Error() string {
	var names []string
	for _, o := range d.others {
		names = append(names, o.nameIn(d.path.Parent()))
	}
	if d.inherited() {
		return fmt.Sprintf("dimension %q would have length %d here and %d in %s, which this group inherits: "+
			"change this one alone (Addition.Alone), and then those", d.name, d.length, d.found, someOf(names, ", "))
	}
	return fmt.Sprintf("dimension %q would have length %d here and %d in %s, which share it: change them together "+
		"(Group.Append), or this one alone (Addition.Alone)", d.name, d.length, d.found, someOf(names, ", "))
}

// inherited reports whether what differs is the coordinate of a group above.
func (d *disagreement) inherited() bool {
	return slices.ContainsFunc(d.others, func(e extents) bool { return e.path.Parent() != d.path.Parent() })
}

// nameIn returns the last segment of the path, for an array of another group the path
// from the root.
func (e extents) nameIn(group store.Path) string {
	if e.path.Parent() != group {
		return "/" + e.path.String()
	}
	return e.path.String()[strings.LastIndexByte(e.path.String(), '/')+1:]
}

// someOf joins texts, of many the first ones.
func someOf(texts []string, between string) string {
	if more := len(texts) - mostNamed; more > 0 {
		return strings.Join(texts[:mostNamed], between) + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(texts, between)
}

func (d *disagreement) Unwrap() error { return ErrInvalidArgument }

// CheckDimensions returns an error that wraps [ErrInvalidArgument] if the array, with the
// given shape, would differ in length from other arrays of its group along a shared
// dimension whose length changes. [Append] and [Array.Resize] do not check this. Call
// CheckDimensions before them, or use [Group.Append], which calls it.
//
// It compares arrays directly below the same group, and inherited coordinates: if the group
// has no coordinate for a dimension, that of the nearest group above. It does not compare
// levels of a pyramid (attribute multiscales). Without consolidated metadata it reads the
// documents of the first 1,000 members, and of coordinates with these names.
func (a *Array) CheckDimensions(ctx context.Context, shape []int64) error {
	if len(shape) != a.Rank() {
		return a.fail("compare", fault.Argument("the shape %v has %d axes, the array has %d", shape, len(shape), a.Rank()))
	}
	after := func([]int64) []int64 { return shape }
	return checkShared(ctx, "check dimensions", []reshaping{{array: a, after: after}})
}

// agreementTries bounds how often differing lengths are read again while another writer
// lets arrays grow.
const agreementTries = 20

// checkShared refuses changes after which arrays of one group would not agree along a
// dimension.
func checkShared(ctx context.Context, op string, changes []reshaping) error {
	for _, c := range changes {
		if c.alone {
			continue
		}
		if err := c.check(ctx, changes); err != nil {
			return c.array.fail(op, err)
		}
	}
	return nil
}

// check compares one change with its siblings. Another writer's change of several arrays
// becomes visible array by array, so lengths that differ are looked at again until they
// rest.
func (c reshaping) check(ctx context.Context, changes []reshaping) error {
	names := c.changing()
	if len(names) == 0 || c.array.path.IsRoot() {
		return nil
	}
	siblings, err := c.array.siblings(ctx, names)
	if err != nil {
		return err
	}
	d := c.disagrees(changes, siblings)
	for range agreementTries {
		if d == nil {
			return nil
		}
		was := *d
		if err := pause(ctx); err != nil {
			return err
		}
		if siblings, err = c.array.again(ctx, changes, siblings, d.others); err != nil {
			return err
		}
		if d = c.disagrees(changes, siblings); d != nil && d.length == was.length && d.found == was.found {
			break
		}
	}
	if d == nil {
		return nil
	}
	return &grid.AxisError{Axis: d.axis, Err: d}
}

// pause waits for a moment, in which another writer's change of several arrays may come
// to its end.
func pause(ctx context.Context) error {
	select {
	case <-time.After(longestPause / 2):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// changing returns the names of the dimensions whose length changes.
func (c reshaping) changing() (names []string) {
	s := c.array.state.Load()
	was := s.Grid.Shape()
	is := c.after(slices.Clone(was))
	for i, name := range s.DimensionNames() {
		if name != "" && is[i] != was[i] {
			names = append(names, name)
		}
	}
	return names
}

// disagrees compares the array as it will be with the others as they will be, nil where
// all agree.
func (c reshaping) disagrees(changes []reshaping, siblings []extents) *disagreement {
	s := c.array.state.Load()
	was := s.Grid.Shape()
	is := c.after(slices.Clone(was))
	for axis, name := range s.DimensionNames() {
		if name == "" || is[axis] == was[axis] {
			continue
		}
		d := &disagreement{path: c.array.path, axis: axis, name: name, length: is[axis]}
		for _, o := range siblings {
			if i := slices.IndexFunc(changes, func(r reshaping) bool { return r.array.path == o.path }); i >= 0 {
				o.shape = changes[i].after(changes[i].array.Shape())
			}
			d.compare(o)
		}
		// A link to a changed array is that array, which is compared itself.
		d.others = slices.DeleteFunc(d.others, func(o extents) bool { return c.isOneOf(changes, o.path) })
		if len(d.others) > 0 {
			d.found = d.others[0].along(name)
			return d
		}
	}
	return nil
}

// compare notes an array that has the dimension and another length.
func (d *disagreement) compare(o extents) {
	i := slices.Index(o.names, d.name)
	if i < 0 || o.path == d.path || o.shape[i] == d.length {
		return
	}
	d.others = append(d.others, o)
}

// along returns the length along a dimension that the array has.
func (e extents) along(name string) int64 { return e.shape[slices.Index(e.names, name)] }

// isOneOf reports whether a path is another name of one of the changed arrays.
func (c reshaping) isOneOf(changes []reshaping, p store.Path) bool {
	named := slices.ContainsFunc(changes, func(r reshaping) bool { return r.array.path == p })
	return !named && slices.ContainsFunc(changes, func(r reshaping) bool {
		same, err := store.SameDirectory(c.array.hierarchy.store, r.array.path, p)
		return same && err == nil
	})
}

// siblings returns the arrays right beside the array that have one of the dimensions.
func (a *Array) siblings(ctx context.Context, names []string) (found []extents, err error) {
	g, err := a.hierarchy.at(a.path.Parent()).OpenGroup(ctx, &Options{Limits: a.options.Limits, Concurrency: a.options.Concurrency})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a store that was opened at the array
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

// inherited returns the coordinates of dimensions for which the group has none among its
// arrays: those of the nearest groups above that have some. Levels of a pyramid inherit
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

// arrays calls use with the documents of the arrays right below the group: those of
// consolidated metadata, or else as many as are read one by one, coordinates of the given
// names first.
func (g *Group) arrays(ctx context.Context, names []string, use func(store.Path, *metadata.Array)) error {
	c := g.doc.Consolidated
	if c == nil && !g.listed {
		c, _ = g.recordedAbove(ctx) // where that is damaged, the documents themselves tell
	}
	if c != nil {
		g.recorded(c, use)
		return nil
	}
	dirs, err := g.directories(ctx, g.path)
	if errors.Is(err, store.ErrUnsupported) {
		return nil // nobody knows what is beside the array
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

// rank puts names that stand in the list first.
func rank(names []string, name string) int {
	if slices.Contains(names, name) {
		return 0
	}
	return 1
}

// recorded calls use with the arrays right below the group that consolidated metadata
// describes.
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

// arrayAt returns the document of the array at p as far as it can be described, nil where
// there is none.
func (h *hierarchy) arrayAt(ctx context.Context, p store.Path, l Limits) *metadata.Array {
	s, _ := h.reader(l).Load(ctx, p) // a damaged neighbour is for check to tell, and keeps nobody from an append
	doc, _ := s.Doc.(*metadata.Array)
	return doc
}

// again reads the lengths of the arrays that change and of those that differ once more,
// after completing the transactions of crashed writers.
func (a *Array) again(ctx context.Context, changes []reshaping, siblings, differ []extents) ([]extents, error) {
	for _, c := range changes {
		if err := c.array.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	now := slices.DeleteFunc(siblings, func(e extents) bool {
		return slices.ContainsFunc(differ, func(d extents) bool { return d.path == e.path })
	})
	for _, d := range differ {
		// What the array is like does not matter, and one that cannot be opened has a
		// document all the same.
		_, _ = a.hierarchy.at(d.path).OpenArray(ctx, &a.options)
	}
	return append(now, a.hierarchy.extentsOf(ctx, differ, a.options.Limits)...), ctx.Err()
}

// extentsOf returns the lengths of arrays as their documents have them now, without those
// that are gone.
func (h *hierarchy) extentsOf(ctx context.Context, arrays []extents, l Limits) (now []extents) {
	for _, e := range arrays {
		if doc := h.arrayAt(ctx, e.path, l); doc != nil {
			now = append(now, extents{e.path, snapshot.NamesOf(doc), doc.Shape})
		}
	}
	return now
}

// isPyramid reports whether a group holds levels of resolution, whose dimensions have one
// name and differ in length on purpose.
func isPyramid(attributes []byte) bool {
	var a struct {
		Multiscales json.RawMessage `json:"multiscales"`
		OME         struct {
			Multiscales json.RawMessage `json:"multiscales"`
		} `json:"ome"`
	}
	return json.Unmarshal(attributes, &a) == nil && (a.Multiscales != nil || a.OME.Multiscales != nil)
}
