// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// ErrMismatch means that a file does not fit those before it. The message names the file,
// the array and the axis.
var ErrMismatch = errors.New("the files do not fit together")

// Join says how files become one hierarchy. Without any field set, every array comes from
// one file (a merge), and arrays of several files must have the same values.
type Join struct {
	// Concat is the name of the dimension along which arrays that have it follow each
	// other, such as "time". Each file adds its own chunks, so that files of unequal
	// lengths fit. An array that has one value along it, as a field of a forecast has one
	// time, gets the dimension and a coordinate.
	Concat string
	// Stack is the name of a new dimension with one index for each file, such as
	// "member". It becomes the first axis of all arrays but coordinates.
	Stack string
	// Padded lets files end within a chunk that is stored with padding, by the experiment
	// encoded_chunk_shapes (zarr-extensions, pull request 75). Few programs read such
	// grids; see [zarr.Experimental].
	Padded bool
	// CopyPadded lets files end within such a chunk, and gives the manifest copies of
	// these chunks without the padding ([Collector.CopyPadded]). Every program can read
	// the grid. It comes before Padded.
	CopyPadded bool
	// Compare reads and compares all arrays that files repeat. Without it only
	// coordinates, and others of at most 1 MiB, are compared; larger ones count as the
	// first file has them, with a note, and are an error in a merge. It is not stored
	// with the manifest.
	Compare bool
}

// merges reports whether files add different arrays.
func (j Join) merges() bool { return j.Concat+j.Stack == "" }

// Joined is a hierarchy that grows file by file.
type Joined struct {
	join   Join
	m      *Manifest
	first  string // the name of the first part
	arrays map[string]*joined
	parts  int64
	notes  notes
	// refused has why arrays of the first part were refused.
	refused map[string]string
}

// joined is an array that grows.
type joined struct {
	*Array
	along int         // the axis that grows, or -1
	axes  []grid.Axis // of the parts, along that axis
	last  string      // the name of the part that was added last
	left  []string    // attributes that were left out, with a note
	coord *coordinate // if its values are kept, not references, or are compared
	// digest is that of the elements of a larger array, if it is compared, too.
	digest []byte
	unread error           // why its elements were not read, though they were wanted
	cuts   map[int64]error // why chunks cannot be cut to a length; see cuttable
}

// NewJoined returns a hierarchy without files.
func NewJoined(j Join) (*Joined, error) {
	if j.Concat != "" && j.Stack != "" {
		return nil, errors.New("files are either concatenated or stacked")
	}
	j.Padded = j.Padded && !j.CopyPadded
	return &Joined{join: j, m: &Manifest{Join: j}, arrays: map[string]*joined{}, refused: map[string]string{}}, nil
}

// mismatch returns an [ErrMismatch] about an array of a part.
func mismatch(part, path, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s: %s", ErrMismatch, part, path, fmt.Sprintf(format, args...))
}

// Add adds a part. After an error nothing of it was added.
func (j *Joined) Add(ctx context.Context, p *Part) error {
	plan, err := j.plan(ctx, p)
	if errors.Is(err, ErrMismatch) {
		err = j.singleValue(p, err)
	}
	if err != nil {
		return err
	}
	if err := checkSources(p.Manifest.Sources, j.m.count()); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	base := uint32(j.m.count())
	j.m.Sources = append(j.m.Sources, p.Manifest.Sources...)
	for _, g := range p.Manifest.Groups {
		if !slices.ContainsFunc(j.m.Groups, func(o Group) bool { return o.Path == g.Path }) {
			j.m.Groups = append(j.m.Groups, g)
		}
	}
	// Nothing below can fail, so the hierarchy never has a part of a file.
	for _, add := range plan {
		add(base)
	}
	// Later files are compared with the first one: remember why it lacks an array.
	if j.parts == 0 {
		j.first = p.Name
		for _, r := range p.Refused {
			j.refused[r.Path] = ", where it is refused: " + r.Err.Error()
		}
	}
	j.parts++
	return nil
}

// singleValue adds to an error of a file that has one value of the dimension, in a scalar
// coordinate, how such files are joined: daily files are often like that. Stacking does
// not convert the times of files that count from different days, and concatenation does.
func (j *Joined) singleValue(p *Part, err error) error {
	dimension := j.join.Concat + j.join.Stack
	a := p.Manifest.Array(dimension)
	has := func(a *Array) bool { return axisOf(a.Document, dimension) >= 0 }
	switch {
	case a == nil || a.Grid.Rank() > 0 || slices.ContainsFunc(p.Manifest.Arrays, has):
		return err
	case j.join.Concat != "":
		return fmt.Errorf("%w; %s has one value of %s and no such axis: make a manifest of it with --stack %s, and take that in its place", err, p.Name, dimension, dimension)
	}
	return fmt.Errorf("%w; if each file counts from another time, make a manifest of each with --stack %s, and join these with --concat %s, which converts times", err, dimension, dimension)
}

