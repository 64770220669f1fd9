// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/rowset"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/statistics"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/cached"
)

// table is a node whose arrays share an axis.
type table struct {
	Options
	src        *zarr.Location
	cachedRoot *zarr.Location // the root of the store, with a cache of what was read
	request    Request
	dimension  string // "" if the axis of a single array has no name
	nameless   bool   // that is so: columns need only have as many rows
	arrays     []*array
	columns    map[string]*column // that the condition names
	n          int64              // rows
	keptRows   *rows              // nil until they are known
	sets       []*set
	setBytes   int64 // that the sets take
	unopened   []unopened
}

// open opens the arrays of a table.
func open(ctx context.Context, src *zarr.Location, r Request, opt *Options) (*table, error) {
	t := &table{Options: opt.orZero(), src: src, request: r, dimension: r.Dimension, columns: map[string]*column{}}
	if err := r.check(); err != nil {
		return nil, err
	}
	// A chunk of a column that is cut is not requested again. If it changes meanwhile,
	// the result has the elements that the condition was evaluated on, while the cache
	// has room.
	cache := cached.InMemory(max(1, t.memory()/8))
	t.cachedRoot = zarr.At(cached.New(src.Store(), cache, &cached.Options{Immutable: true}), "")
	n, err := src.Root().At(src.Path()).Open(ctx, t.reading())
	if err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *zarr.Array:
		t.setAxis(n)
		if err = t.openColumns(ctx, path.Dir("/"+src.Path())); err == nil {
			err = t.openArray(n)
		}
	case *zarr.Group:
		if err = t.openColumns(ctx, "/"+src.Path()); err == nil {
			err = t.openGroup(ctx, n)
		}
	}
	if err == nil {
		err = t.checkRows()
	}
	return t, err
}

// setAxis sets the dimension that the axis of a single array has, if it has a name.
func (t *table) setAxis(a *zarr.Array) {
	names, axis := a.DimensionNames(), t.request.Axis
	if t.dimension == "" && axis >= 0 && axis < len(names) {
		t.dimension = names[axis]
	}
	t.nameless = t.dimension == ""
}

// openArray opens a single array.
func (t *table) openArray(a *zarr.Array) error {
	axis, names := t.request.Axis, a.DimensionNames()
	if t.request.Dimension != "" {
		axis = slices.Index(names, t.dimension)
	}
	if axis < 0 || axis >= a.Rank() {
		return fmt.Errorf("%w: there is no axis %s: the array has %s %v", zarr.ErrInvalidArgument, axisName(t.request.Dimension, axis), quantity.Count(a.Rank(), "axes"), names)
	}
	return t.add(a, "", axis)
}

func axisName(dimension string, axis int) string {
	if dimension != "" {
		return dimension
	}
	return fmt.Sprint(axis)
}

