// SPDX-License-Identifier: Apache-2.0

// Package dimension compares the lengths of arrays along the dimensions that they share.
//
// Arrays of a group that name one dimension should have one length along it; xarray does
// not open a group otherwise. A group may inherit the coordinate of a dimension from a
// group above.
package dimension

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/directory"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
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

// MissingError means that no array of a group has a dimension.
type MissingError struct {
	Name  string
	Known []string // the dimensions of all arrays; some may be "" or the same
}

// Error implements error.
func (e *MissingError) Error() string { return fmt.Sprintf("no array has the dimension %q", e.Name) }

// Is is for [errors.Is].
func (e *MissingError) Is(target error) bool { return target == fs.ErrNotExist }

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

// Array has the lengths of an array and the names of its dimensions.
type Array struct {
	Path  store.Path
	Names []string // "" for an axis without a name; nil if there are none
	Shape []int64  // elements
}

// arrayOf returns the lengths in a document.
func arrayOf(p store.Path, doc *metadata.Array) Array {
	return Array{p, snapshot.NamesOf(doc), doc.Shape}
}

// nameIn returns the last segment of the path, or the path from the root if the array is
// in another group.
func (a Array) nameIn(group store.Path) string {
	if a.Path.Parent() != group {
		return "/" + a.Path.String()
	}
	return a.Path.String()[strings.LastIndexByte(a.Path.String(), '/')+1:]
}

// along returns the length along a dimension that the array has.
func (a Array) along(name string) int64 { return a.Shape[slices.Index(a.Names, name)] }

// hasAny reports whether the array has one of the dimensions.
func (a Array) hasAny(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(a.Names, n) })
}