// plan returns functions that add the arrays of a part. They cannot fail.
func (j *Joined) plan(ctx context.Context, p *Part) ([]func(base uint32), error) {
	var adds []func(base uint32)
	merge := j.join.merges()
	if j.join.Concat != "" {
		var err error
		if p, err = p.along(j.join.Concat); err != nil {
			return nil, err
		}
	}
	if err := j.sameGroups(p); err != nil {
		return nil, err
	}
	if j.parts == 0 && !j.grows(p.Manifest) {
		return nil, fmt.Errorf("%w: %s: no array has the dimension %q; there are %q", ErrMismatch, p.Name, j.join.Concat+j.join.Stack, dimensions(p.Manifest))
	}
	for _, a := range p.Manifest.Arrays {
		old := j.arrays[a.Path]
		var add func(base uint32)
		var err error
		switch {
		// The array would lack the elements of the files before.
		case old == nil && j.parts > 0 && !merge:
			return nil, mismatch(p.Name, a.Path, "%s does not have it%s", j.first, j.refused[a.Path])
		case old == nil:
			add, err = j.begin(ctx, p, a)
		case old.along < 0:
			add, err = j.same(ctx, p, old, a)
		default:
			add, err = j.extend(ctx, p, old, a)
		}
		if err != nil {
			return nil, err
		}
		if add != nil {
			adds = append(adds, add)
		}
	}
	if merge {
		return adds, nil
	}
	for path := range j.arrays {
		if p.Manifest.Array(path) == nil {
			why := ""
			for _, r := range p.Refused {
				if r.Path == path {
					why = ": " + r.Err.Error()
				}
			}
			return nil, mismatch(p.Name, path, "it is not there, and %s has it%s", j.first, why)
		}
	}
	return adds, nil
}

// axisOf returns the axis with a name, or -1.
func axisOf(doc *metadata.Array, name string) int {
	return slices.IndexFunc(doc.DimensionNames, func(n *string) bool { return n != nil && *n == name })
}

// begin adds the first array with its path.
func (j *Joined) begin(ctx context.Context, p *Part, a *Array) (func(base uint32), error) {
	n := &joined{Array: a, along: -1, last: p.Name}
	switch {
	case j.join.Stack != "" && slices.ContainsFunc(a.points, func(p point) bool { return p.Name == j.join.Stack }):
		return nil, mismatch(p.Name, a.Path, "it has a place along the axis %q already: concatenate files along it", j.join.Stack)
	case j.join.Stack != "" && axisOf(a.Document, j.join.Stack) >= 0:
		return nil, mismatch(p.Name, a.Path, "it has the dimension %q already: concatenate files along it", j.join.Stack)
	case j.join.Stack != "" && !isCoordinate(a):
		s, err := stacked(a, j.join.Stack)
		if err != nil {
			return nil, mismatch(p.Name, a.Path, "%v", err)
		}
		n.Array, n.along = s, 0
	case j.join.Concat != "":
		n.along = axisOf(a.Document, j.join.Concat)
	}
	if n.along >= 0 {
		// The joined axis runs slowest in the order of references, so a file only adds
		// to their end.
		n.Array = n.ordered(n.along)
		n.axes = []grid.Axis{n.Grid.Axis(n.along)}
	}
	keep := n.along >= 0 && keepsValues(a, j.join.Concat, p.Manifest) || n.along < 0 && compared(a)
	if err := j.learn(ctx, p, n, keep); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p.Name, a.Path, err)
	}
	return func(base uint32) {
		if n.unread != nil {
			j.note("%s: it is in the manifest, but its values in %s cannot be read: %v", a.Path, p.Name, n.unread)
		}
		n.Array = n.moved(base)
		j.arrays[a.Path] = n
		j.m.Arrays = append(j.m.Arrays, n.Array)
	}, nil
}

// learn reads what joining files needs of an array: its values if they are kept or
// compared, or else the digest that is compared. A damaged array is no reason to refuse
// the file, which may have others.
func (j *Joined) learn(ctx context.Context, p *Part, n *joined, keep bool) (err error) {
	switch {
	case keep:
		n.coord, err = readCoordinate(ctx, p, n.Array)
	case n.along < 0 && j.join.Compare:
		n.digest, err = p.digest(ctx, n.Path)
	}
	// References need no decoding, so the array is still joined. A note says what is
	// unknown.
	if undecodable(err) {
		n.coord, n.unread = nil, err
		return nil
	}
	return err
}