// openGroup opens the arrays of a group that have the dimension. Groups below it with a
// coordinate of their own have a dimension of their own.
func (t *table) openGroup(ctx context.Context, g *zarr.Group) error {
	sparse := t.dimension == "" && rowset.IsSparse(g.Attributes())
	if t.dimension == "" && !sparse {
		return fmt.Errorf("%w: a mask of a group needs the name of the dimension", zarr.ErrInvalidArgument)
	}
	members, err := t.members(ctx, g)
	if err != nil {
		return err
	}
	if sparse {
		return t.openSparse(ctx, members)
	}
	var known []string
	for _, m := range members {
		names := m.array.DimensionNames()
		known = append(known, names...)
		axis := slices.Index(names, t.dimension)
		switch {
		case axis < 0 || isOwn(members, m.path, t.dimension):
			continue
		case slices.Contains(names[axis+1:], t.dimension):
			return fmt.Errorf("%w: %s has the dimension %s twice", zarr.ErrUnsupported, m.path, t.dimension)
		}
		if err := t.add(m.array, m.path, axis); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	if len(t.arrays) == 0 {
		slices.Sort(known)
		return fmt.Errorf("%w: no array has the dimension %q; there are %q", zarr.ErrInvalidArgument, t.dimension, slices.Compact(known))
	}
	return t.openSets(ctx, members)
}

// unopened is an array of a group that cannot be opened, and is copied as it is.
type unopened struct {
	path       string
	names      []string
	attributes []byte
}

// member is an array of a group.
type member struct {
	path  string
	array *zarr.Array
}

// members opens all arrays of a group. It reads their documents, because consolidated
// metadata may be older, unless the store cannot be listed.
func (t *table) members(ctx context.Context, g *zarr.Group) ([]member, error) {
	var list []member
	listed := true
	for m, err := range g.Unconsolidated().Members(ctx, true) {
		if errors.Is(err, store.ErrUnsupported) {
			listed = false
			break
		}
		if list, err = t.appended(ctx, list, m, err); err != nil {
			return nil, err
		}
	}
	if listed {
		return list, nil
	}
	list = nil
	for m, err := range g.Members(ctx, true) {
		if list, err = t.appended(ctx, list, m, err); err != nil {
			return nil, err
		}
	}
	for i, m := range list {
		a, err := t.opened(ctx, m.path)
		if err != nil {
			return nil, err
		}
		list[i].array = a
	}
	return list, nil
}

// appended appends a member that is an array. Arrays that cannot be opened are copied as
// they are, unless they may have the dimension.
func (t *table) appended(ctx context.Context, list []member, m zarr.Member, err error) ([]member, error) {
	if err != nil {
		return list, err
	}
	if m.Err != nil && m.Kind != "group" {
		// With an unknown codec, for example, a document has names all the same.
		n, _ := t.src.Root().At(path.Join(t.src.Path(), m.Path)).Metadata(ctx, t.reading())
		if doc, ok := n.(*metadata.Array); ok && t.dimension != "" && !slices.Contains(snapshot.NamesOf(doc), t.dimension) {
			t.unopened = append(t.unopened, unopened{m.Path, snapshot.NamesOf(doc), doc.Attributes})
			return list, nil
		}
		return list, fmt.Errorf("%s: %w", m.Path, m.Err)
	}
	if a, ok := m.Node.(*zarr.Array); ok {
		list = append(list, member{m.Path, a})
	}
	return list, nil
}

// isOwn reports whether a group between the table and an array has a coordinate of the
// dimension.
func isOwn(members []member, at, dimension string) bool {
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if slices.ContainsFunc(members, func(m member) bool { return m.path == dir+"/"+dimension }) {
			return true
		}
	}
	return false
}

// add adds an array that is filtered. A column is read through the cache, which does not
// notice that the document changes.
func (t *table) add(a *zarr.Array, path string, axis int) error {
	source := a
	for _, c := range t.columns {
		if c.array.Path() == a.Path() {
			source = c.array
		}
	}
	r, err := newArray(source, path, axis, t.engine())
	if err != nil {
		return err
	}
	r.of, r.from = a, a.Core().Begin()
	t.arrays = append(t.arrays, r)
	return nil
}

// openColumns opens the arrays that the condition names, in the group at a path. They
// tell the dimension of the table.
func (t *table) openColumns(ctx context.Context, dir string) error {
	if t.request.Where == nil {
		return nil
	}
	for _, name := range t.request.Where.names {
		at := path.Join(dir, name)
		a, err := t.cachedRoot.At(strings.TrimPrefix(at, "/")).OpenArray(ctx, t.reading())
		if errors.Is(err, fs.ErrNotExist) {
			return nameError(name, at)
		}
		if err != nil {
			return t.named(err)
		}
		if err := t.addColumn(ctx, name, a); err != nil {
			return fmt.Errorf("the condition names %q: %w", name, err)
		}
	}
	return nil
}

func (t *table) addColumn(ctx context.Context, name string, a *zarr.Array) error {
	if a.Rank() != 1 {
		return fmt.Errorf("%w: the array has %s, not one", zarr.ErrInvalidArgument, quantity.Count(a.Rank(), "axes"))
	}
	dimension := ""
	if names := a.DimensionNames(); names != nil {
		dimension = names[0]
	}
	if dimension == "" {
		dimension = name // as coordinates without dimension names have it
	}
	if t.dimension == "" && !t.nameless {
		t.dimension = dimension
	}
	if t.dimension != dimension && !t.nameless {
		return fmt.Errorf("%w: it has the dimension %s, and the rows are those of %s", zarr.ErrInvalidArgument, dimension, t.dimension)
	}
	c, err := newColumn(ctx, a)
	t.columns[name] = c
	return err
}

