// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
)

// Gain has the new elements of an array. Files, streams and other arrays are read during
// the append; elements that differ in length are in memory.
type Gain struct {
	values *input.Values // open until the append is done
	words  export.Values
	source *zarr.Source // nil for elements in memory
	// column is an array whose chunks become those of another one. values is nil then.
	column *zarr.Array
	Planes int64
	Length int64 // bytes
}

// Open opens the values to append to an array along an axis, and counts their planes.
// There may be no planes if the file is empty and only this array grows.
func Open(cmd *cobra.Command, file, formatName string, a *zarr.Array, axis int, alone bool) (*Gain, error) {
	v, err := input.Open(cmd, file, formatName, a.Type(), a)
	if err != nil {
		return nil, err
	}
	g := &Gain{values: v}
	if err := v.CheckEncoding(cmd.Context(), a); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	if err := v.CheckAxes(cmd.Context(), a, axis); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	v.NoteEncoding(cmd, a)
	if err := g.measure(a.Shape(), axis, alone); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// OpenColumn opens an array of one axis whose elements are appended as they are. Their
// chunks stay, unless the elements are compared with others. Texts are in memory if their
// chunks cannot stay.
func OpenColumn(cmd *cobra.Command, file string, a *zarr.Array, compared bool) (*Gain, error) {
	axis := a.Grid().Axis(0)
	_, _, cut, err := Of(a)
	cut = cut || err != nil || axis.IsRegular() || axis.Covered() != axis.Extent() || a.Inner() != nil || cmd.Flags().Changed("grow")
	if compared || cut && a.Type().Variable() {
		return Open(cmd, file, "", a, 0, true)
	}
	column, err := zarr.OpenArray(cmd.Context(), file, session.Reading(cmd))
	if err != nil {
		return nil, err
	}
	n := column.Shape()[0]
	g := &Gain{column: column, Planes: n, Length: n * export.Width(column.Type())}
	if !column.Type().Variable() {
		g.source = &zarr.Source{Shape: column.Shape(), Read: func(ctx context.Context, box grid.Box, dst []byte) error {
			return column.ReadBytes(ctx, selection.BoxOf(box), dst)
		}}
	}
	return g, nil
}

// Close closes the values.
func (g *Gain) Close() error {
	if g.column != nil {
		return g.column.Close()
	}
	return g.values.Close()
}

// measure counts the planes for an array of the given shape.
func (g *Gain) measure(shape []int64, axis int, alone bool) error {
	v := g.values
	if err := Continues(v, shape, axis); err != nil {
		return err
	}
	n, err := v.Gather()
	if err != nil {
		return err
	}
	switch {
	// Planes without elements have no bytes. Only the shape of the file counts them.
	case n == 0 && HasEmptyPlanes(shape, axis):
		g.Planes, err = v.PlanesAlong(axis, shape)
	// An empty file with a header appends nothing.
	case n == 0 && v.Shape != nil && alone:
	default:
		g.Planes, err = WholePlanes(v, shape, axis, n)
	}
	if err == nil && n > 0 && g.Planes == 0 && axis >= 0 && axis < len(shape) {
		err = failure.OnAxis(axis, "%s has %s, but planes of shape %v have none", v.Name, phrase.Plural(n, "value"), shape)
	}
	if err != nil {
		return err
	}
	// Texts are in memory in any case. Other elements are read during the append.
	if v.Type.Variable() {
		g.words, err = v.All()
		g.Length = g.words.Bytes()
		return err
	}
	g.Length = n * export.Width(v.Type)
	g.source, err = v.Source(shape, axis, g.Planes)
	return err
}

// Append appends the elements to an array.
func (g *Gain) Append(ctx context.Context, a *zarr.Array, axis int, opt *zarr.AppendOptions) error {
	if g.source == nil {
		return zarr.Append(ctx, a, axis, g.words.Words, opt)
	}
	return a.AppendFrom(ctx, axis, g.source, opt)
}

// Addition returns the addition for an array of a group.
func (g *Gain) Addition(path string, axis int, opt *zarr.AppendOptions) zarr.Addition {
	if g.column != nil {
		return zarr.Addition{Path: path, Axis: axis, Segments: []*zarr.Array{g.column}, Options: opt}
	}
	if g.source == nil {
		return zarr.Add(path, axis, g.words.Words, opt)
	}
	return zarr.Addition{Path: path, Axis: axis, From: g.source, Options: opt}
}

// Source returns the elements as a source that can be read several times, or nil if they
// differ in length.
func (g *Gain) Source() *zarr.Source { return g.source }

// Words returns the elements if they differ in length, in C order.
func (g *Gain) Words() [][]byte { return g.words.Words }

// data returns all elements, of fixed size, in host byte order.
func (g *Gain) data(ctx context.Context) ([]byte, error) {
	if g == nil || g.source == nil || g.Length == 0 {
		return nil, nil
	}
	data := make([]byte, g.Length)
	return data, g.source.Read(ctx, grid.BoxOf(g.source.Shape), data)
}

// Continues returns an error if values differ in shape from the array along another axis
// than the one that grows. A single plane may lack that axis.
func Continues(v *input.Values, shape []int64, axis int) error {
	if v.Shape == nil || axis < 0 || axis >= len(shape) {
		return nil // no shape is given, or the library refuses the axis
	}
	have := v.Shape
	// A single day of shape (lat, lon) continues an array of shape (time, lat, lon).
	if len(have) == len(shape)-1 {
		have = slices.Insert(slices.Clone(have), axis, 1)
	}
	differs := axis
	if len(have) == len(shape) {
		differs = input.Unequal(have, shape, axis)
	}
	if differs < 0 {
		return nil
	}
	return failure.OnAxis(differs, "%s has shape %v, which does not continue shape %v along axis %d: all other axes must have equal lengths", v.Name, v.Shape, shape, axis)
}

// HasEmptyPlanes reports whether planes along an axis have no elements, because another
// axis has length 0.
func HasEmptyPlanes(shape []int64, axis int) bool {
	for i, n := range shape {
		if i != axis && n == 0 {
			return axis >= 0 && axis < len(shape)
		}
	}
	return false
}

// WholePlanes returns the number of planes of n elements. It returns an error if that is
// 0 or not a whole number.
func WholePlanes(v *input.Values, shape []int64, axis int, n int64) (int64, error) {
	if axis < 0 || axis >= len(shape) {
		return 0, nil // the library refuses the axis
	}
	plane, ok := checked.Product(slices.Delete(slices.Clone(shape), axis, axis+1)...)
	switch {
	case !ok || plane == 0:
		return 0, nil
	case n == 0 && v.Array() != nil && len(v.Shape) == len(shape) && v.Shape[axis] == 0:
		return 0, nil // an array without planes, as in a file before its first record
	case n == 0:
		return 0, failure.OnAxis(axis, "no values were given: %s is empty", v.Name)
	case n%plane == 0:
		return n / plane, nil
	case v.Type.Variable():
		return 0, failure.OnAxis(axis, "%s has %s, but a plane has %s", v.Name, phrase.Plural(n, "value"), phrase.Plural(plane, "value"))
	}
	size := export.Width(v.Type)
	return 0, failure.OnAxis(axis, "%s has %s, which is not a whole number of planes of %s (shape %v without axis %d, type %s)%s",
		v.Name, phrase.Plural(n*size, "byte"), phrase.Plural(plane*size, "byte"), shape, axis, v.Type, v.Reading())
}

// Disorder returns a text about the first value that is out of order if the elements are
// inserted into a coordinate before element at, or appended to it. It is "" if there is
// none, and if the elements cannot be read: the command then fails.
func (g *Gain) Disorder(cmd *cobra.Command, a *zarr.Array, at int64) string {
	return disorder(cmd, a, at, g.source, g.Planes)
}

// DisorderOf is [Gain.Disorder] for segments that are appended one after the other.
func DisorderOf(cmd *cobra.Command, a *zarr.Array, segments []*zarr.Array) string {
	if a.Rank() != 1 || a.Type().Variable() {
		return "" // no coordinate with an order
	}
	var sources []*zarr.Source
	planes := int64(0)
	for _, s := range segments {
		if s.Rank() != 1 || s.Type() != a.Type() {
			return "" // the command refuses it
		}
		planes += s.Shape()[0]
		sources = append(sources, &zarr.Source{Shape: s.Shape(), Read: func(ctx context.Context, box grid.Box, dst []byte) error {
			return s.ReadBytes(ctx, selection.BoxOf(box), dst)
		}})
	}
	return disorder(cmd, a, a.Shape()[0], joinedSource(sources, 0, a.Type().Size()), planes)
}

// remedyOfDisorder asks what may have happened, for each command that adds elements.
var remedyOfDisorder = map[string]string{
	"append": "was this appended before?",
	"insert": "was this inserted before? varve append --by COORD finds the place of new values",
	"stitch": "was this stitched before? --sort COORD puts segments in order",
}

func disorder(cmd *cobra.Command, a *zarr.Array, at int64, more *zarr.Source, n int64) string {
	// An error is left to the command, unless only the check takes too much memory.
	text, err := cf.UnorderedAt(cmd.Context(), a, at, more, n)
	if err != nil || text == "" {
		return ""
	}
	return text + "; " + remedyOfDisorder[cmd.Name()]
}

// Joined returns the elements of several gains of an array of the given shape, one after
// the other along an axis. The gains stay open as long as it is used.
func Joined(gains []*Gain, shape []int64, axis int) *Gain {
	if len(gains) == 1 {
		return gains[0]
	}
	all := &Gain{values: gains[0].values}
	var sources []*zarr.Source
	for _, g := range gains {
		all.Planes, all.Length = all.Planes+g.Planes, all.Length+g.Length
		sources = append(sources, g.source)
	}
	if all.words.Type = all.values.Type; all.values.Type.Variable() {
		all.words.Words = joinedWords(gains, shape, axis)
	} else {
		all.source = joinedSource(sources, axis, all.values.Type.Size())
	}
	return all
}

// joinedWords returns the words of several gains, one after the other along an axis of an
// array of the given shape.
func joinedWords(gains []*Gain, shape []int64, axis int) [][]byte {
	before, run := int64(1), int64(1) // planes before the axis, and words in each of its planes
	for i, n := range shape {
		switch {
		case i < axis:
			before *= n
		case i > axis:
			run *= n
		}
	}
	all := [][]byte{}
	for k := range before {
		for _, g := range gains {
			n := g.Planes * run
			all = append(all, g.words.Words[k*n:(k+1)*n]...)
		}
	}
	return all
}

// joinedSource is a source of several sources, one after the other along an axis.
func joinedSource(sources []*zarr.Source, axis, size int) *zarr.Source {
	all := &zarr.Source{Shape: slices.Clone(sources[0].Shape)}
	all.Shape[axis] = 0
	for _, s := range sources {
		all.Shape[axis] += s.Shape[axis]
	}
	all.Read = func(ctx context.Context, box grid.Box, dst []byte) error {
		whole := strided.Contiguous(dst, box.Shape(), size)
		start := int64(0)
		for _, s := range sources {
			stop := start + s.Shape[axis]
			part, within := slices.Clone(box), grid.BoxOf(box.Shape())
			part[axis] = grid.Interval{Start: max(box[axis].Start, start) - start, Stop: min(box[axis].Stop, stop) - start}
			within[axis] = grid.Interval{Start: part[axis].Start + start - box[axis].Start, Stop: part[axis].Stop + start - box[axis].Start}
			start = stop
			if part[axis].Len() <= 0 {
				continue
			}
			n, _ := part.Len()
			room := make([]byte, n*int64(size))
			if err := s.Read(ctx, slices.Clone(part), room); err != nil {
				return err
			}
			strided.Copy(whole.Sub(within), strided.Contiguous(room, part.Shape(), size))
		}
		return nil
	}
	return all
}