// undecodable reports whether an error is about the stored bytes of an array: another
// attempt would meet it again.
func undecodable(err error) bool {
	return errors.Is(err, zarr.ErrCorrupt) || errors.Is(err, zarr.ErrUnsupported) || errors.Is(err, zarr.ErrLimit)
}

// compared reports whether the values of an array that files repeat are compared.
func compared(a *Array) bool {
	most := int64(mostCompared)
	if isCoordinate(a) {
		most = mostCoordinate
	}
	_, ok := sizeOf(a, most)
	return ok
}

// isCoordinate reports whether an array has the values of a dimension: it is of one axis,
// and has its name.
func isCoordinate(a *Array) bool {
	names := a.Document.DimensionNames
	return len(names) == 1 && names[0] != nil && baseName(a.Path) == *names[0]
}

// moved returns a copy of the array in which a number is added to those of all sources.
func (a *Array) moved(base uint32) *Array {
	b := *a
	b.refs = references{}
	b.refs.concat(a.refs)
	for i, s := range b.refs.source {
		// Source 0 is a missing chunk.
		if s != 0 {
			b.refs.source[i] = s + base
		}
	}
	b.inline = maps.Clone(a.inline)
	return &b
}

// ordered returns the array with its references in the order in which an axis runs
// slowest.
func (a *Array) ordered(axis int) *Array {
	// Nothing to do for most arrays: time is mostly the first axis.
	if a.Axis == axis {
		return a
	}
	b := *a
	b.Axis = axis
	count := a.Grid.Chunks()
	b.refs, b.inline = makeReferences(a.refs.len()), nil
	index := make([]int64, len(count))
	for k := range a.refs.len() {
		indexOf(int64(k), count, a.Axis, index)
		b.refs.set(int(numberOf(index, count, axis)), a.refs.at(k))
	}
	for k, data := range a.inline {
		indexOf(k, count, a.Axis, index)
		b.setInline(numberOf(index, count, axis), data)
	}
	return &b
}

// same checks that an array that does not grow is the one that is there already.
func (j *Joined) same(ctx context.Context, p *Part, old *joined, a *Array) (func(base uint32), error) {
	leave, err := j.alike(p, old, a, -1)
	if err != nil {
		return nil, err
	}
	add := func(uint32) { leave() }
	if old.coord == nil || !compared(a) {
		return add, j.repeats(ctx, p, old, a)
	}
	c, err := readCoordinate(ctx, p, a)
	if undecodable(err) {
		return add, j.uncompared(p, old, a, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p.Name, a.Path, err)
	}
	values, err := old.coord.converted(c)
	if err != nil {
		return nil, mismatch(p.Name, a.Path, "%v", err)
	}
	if !old.coord.isEqual(values) {
		return nil, mismatch(p.Name, a.Path, "its values differ from those in %s, and it does not have the dimension of the files: leave it out ("+remedy.Without+"), or join files that agree", old.last)
	}
	return add, nil
}

// extend adds an array behind the one that is there already.
func (j *Joined) extend(ctx context.Context, p *Part, old *joined, a *Array) (func(base uint32), error) {
	var err error
	if j.join.Stack != "" {
		if a, err = stacked(a, j.join.Stack); err != nil {
			return nil, mismatch(p.Name, a.Path, "%v", err)
		}
	}
	leave, err := j.alike(p, old, a, old.along)
	if err != nil {
		return nil, err
	}
	if old.coord != nil {
		c, err := readCoordinate(ctx, p, a)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", p.Name, a.Path, err)
		}
		values, err := old.coord.converted(c)
		// The units differ, so the numbers were converted. Bounds count in the same
		// units and have to be converted with them.
		if err == nil && (c.text != old.coord.text || c.units != old.coord.units) {
			err = j.convertsBounds(p, a)
		}
		if err != nil {
			return nil, mismatch(p.Name, a.Path, "%v", err)
		}
		return func(uint32) {
			leave()
			if names := namesOf(a.Document); len(names) == 1 && old.coord.disordered(values) {
				j.note("%s: %s does not begin after the end of %s; files are joined in the order in which they are given", a.Path, p.Name, old.last)
			}
			old.coord.values = append(old.coord.values, values...)
			old.last = p.Name
		}, nil
	}
	// NetCDF files have an unlimited dimension of length 0 before their first record.
	if a.Grid.Axis(old.along).Extent() == 0 {
		return nil, nil // it adds nothing
	}
	end, err := j.padding(ctx, old)
	if err != nil {
		return nil, err
	}
	converted := old.retypes(a)
	if converted {
		if a, err = j.retyped(ctx, p, old, a); err != nil {
			return nil, err
		}
	}
	a = a.ordered(old.along)
	return func(base uint32) {
		if leave(); converted {
			j.note("%s: the manifest has copies of its values in %s, in the type of those before", a.Path, p.Name)
		}
		old.cut(end)
		old.admit(a)
		a := a.moved(base)
		n := old.stored() + int64(old.refs.len())
		old.refs.concat(a.refs)
		for k, data := range a.inline {
			old.setInline(n+k, data)
		}
		old.axes = append(old.axes, a.Grid.Axis(old.along))
		old.last = p.Name
	}, nil
}