// checkRows returns an error unless all arrays have the same number of rows.
func (t *table) checkRows() error {
	if a := t.arrays[0]; a.elementsOf == nil && a.offsetsOf == nil {
		t.n = a.extent()
	}
	differs := func(what string, n int64) error {
		return fmt.Errorf("%w: %s has %s, and %s has %d; if they are growing, filter again", zarr.ErrInvalidArgument, what, quantity.Count(n, "rows"), t.nameOf(t.arrays[0]), t.n)
	}
	for _, a := range t.arrays {
		if n := a.extent(); n != t.n && a.elementsOf == nil && a.offsetsOf == nil {
			return differs(t.nameOf(a), n)
		}
	}
	for name, c := range t.columns {
		if n := c.array.Shape()[0]; n != t.n {
			return differs(name, n)
		}
	}
	if n := int64(len(t.request.Mask)); t.request.Mask != nil && n != t.n {
		return differs("the mask", n)
	}
	// A bit for every row, and what is noted for every chunk.
	bytes := t.n / 8
	for _, a := range t.arrays {
		if bytes = max(bytes, a.source.Grid.Axis(a.axis).Chunks()*noted); a.elementsOf != nil {
			bytes = max(bytes, t.n/8+16*t.n+a.extent()/8)
		}
	}
	if bytes > t.memory()/2 {
		return fmt.Errorf("%w: %s %s, more than half of the memory ("+remedy.FilterMemory+")", zarr.ErrLimit, quantity.Count(t.n, "rows take"), quantity.Count(bytes, "bytes"))
	}
	return t.checkSets()
}

// noted bounds the bytes that are noted for a chunk along the axis.
const noted = 96

func (t *table) nameOf(a *array) string {
	if a.path == "" {
		return "the array"
	}
	return a.path
}

// loadStatistics reads what is known of the units of the columns. An entry counts for the
// version of a chunk that was listed, so the rows are those that some moment since the
// listing had.
func (t *table) loadStatistics(ctx context.Context) error {
	for _, c := range t.columns {
		kept, err := statistics.IsKept(ctx, c.array)
		if err != nil || !kept {
			continue // what cannot be read is not needed
		}
		var listed *staging.Table
		for _, a := range t.arrays {
			if a.of.Path() == c.array.Path() {
				listed = a.stored
			}
		}
		if listed == nil {
			if listed, err = staging.TryList(ctx, c.state); err != nil {
				return t.named(err)
			}
		}
		if listed == nil {
			if c.entries, err = statistics.Ask(ctx, c.array, c.state, c.comparer); err != nil {
				return t.named(err)
			}
			continue
		}
		if c.entries, err = statistics.Load(ctx, c.array, c.state, c.comparer, listed, t.memory()/8); err != nil {
			return t.named(err)
		}
	}
	return nil
}

// kept returns the rows that are kept.
func (t *table) kept(ctx context.Context) (*rows, error) {
	if t.request.Mask != nil {
		r := newRows(t.n)
		r.keep(0, t.request.Mask)
		return r, nil
	}
	e, err := newEvaluation(t.request.Where, t.columns, t.n)
	if err != nil {
		return nil, err
	}
	r, err := e.run(ctx, t.memory()/4, engine.DefaultConcurrency(t.src.Store(), 1))
	return r, t.named(err)
}

// named names the place of a column in its error: the store of the cache has no name.
func (t *table) named(err error) error {
	if e := (*zarr.Error)(nil); errors.As(err, &e) {
		e.Path = t.src.Root().At(e.Path).String()
	}
	return err
}

// allRows is the range of all rows.
func (t *table) allRows() grid.Interval { return grid.Interval{Stop: t.n} }
