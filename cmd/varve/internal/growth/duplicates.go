// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
)

// Target is an array that gets new planes, some of which it may have already.
type Target struct {
	Array *zarr.Array
	Axis  int
	More  *Gain
}

// On says what becomes of planes whose coordinate value an array has already.
type On string

// The values of --on-duplicate.
const (
	Skip    On = "skip"
	Replace On = "replace"
	Refuse  On = "error"
)

// Counts are the numbers of new planes by what became of them.
type Counts struct {
	Appended int64 `json:"appended"`
	Inserted int64 `json:"inserted"` // between others, where no cell was free
	Filled   int64 `json:"filled"`   // written into cells that had only fill values
	Replaced int64 `json:"replaced"`
	Skipped  int64 `json:"skipped"`

	// LeftOut has the labels of planes that could not be inserted, and Reason says why.
	LeftOut []string `json:"left_out,omitempty"`
	Reason  string   `json:"reason,omitempty"`
}

// Add adds the counts of another source.
func (c *Counts) Add(more Counts) {
	c.Appended, c.Inserted, c.Filled = c.Appended+more.Appended, c.Inserted+more.Inserted, c.Filled+more.Filled
	c.Replaced, c.Skipped = c.Replaced+more.Replaced, c.Skipped+more.Skipped
}

// String returns the counts for people.
func (c Counts) String() string {
	text := phrase.Count(c.Appended) + " appended"
	for _, more := range []struct {
		n    int64
		what string
	}{{c.Inserted, "inserted"}, {c.Filled, "filled"}, {c.Replaced, "replaced"}, {c.Skipped, "skipped"}, {int64(len(c.LeftOut)), "left out"}} {
		if more.n > 0 {
			text += fmt.Sprintf(", %s %s", phrase.Count(more.n), more.what)
		}
	}
	return text
}

// Merge writes planes of a source into the cells that they belong into, which all targets
// have: into free ones, and into others as told.
//
// It refuses before it writes. A command that was stopped and is repeated finds what it
// has written, and continues.
func Merge(cmd *cobra.Command, have *Labels, there []PlanePlace, source string, targets []Target, on On) (c Counts, err error) {
	// Look at all targets before any is written: planes are refused in all arrays or in
	// none.
	states := make([]state, len(there))
	for _, t := range targets {
		if err := t.inspect(cmd.Context(), there, states); err != nil {
			return c, err
		}
	}
	var put []PlanePlace
	for i, p := range there {
		switch {
		case states[i].isFree():
			c.Filled++
			put = append(put, p)
		case on == Replace:
			c.Replaced++
			// Equal planes are counted but not written, so repeating a command costs no
			// writes.
			if states[i].differs {
				put = append(put, p)
			}
		default:
			c.Skipped++
		}
	}
	if c.Skipped > 0 && on == Refuse {
		return c, have.refused(there, states, source)
	}
	for _, t := range targets {
		if err := t.write(cmd, put); err != nil {
			return c, err
		}
	}
	return c, nil
}

// state is what is known of a plane that may be there: of its parts in chunks, some
// differ, some have the fill value in place of others, and the rest are equal. A chunk is
// stored as a whole, so a command that was stopped leaves no part of another kind.
type state struct{ differs, empty bool }

// isFree reports whether the plane may be written without loss: it has only fill values,
// or what a stopped command has written in their place.
func (s state) isFree() bool { return s.empty && !s.differs }

// inspect compares planes with the cells that they belong into, and updates states.
func (t Target) inspect(ctx context.Context, there []PlanePlace, states []state) error {
	g := t.Array.Grid()
	for start := 0; start < len(there); {
		// Consecutive planes are compared together, each chunk once.
		stop := run(there, start)
		chunks, err := g.Touching(t.cells(there[start].Cell, int64(stop-start)))
		if err != nil {
			return err
		}
		for c := range chunks {
			box := c.Box()
			box[t.Axis] = grid.Interval{Start: max(box[t.Axis].Start, there[start].Cell), Stop: min(box[t.Axis].Stop, there[start].Cell+int64(stop-start))}
			first := start + int(box[t.Axis].Start-there[start].Cell)
			if err := t.inspectBox(ctx, box, there[first].Plane, states[first:]); err != nil {
				return err
			}
		}
		start = stop
	}
	return nil
}