// convertsBounds returns an error if the bounds of a coordinate whose units are converted
// are not: those that are not kept as values stay as they are in the file.
func (j *Joined) convertsBounds(p *Part, of *Array) error {
	for _, a := range p.Manifest.Arrays {
		old := j.arrays[a.Path]
		if old == nil || old.coord != nil || boundsOf(a, p.Manifest) != of || textAttribute(a, "units") != "" {
			continue
		}
		return fmt.Errorf("its units differ from those in %s, and its bounds %s cannot be converted to these", old.last, a.Path)
	}
	return nil
}

// grows reports whether an array of a file has the dimension along which files are put
// together.
func (j *Joined) grows(m *Manifest) bool {
	return j.join.merges() || slices.ContainsFunc(m.Arrays, func(a *Array) bool {
		return j.join.Stack != "" && !isCoordinate(a) || axisOf(a.Document, j.join.Concat+j.join.Stack) >= 0
	})
}

// dimensions returns the names of the dimensions of all arrays.
func dimensions(m *Manifest) []string {
	var names []string
	for _, a := range m.Arrays {
		names = append(names, namesOf(a.Document)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Finish returns the hierarchy of all parts.
func (j *Joined) Finish() (*Manifest, error) {
	for _, n := range j.arrays {
		if err := n.finish(); err != nil {
			return nil, fmt.Errorf("%s: %w", n.Path, err)
		}
	}
	j.m.sort()
	return j.m, j.checkRenewed()
}

// finish gives the array the grid of all parts.
func (n *joined) finish() error {
	switch {
	case n.coord != nil && (n.along >= 0 || isCoordinate(n.Array) && !n.coord.typ.Variable()):
		// The coordinates that all files repeat are copied as well: the first file may be
		// gone one day.
		return n.coord.finish(n.Array)
	case n.along < 0:
		return nil
	}
	axis, err := n.axes[0].Concat(n.axes[1:]...)
	if err != nil {
		return err
	}
	n.Grid, err = withAxis(n.Grid, n.along, axis)
	if err != nil {
		return err
	}
	n.Document = withGrid(n.Document, n.Grid)
	return n.checkChunks()
}

// stacked returns an array with a new first axis of one element. Its chunks are the same
// bytes.
func stacked(a *Array, name string) (*Array, error) {
	for _, c := range a.Document.Codecs {
		// These depend on the number of axes.
		if c.Name == "transpose" || c.Name == "sharding_indexed" || c.Name == "reshape" {
			return nil, fmt.Errorf("an array with the codec %s cannot be stacked", c.Name)
		}
	}
	b, err := inserted(a, 0, name)
	if err == nil {
		b.points = moved(a.points)
	}
	return b, err
}

// inserted returns an array with a new axis of one element before an axis. Its chunks are
// the same bytes, and have the same order.
func inserted(a *Array, at int, name string) (*Array, error) {
	var shape, chunk []int64
	var cuts []grid.Cut
	regular := true
	for i := range a.Grid.Rank() {
		axis := a.Grid.Axis(i)
		shape = append(shape, axis.Extent())
		edge, ok := oneEdge(axis)
		regular = regular && ok
		cuts, chunk = append(cuts, cutOf(axis)), append(chunk, edge)
	}
	shape, chunk, cuts = slices.Insert(shape, at, 1), slices.Insert(chunk, at, 1), slices.Insert(cuts, at, grid.Every(1))
	g, err := grid.New(shape, cuts...)
	if regular {
		g, err = grid.New(shape, grid.Chunks(chunk...)...)
	}
	if err != nil {
		return nil, err
	}
	doc := *withGrid(a.Document, g)
	doc.DimensionNames = slices.Clone(a.Document.DimensionNames)
	for len(doc.DimensionNames) < a.Grid.Rank() {
		doc.DimensionNames = append(doc.DimensionNames, nil)
	}
	doc.DimensionNames = slices.Insert(doc.DimensionNames, at, &name)
	b := *a
	b.Document, b.Grid, b.Axis = &doc, g, 0
	if a.Axis != 0 {
		b.refs, b.inline = a.ordered(0).refs, a.ordered(0).inline
	}
	return &b, nil
}

// withAxis returns a grid with another axis. It is regular if it can be.
func withAxis(g *grid.Grid, along int, axis grid.Axis) (*grid.Grid, error) {
	shape, cuts, chunk := g.Shape(), make([]grid.Cut, g.Rank()), make([]int64, g.Rank())
	shape[along] = axis.Extent()
	regular := true
	for i := range cuts {
		a := g.Axis(i)
		if i == along {
			a = axis
		}
		if edge, ok := oneEdge(a); ok {
			cuts[i], chunk[i] = grid.Every(edge), edge
			continue
		}
		regular = false
		cuts[i] = cutOf(a)
	}
	if regular {
		return grid.New(shape, grid.Chunks(chunk...)...)
	}
	return grid.New(shape, cuts...)
}

// cutOf returns the edges of an axis.
func cutOf(a grid.Axis) grid.Cut {
	if a.IsRegular() {
		return grid.Every(a.Step())
	}
	cut := grid.Runs(slices.Collect(a.Edges())...)
	if a.IsEncoded() {
		return cut.EncodedAs(grid.Runs(slices.Collect(a.Encoded())...))
	}
	return cut
}

// oneEdge returns the edge that all chunks of an axis have, if a regular grid with it has
// the same chunks.
func oneEdge(a grid.Axis) (edge int64, ok bool) {
	if a.IsEncoded() {
		return 0, false
	}
	if a.IsRegular() {
		return a.Step(), true
	}
	for run := range a.Edges() {
		if edge == 0 {
			edge = run.Length
		}
		if run.Length != edge {
			return 0, false
		}
	}
	return edge, edge > 0
}

// nearStore is a store of references that lead only to files near by. It is a
// [store.Opener], by which readers know that a request takes almost no time: they read
// parts of chunks where that is less, and no more than they need.
type nearStore struct{ *view }

// shows is a store of references, near or far.
type shows interface{ references() *view }

func (s *view) references() *view { return s }

// referencesOf returns the references that a store shows, or nil if it is another one.
func referencesOf(s store.Store) *view {
	if v, ok := store.As[shows](s); ok {
		return v.references()
	}
	return nil
}

// near reports whether all places where references may lead are near: the folder of the
// manifest, and what the reader has allowed.
func (s *sites) near() bool {
	if _, ok := store.As[store.Opener](s.home); !ok {
		return false
	}
	for _, p := range s.allow {
		if p.scheme != "file" {
			return false
		}
	}
	return true
}

// Open implements [store.Opener].
func (s nearStore) Open(ctx context.Context, key store.Key) (store.Object, error) {
	v, err := s.found(ctx, key)
	if err != nil {
		return nil, err
	}
	if v.bytes != nil {
		return &object{found: v, store: s.view}, nil
	}
	from, err := s.sources.of(v.source.Location)
	if err != nil {
		return nil, s.explain(v.source, err)
	}
	file, err := store.Open(ctx, from.store, from.key)
	if err == nil {
		if err = v.source.check(file.Info(), from.times()); err != nil {
			_ = file.Close() // nothing was written
		}
	}
	if err != nil {
		return nil, s.explain(v.source, err)
	}
	return &object{v, s.view, file}, nil
}

// object is an open chunk.
type object struct {
	found
	store *view
	file  store.Object // its source; nil if it has none
}

// Info implements [store.Object].
func (o *object) Info() store.Info { return o.info() }

// Read implements [store.Object].
func (o *object) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	off, n, err := q.Resolve(o.size())
	if err != nil {
		return nil, err
	}
	if o.file == nil {
		return append(dst, o.bytes[off:off+n]...), ctx.Err()
	}
	at := int64(o.ref.offset) + off
	out, err := o.file.Read(ctx, store.Request{Range: store.Span(at, n)}, dst)
	if err == nil {
		err = whollyRead(int64(len(out)-len(dst)), n, at)
	}
	if err != nil {
		return nil, o.store.explain(o.source, err)
	}
	return out, nil
}

// Close implements [store.Object].
func (o *object) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}
