// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

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
	// A misspelled dimension would make every array one that files repeat.
	if j.parts == 0 && !j.grows(p.Manifest) {
		return nil, fmt.Errorf("%w: %s: no array has the dimension %q; there are %q", ErrMismatch, p.Name, j.join.Concat+j.join.Stack, dimensions(p.Manifest))
	}
	for _, a := range p.Manifest.Arrays {
		old := j.arrays[a.Path]
		f := &fit{j.join, &j.notes, p, old, a}
		var add func(base uint32)
		var err error
		switch {
		// The array would lack the elements of the files before.
		case old == nil && j.parts > 0 && !merge:
			return nil, mismatch(p.Name, a.Path, "%s does not have it%s", j.first, j.refused[a.Path])
		case old == nil:
			add, err = j.begin(ctx, p, a)
		case old.along < 0:
			add, err = f.same(ctx)
		default:
			add, err = j.extend(ctx, f)
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
			j.notes.add("%s: it is in the manifest, but its values in %s cannot be read: %v", a.Path, p.Name, n.unread)
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

// same checks that an array that does not grow is the one that is there already.
func (f *fit) same(ctx context.Context) (func(base uint32), error) {
	old, a := f.old, f.a
	leave, err := f.alike(-1)
	if err != nil {
		return nil, err
	}
	add := func(uint32) { leave() }
	if old.coord == nil || !compared(a) {
		return add, f.repeats(ctx)
	}
	c, err := readCoordinate(ctx, f.part, a)
	if undecodable(err) {
		return add, f.uncompared(err)
	}
	if err != nil {
		return nil, f.failed(err)
	}
	// Files that count from different days have the same times in other numbers.
	values, err := old.coord.converted(c)
	if err != nil {
		return nil, f.mismatch("%v", err)
	}
	if !old.coord.isEqual(values) {
		return nil, f.mismatch("its values differ from those in %s, and it does not have the dimension of the files: leave it out ("+remedy.Without+"), or join files that agree", old.last)
	}
	return add, nil
}

// extend adds an array behind the one that is there already.
func (j *Joined) extend(ctx context.Context, f *fit) (func(base uint32), error) {
	if j.join.Stack != "" {
		s, err := stacked(f.a, j.join.Stack)
		if err != nil {
			return nil, f.mismatch("%v", err)
		}
		f.a = s
	}
	p, old, a := f.part, f.old, f.a
	leave, err := f.alike(old.along)
	if err != nil {
		return nil, err
	}
	if old.coord != nil {
		c, err := readCoordinate(ctx, p, a)
		if err != nil {
			return nil, f.failed(err)
		}
		values, err := old.coord.converted(c)
		// The units differ, so the numbers were converted. Bounds count in the same
		// units and have to be converted with them.
		if err == nil && (c.text != old.coord.text || c.units != old.coord.units) {
			err = j.convertsBounds(p, a)
		}
		if err != nil {
			return nil, f.mismatch("%v", err)
		}
		return func(uint32) {
			leave()
			if names := namesOf(a.Document); len(names) == 1 && old.coord.disordered(values) {
				j.notes.add("%s: %s does not begin after the end of %s; files are joined in the order in which they are given", a.Path, p.Name, old.last)
			}
			old.coord.values = append(old.coord.values, values...)
			old.last = p.Name
		}, nil
	}
	// NetCDF files have an unlimited dimension of length 0 before their first record.
	if a.Grid.Axis(old.along).Extent() == 0 {
		return nil, nil // it adds nothing
	}
	end, err := old.padding(ctx, j.join)
	if err != nil {
		return nil, err
	}
	converted := old.retypes(a)
	if converted {
		if a, err = f.retyped(ctx); err != nil {
			return nil, err
		}
	}
	a = a.ordered(old.along)
	return func(base uint32) {
		if leave(); converted {
			j.notes.add("%s: the manifest has copies of its values in %s, in the type of those before", a.Path, p.Name)
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
	// Edges are joined once, at the end: to do so for each file takes quadratic time.
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

// checkRenewed returns an error if a hierarchy that takes the place of a manifest has
// arrays that differ otherwise than in their length along the dimension of files.
func (j *Joined) checkRenewed() error {
	// Only a renewed manifest has readers who know its arrays already.
	if j.m.former == nil {
		return nil
	}
	for _, old := range j.m.former.Arrays {
		n := j.arrays[old.Path]
		switch {
		case n == nil:
			return fmt.Errorf("%w: %s: no file has it any more", ErrMismatch, old.Path)
		case n.Document.DataType.Name != old.Document.DataType.Name:
			return fmt.Errorf("%w: %s: it had elements of type %s, and has %s", ErrMismatch, old.Path, old.Document.DataType.Name, n.Document.DataType.Name)
		}
		was, now := old.Grid.Shape(), n.Grid.Shape()
		// Along the dimension of files the length may change, since each file may.
		if n.along >= 0 && n.along < min(len(was), len(now)) {
			was[n.along], now[n.along] = 0, 0
		}
		if !slices.Equal(was, now) {
			return fmt.Errorf("%w: %s: it had shape %v, and has %v", ErrMismatch, old.Path, old.Grid.Shape(), n.Grid.Shape())
		}
	}
	return nil
}

// known returns the locations of the sources.
func (j *Joined) known(ctx context.Context) (locations, error) {
	known := locations{}
	for n := range uint32(j.m.count()) {
		s, err := j.m.source(ctx, n+1)
		if err != nil {
			return nil, err
		}
		known.add(s.Location)
	}
	return known, nil
}

// retyped returns an array that grows and has no values in the manifest, with copies of
// its chunks in the type and with the codecs of the array that is there. A number that
// this type cannot hold is an [ErrMismatch].
func (f *fit) retyped(ctx context.Context) (*Array, error) {
	old, a := f.old, f.a
	from, err := readCoordinate(ctx, f.part, a)
	if err != nil {
		return nil, f.failed(err)
	}
	into, err := coordinateOf(old.Array, nil)
	if err != nil {
		return nil, err
	}
	values, err := into.converted(from)
	if err != nil {
		return nil, f.mismatch("%v", err)
	}
	made, err := newArray(a.Path, withGrid(old.Document, a.Grid), a.Grid, a.Axis)
	if err == nil {
		err = made.encode(ctx, values)
	}
	if err != nil {
		return nil, f.mismatch("its type: %s, and in %s it is %s; its chunks cannot be encoded as these: %v", from.typ, old.last, into.typ, err)
	}
	return made, nil
}

// encode gives all chunks of an array bytes of their own. Those with only the fill value
// stay without.
func (a *Array) encode(ctx context.Context, values []byte) error {
	scratch := memstore.New()
	written, err := a.writable(ctx, scratch, false)
	if err == nil {
		err = written.WriteBytes(ctx, nil, values)
	}
	if err != nil {
		return err
	}
	count := a.Grid.Chunks()
	index := make([]int64, len(count))
	for k := range int64(a.refs.len()) {
		indexOf(k, count, a.Axis, index)
		data, _, err := scratch.Get(ctx, chunkKey(a.Path, index), store.Request{}, nil)
		switch {
		case err == nil:
			a.setInline(k, data)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

// readAhead reads the values that joining the part will need: files are added one by one,
// but read at the same time. Errors are dropped, because the next reader of the values
// gets them again.
func (p *Part) readAhead(ctx context.Context, how Join) {
	p.remember()
	for _, a := range p.Manifest.Arrays {
		// Large arrays are read when they are compared: many files at once would hold
		// too much.
		if _, small := sizeOf(a, mostAhead); small && how.reads(a, p.Manifest) {
			_, _ = p.Values(ctx, a.Path)
		}
	}
}

// remember makes the part remember the values that are read of it.
func (p *Part) remember() {
	p.read = map[string][]byte{}
	read := p.Values
	p.Values = func(ctx context.Context, path string) ([]byte, error) {
		values, ok := p.read[path]
		if ok {
			return values, nil
		}
		values, err := read(ctx, path)
		if err == nil {
			p.read[path] = values
		}
		return values, err
	}
}

// mostAhead bounds the values in bytes of an array that are read before the part is
// added.
const mostAhead = 1 << 20

// reads reports whether joining a part reads the values of an array of it.
func (j Join) reads(a *Array, of *Manifest) bool {
	switch {
	case j.Stack != "" && !isCoordinate(a):
		return false
	case j.Concat != "" && axisOf(a.Document, j.Concat) >= 0:
		return keepsValues(a, j.Concat, of)
	}
	return compared(a)
}