// run returns the index after the planes from start on that belong into cells one after
// the other.
func run(there []PlanePlace, start int) int {
	for i := start + 1; i < len(there); i++ {
		if there[i].Plane != there[i-1].Plane+1 || there[i].Cell != there[i-1].Cell+1 {
			return i
		}
	}
	return len(there)
}

// cells returns the box of n planes of the array.
func (t Target) cells(first, n int64) grid.Box {
	box := grid.BoxOf(t.Array.Shape())
	box[t.Axis] = grid.Interval{Start: first, Stop: first + n}
	return box
}

// inspectBox compares the elements in a box, which lies in one chunk.
func (t Target) inspectBox(ctx context.Context, box grid.Box, plane int64, states []state) error {
	n, _ := box.Len()
	old := export.Values{Type: t.Array.Type()}
	old.Grow(int(n))
	if err := old.Read(ctx, t.Array, selection.BoxOf(box)); err != nil {
		return err
	}
	from := slices.Clone(box)
	from[t.Axis] = grid.Interval{Start: plane, Stop: plane + box[t.Axis].Len()}
	more, err := t.More.read(ctx, t.Array.Shape(), t.Axis, from)
	if err != nil {
		return err
	}
	fill := cf.FillOf(t.Array)
	// In C order the elements of a plane are rows runs of this many elements, one run in
	// each combination of indices along the axes before t.Axis.
	rows, run := int64(1), int64(1)
	for i, in := range box {
		switch {
		case i < t.Axis:
			rows *= in.Len()
		case i > t.Axis:
			run *= in.Len()
		}
	}
	for k := range box[t.Axis].Len() {
		same, empty := true, true
		for r := range rows {
			at := int((r*box[t.Axis].Len() + k) * run)
			same = same && equal(old, more, at, int(run))
			empty = empty && filled(old, at, int(run), fill)
		}
		// A chunk with only fill values may be what a stopped command has not reached.
		states[k].differs = states[k].differs || !same && !empty
		states[k].empty = states[k].empty || !same && empty
	}
	return nil
}

// equal reports whether n elements from one on are equal.
func equal(a, b export.Values, at, n int) bool {
	if a.Type.Variable() {
		return slices.EqualFunc(a.Words[at:at+n], b.Words[at:at+n], bytes.Equal)
	}
	size := a.Type.Size()
	return bytes.Equal(a.Data[at*size:(at+n)*size], b.Data[at*size:(at+n)*size])
}

// filled reports whether n elements from one on are the fill value.
func filled(a export.Values, at, n int, fill []byte) bool {
	if a.Type.Variable() {
		return !slices.ContainsFunc(a.Words[at:at+n], func(w []byte) bool { return !bytes.Equal(w, fill) })
	}
	size := a.Type.Size()
	return strided.AllEqual(a.Data[at*size:(at+n)*size], fill)
}

// write writes planes into the cells that they belong into.
func (t Target) write(cmd *cobra.Command, there []PlanePlace) error {
	for start := 0; start < len(there); {
		stop := run(there, start)
		all, err := t.Array.Select(selection.BoxOf(t.cells(there[start].Cell, int64(stop-start))))
		if err != nil {
			return err
		}
		slabs, err := t.Array.Slabs(all, export.SlabToWrite(session.LimitOf(cmd), t.Array, all, t.Array.Type()))
		if err != nil {
			return err
		}
		for slab := range slabs {
			part, err := t.Array.Select(slab)
			if err != nil {
				return err
			}
			from := part.Bounds()
			// The slab counts in cells of the array, the source in planes of its own.
			shift := there[start].Plane - there[start].Cell
			from[t.Axis] = grid.Interval{Start: from[t.Axis].Start + shift, Stop: from[t.Axis].Stop + shift}
			e, err := t.More.read(cmd.Context(), t.Array.Shape(), t.Axis, from)
			if err == nil {
				err = e.Write(cmd.Context(), t.Array, part)
			}
			if err != nil {
				return err
			}
		}
		start = stop
	}
	return nil
}