// namesOf returns the names of the dimensions of arrays, each once.
func namesOf(arrays []Array) (names []string) {
	for _, a := range arrays {
		names = append(names, a.Names...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
}

// isPyramid reports whether a group holds levels of resolution. Their dimensions have the
// same names and different lengths.
func isPyramid(attributes []byte) bool {
	var a struct {
		Multiscales json.RawMessage `json:"multiscales"`
		OME         struct {
			Multiscales json.RawMessage `json:"multiscales"`
		} `json:"ome"`
		Levels json.RawMessage `json:"varve:pyramid"` // own.Pyramid
	}
	if json.Unmarshal(attributes, &a) != nil {
		return false
	}
	if a.Levels != nil {
		return true
	}
	list := cmp.Or(string(a.Multiscales), string(a.OME.Multiscales))
	return list != "" && !levelsElsewhere(list)
}

// levelsElsewhere reports whether all levels but the first of every image lie in other
// groups, as those that package pyramid makes.
func levelsElsewhere(list string) bool {
	var images []struct {
		Datasets []struct{ Path string }
	}
	if json.Unmarshal([]byte(list), &images) != nil || len(images) == 0 {
		return false
	}
	for _, image := range images {
		if len(image.Datasets) == 0 {
			return false
		}
		for _, d := range image.Datasets[1:] {
			if !strings.Contains(d.Path, "/") {
				return false
			}
		}
	}
	return true
}

// tries bounds how often differing lengths are read again while another writer appends.
const tries = 20

// pause waits a moment for another writer's change of several arrays to end.
func pause(ctx context.Context) error {
	select {
	case <-time.After(publish.LongestPause / 2):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mostNamed bounds the arrays that an error names.
const mostNamed = 3

// someOf joins the first texts and counts the rest.
func someOf(texts []string, between string) string {
	if more := len(texts) - mostNamed; more > 0 {
		return strings.Join(texts[:mostNamed], between) + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(texts, between)
}

// Change is an array whose shape is about to change.
type Change struct {
	Path store.Path
	// Current returns the known state of the array.
	Current func() Array
	// Refresh reads the array again, for Now.
	Refresh func(context.Context) error
	// After returns the shape after the change of the given one. It may change it in
	// place.
	After func(shape []int64) []int64
	// Alone permits the array to differ from its siblings.
	Alone bool
}

// Changes are the arrays that one call changes.
type Changes struct {
	List []Change
	// Group is the group of Path without its document.
	Group func(path store.Path) Group
	// Finish completes the transaction of a crashed writer that the array at a path is
	// part of, if any.
	Finish func(ctx context.Context, path store.Path)
}

// Check returns an error if arrays of one group would differ along a dimension after
// the changes. The error is a [grid.AxisError] that wraps [fault.ErrInvalidArgument],
// or one of the store; at is the index of its change.
func (c Changes) Check(ctx context.Context) (at int, err error) {
	for i, change := range c.List {
		if change.Alone {
			continue
		}
		if err := c.check(ctx, change); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// check compares one array with its siblings. A concurrent change of several arrays
// becomes visible array by array. So check reads differing lengths again until they no
// longer change.
func (c Changes) check(ctx context.Context, change Change) error {
	names := change.names()
	if len(names) == 0 || change.Path.IsRoot() {
		return nil
	}
	g := c.Group(change.Path.Parent())
	siblings, err := g.siblings(ctx, names)
	if err != nil {
		return err
	}
	d := c.compare(change, siblings, g.Store)
	for range tries {
		if d == nil {
			return nil
		}
		was := *d
		if err := pause(ctx); err != nil {
			return err
		}
		if siblings, err = c.again(ctx, g, siblings, d.others); err != nil {
			return err
		}
		// Nothing changes any more, so this is not a concurrent append that becomes
		// visible array by array.
		if d = c.compare(change, siblings, g.Store); d != nil && d.length == was.length && d.found == was.found {
			break
		}
	}
	if d == nil {
		return nil
	}
	return &grid.AxisError{Axis: d.axis, Err: d}
}

// names returns the dimensions whose length changes.
func (c Change) names() (names []string) {
	now := c.Current()
	is := c.After(slices.Clone(now.Shape))
	for i, name := range now.Names {
		if name != "" && is[i] != now.Shape[i] {
			names = append(names, name)
		}
	}
	return names
}

// compare compares an array after its change with the siblings after theirs. It returns
// nil if all agree.
func (c Changes) compare(change Change, siblings []Array, s store.Store) *disagreement {
	now := change.Current()
	is := change.After(slices.Clone(now.Shape))
	for axis, name := range now.Names {
		if name == "" || is[axis] == now.Shape[axis] {
			continue
		}
		d := &disagreement{path: change.Path, axis: axis, name: name, length: is[axis]}
		for _, o := range siblings {
			if i := c.index(o.Path); i >= 0 {
				// The sibling changes in the same call, so compare with its shape
				// afterwards.
				o.Shape = c.List[i].After(slices.Clone(c.List[i].Current().Shape))
			}
			d.compare(o)
		}
		// A symbolic link to a changed array changes with it.
		d.others = slices.DeleteFunc(d.others, func(o Array) bool { return c.index(o.Path) < 0 && c.isLinked(s, o.Path) })
		if len(d.others) > 0 {
			d.found = d.others[0].along(name)
			return d
		}
	}
	return nil
}

// index returns the index of the change of the array at a path, or -1.
func (c Changes) index(p store.Path) int {
	return slices.IndexFunc(c.List, func(x Change) bool { return x.Path == p })
}

// isLinked reports whether a path is a link to one of the changed arrays.
func (c Changes) isLinked(s store.Store, p store.Path) bool {
	return slices.ContainsFunc(c.List, func(x Change) bool {
		same, err := directory.Same(s, x.Path, p)
		return same && err == nil
	})
}

// again completes the transactions of crashed writers. Then it reads the lengths of the
// changing and of the differing arrays once more.
func (c Changes) again(ctx context.Context, g Group, siblings, differ []Array) ([]Array, error) {
	for _, change := range c.List {
		if err := change.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	// Only arrays that differ need to be read again.
	now := slices.DeleteFunc(siblings, func(a Array) bool {
		return slices.ContainsFunc(differ, func(d Array) bool { return d.Path == a.Path })
	})
	for _, d := range differ {
		c.Finish(ctx, d.Path)
	}
	return append(now, g.again(ctx, differ)...), ctx.Err()
}

// disagreement is the error of a change after which arrays of a group would differ in
// length along a shared dimension.
type disagreement struct {
	path   store.Path // of the array that changes
	axis   int
	name   string
	length int64
	others []Array // arrays of another length
	found  int64   // length of the first of them
}

func (d *disagreement) Error() string {
	var names []string
	for _, o := range d.others {
		names = append(names, o.nameIn(d.path.Parent()))
	}
	if d.inherited() {
		return fmt.Sprintf("dimension %q would have length %d here and %d in %s, which this group inherits: "+
			"change this one alone ("+remedy.Alone+"), and then those", d.name, d.length, d.found, someOf(names, ", "))
	}
	return fmt.Sprintf("dimension %q would have length %d here and %d in %s, which share it: change them together "+
		"("+remedy.GroupAppend+"), or this one alone ("+remedy.Alone+")", d.name, d.length, d.found, someOf(names, ", "))
}

func (d *disagreement) Unwrap() error { return fault.ErrInvalidArgument }

// inherited reports whether one of the others is a coordinate in a group above.
func (d *disagreement) inherited() bool {
	return slices.ContainsFunc(d.others, func(a Array) bool { return a.Path.Parent() != d.path.Parent() })
}

// compare records an array that has the dimension with another length.
func (d *disagreement) compare(o Array) {
	i := slices.Index(o.Names, d.name)
	if i < 0 || o.Path == d.path || o.Shape[i] == d.length {
		return
	}
	d.others = append(d.others, o)
}

// differences are the dimensions along which arrays of a group differ in length.
type differences struct{ error }

func (d differences) Unwrap() error        { return d.error }
func (d differences) Is(target error) bool { return target == metadata.ErrInvalid }

// Check returns an error that wraps [metadata.ErrInvalid] if arrays directly below the
// group differ in length along a shared dimension. It joins one error for each such
// dimension. Levels of a pyramid may differ.
func (g Group) Check(ctx context.Context) error {
	if isPyramid(g.Doc.Attributes) {
		return nil
	}
	var arrays []Array
	if err := g.arrays(ctx, nil, func(a Array) { arrays = append(arrays, a) }); err != nil {
		return err
	}
	arrays = append(arrays, g.inherited(ctx, namesOf(arrays), arrays)...)
	was := ""
	for range tries {
		involved, found := differing(g.Path, arrays)
		if found == nil || found.Error() == was {
			return found
		}
		// A concurrent append to several arrays may be visible in only some of them. Look
		// again until the result stays the same.
		was = found.Error()
		if err := pause(ctx); err != nil {
			return err
		}
		arrays = g.again(ctx, involved)
	}
	return nil // the lengths keep changing, because a concurrent writer appends to the group
}

// differing returns the arrays that have a dimension along which arrays differ in length,
// and an error for each such dimension.
func differing(group store.Path, arrays []Array) (involved []Array, found error) {
	byName := map[string]map[int64][]string{} // names of arrays by dimension and length
	for _, a := range arrays {
		for i, name := range a.Names {
			if name == "" {
				continue
			}
			if byName[name] == nil {
				byName[name] = map[int64][]string{}
			}
			if in := byName[name]; !slices.Contains(in[a.Shape[i]], a.nameIn(group)) {
				in[a.Shape[i]] = append(in[a.Shape[i]], a.nameIn(group))
			}
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if in := byName[name]; len(in) > 1 {
			errs = append(errs, fmt.Errorf("dimension %q has %s", name, lengthsText(in)))
		}
	}
	for _, a := range arrays {
		if slices.ContainsFunc(a.Names, func(n string) bool { return len(byName[n]) > 1 }) {
			involved = append(involved, a)
		}
	}
	if errs == nil {
		return nil, nil
	}
	return involved, differences{errors.Join(errs...)}
}

// lengthsText lists lengths with their arrays: length 3 in t2m, u10 and length 4 in time.
func lengthsText(in map[int64][]string) string {
	var parts []string
	for _, length := range slices.Sorted(maps.Keys(in)) {
		parts = append(parts, fmt.Sprintf("length %d in %s", length, someOf(slices.Sorted(slices.Values(in[length])), ", ")))
	}
	return someOf(parts, " and ")
}