// read returns elements in a box of the new planes of an array with the given shape.
func (g *Gain) read(ctx context.Context, shape []int64, axis int, box grid.Box) (e export.Values, err error) {
	e.Type = g.values.Type
	n, _ := box.Len()
	e.Grow(int(n))
	// Elements of fixed size are read from the source. Texts are in memory, in C order.
	if g.source != nil {
		return e, g.source.Read(ctx, box, e.Data)
	}
	shape = slices.Clone(shape)
	shape[axis] = g.Planes
	k := 0
	for index := range box.IndicesInto(make([]int64, len(box))) {
		at := int64(0)
		for i, x := range index {
			at = at*shape[i] + x
		}
		e.Words[k] = g.words.Words[at]
		k++
	}
	return e, nil
}

// All returns all elements of a coordinate.
func (g *Gain) All(ctx context.Context) (export.Values, error) {
	e, err := g.read(ctx, []int64{g.Planes}, 0, grid.BoxOf([]int64{g.Planes}))
	if a := g.values.Array(); a != nil && a.Type() == e.Type {
		e.Fill = cf.FillOf(a)
	}
	return e, err
}

// LabelsFor returns the values of a coordinate along an axis of the new planes: those of
// the array that they come from. here is the coordinate of the place that they go to.
func (g *Gain) LabelsFor(ctx context.Context, name string, here *zarr.Array) (e export.Values, err error) {
	v := g.values
	if v.Array() == nil {
		return e, failure.BadArgument("--by %s: %s has no coordinate: give an array with one, or append to the group, with %s=FILE", name, v.Name, name)
	}
	c, err := cf.Coordinate(ctx, v.Array(), name)
	if err != nil {
		return e, fmt.Errorf("--by %s: %s: %w", name, v.Name, err)
	}
	defer c.Close()
	if c.Shape()[0] != g.Planes {
		return e, failure.BadArgument("--by %s: the coordinate of %s has %s, for %s", name, v.Name, phrase.Plural(c.Shape()[0], "element"), phrase.Plural(g.Planes, "plane"))
	}
	return input.ReadAs(ctx, name+" of "+v.Name, c, here)
}

// SelectPlanes returns some of the planes, in the given order, for an array of the
// given shape.
func (g *Gain) SelectPlanes(planes []int64, shape []int64, axis int) *Gain {
	isAll := int64(len(planes)) == g.Planes
	for i, p := range planes {
		isAll = isAll && p == int64(i)
	}
	if isAll {
		return g
	}
	some := &Gain{values: g.values, Planes: int64(len(planes)), Length: g.Length / g.Planes * int64(len(planes))}
	shape = slices.Clone(shape)
	shape[axis] = some.Planes
	if g.source == nil {
		some.words.Type = g.words.Type
		for index := range grid.BoxOf(shape).IndicesInto(make([]int64, len(shape))) {
			at := int64(0)
			for i, x := range index {
				if i == axis {
					at, x = at*g.Planes, planes[x]
				} else {
					at *= shape[i]
				}
				at += x
			}
			some.words.Words = append(some.words.Words, g.words.Words[at])
		}
		return some
	}
	size := g.values.Type.Size()
	some.source = &zarr.Source{Shape: shape, Read: func(ctx context.Context, box grid.Box, dst []byte) error {
		whole := strided.Contiguous(dst, box.Shape(), size)
		chosen := planes[box[axis].Start:box[axis].Stop]
		// Read consecutive planes by one request.
		for start := 0; start < len(chosen); {
			stop := start + 1
			for stop < len(chosen) && chosen[stop] == chosen[stop-1]+1 {
				stop++
			}
			part, within := slices.Clone(box), grid.BoxOf(box.Shape())
			part[axis] = grid.Interval{Start: chosen[start], Stop: chosen[start] + int64(stop-start)}
			within[axis] = grid.Interval{Start: int64(start), Stop: int64(stop)}
			n, _ := part.Len()
			room := make([]byte, n*int64(size))
			if err := g.source.Read(ctx, slices.Clone(part), room); err != nil {
				return err
			}
			strided.Copy(whole.Sub(within), strided.Contiguous(room, part.Shape(), size))
			start = stop
		}
		return nil
	}}
	return some
}
