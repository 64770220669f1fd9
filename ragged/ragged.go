// SPDX-License-Identifier: Apache-2.0

// Package ragged reads and grows sets of one-dimensional arrays that hold rows of unequal
// lengths: one array says where each row begins or how long it is, and others hold the
// elements of all rows, one row after the other. Two layouts are known:
//
//   - the compressed sparse rows and columns of AnnData (encoding-type csr_matrix and
//     csc_matrix): indptr has the offsets, and indices and data the elements;
//   - the contiguous ragged arrays of the CF conventions (section 9.3.3): an array with the
//     attribute sample_dimension has the lengths of rows, and all arrays along that
//     dimension have the elements. Arrays along the dimension of the rows have one element
//     for each row.
//
// A set grows by rows: all of its arrays grow in one transaction, and end a chunk there.
// So the chunks of all arrays are cut at the same rows, and a block of rows is one chunk
// of each.
//
//	s, err := ragged.Open(ctx, "drifters.zarr", nil)
//	err = s.Append(ctx, []int64{2, 0, 1}, ragged.Values("lat", []float32{1, 2, 3}))
//	rows, err := ragged.Read[float32](ctx, s, "lat", 0, 3) // [[1 2] [] [3]]
package ragged

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/rowset"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
)

// Set is an open set. Its methods may be called concurrently, except for Append, Compact
// and Refresh.
type Set struct {
	group    *zarr.Group
	layout   rowset.Layout
	rows     *zarr.Array            // offsets or lengths
	elements map[string]*zarr.Array // of all rows, by name
	perRow   map[string]*zarr.Array // with one element for each row
	offsets  []int64                // of rows among the elements, and the end of the last one
}

// Open opens the set in a group. If the group has none of the known layouts, the error
// wraps [zarr.ErrUnsupported].
func Open(ctx context.Context, location string, opt *zarr.Options) (*Set, error) {
	g, err := zarr.OpenGroup(ctx, location, opt)
	if err != nil {
		return nil, err
	}
	s, err := Of(ctx, g)
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return s, nil
}

// Of is [Open] for a group that is open.
func Of(ctx context.Context, g *zarr.Group) (*Set, error) {
	s := &Set{group: g}
	if err := s.find(ctx); err != nil {
		return nil, fail("open", g, err)
	}
	return s, s.Refresh(ctx)
}

// Close closes the group.
func (s *Set) Close() error { return s.group.Close() }

// fail returns err as an error of an operation on the group.
func fail(op string, g *zarr.Group, err error) error {
	var e *zarr.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &zarr.Error{Op: op, Path: g.Location().String(), Axis: -1, Err: err}
}

// Rows returns the number of rows.
func (s *Set) Rows() int64 { return int64(len(s.offsets)) - 1 }

// Lengths returns the lengths of the rows from first on, before end.
func (s *Set) Lengths(first, end int64) ([]int64, error) {
	if err := s.within(first, end); err != nil {
		return nil, err
	}
	lengths := make([]int64, 0, end-first)
	for i := first; i < end; i++ {
		lengths = append(lengths, s.offsets[i+1]-s.offsets[i])
	}
	return lengths, nil
}

// within returns an error unless the rows exist.
func (s *Set) within(first, end int64) error {
	if first < 0 || end < first || end > s.Rows() {
		return fail("read", s.group, fmt.Errorf("%w: rows %d to %d of %d", zarr.ErrInvalidArgument, first, end, s.Rows()))
	}
	return nil
}

// Fields returns the names of the arrays with elements, sorted.
func (s *Set) Fields() []string { return slices.Sorted(maps.Keys(s.elements)) }

// Field returns the array with the elements of all rows, or nil.
func (s *Set) Field(name string) *zarr.Array { return s.elements[name] }

// PerRow returns the array of that name which has one element for each row, or nil.
func (s *Set) PerRow(name string) *zarr.Array { return s.perRow[name] }

// Refresh looks for rows that others have appended.
func (s *Set) Refresh(ctx context.Context) error {
	// The rows first: an append publishes them last, so the elements that are looked at
	// after them are there.
	for _, a := range s.Arrays() {
		if err := a.Refresh(ctx); err != nil {
			return err
		}
	}
	offsets, err := s.layout.Extend(ctx, s.rows, s.offsets, s.rows.Shape()[0])
	if err != nil {
		return fail("read", s.group, err)
	}
	for name, a := range s.elements {
		if n := a.Shape()[0]; offsets[len(offsets)-1] > n {
			return fail("read", s.group, fmt.Errorf("%w: the rows have %s, but %q has %d", zarr.ErrCorrupt, quantity.Count(offsets[len(offsets)-1], "elements"), name, n))
		}
	}
	s.offsets = offsets
	return nil
}

// Arrays returns all arrays of the set: that of the rows first, then those with one
// element for each row, then those with elements. Package rechunk vacuums them one by
// one.
func (s *Set) Arrays() []*zarr.Array {
	list := []*zarr.Array{s.rows}
	for _, all := range []map[string]*zarr.Array{s.perRow, s.elements} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			list = append(list, all[name])
		}
	}
	return list
}

// Blocks yields the first row of each block of rows and the row after its last one. A
// block is what one append, or a compaction, has put into one chunk of each array.
func (s *Set) Blocks() iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) {
		for _, b := range s.blocks() {
			if !yield(b[0], b[1]) {
				return
			}
		}
	}
}

// blocks returns the blocks of rows.
func (s *Set) blocks() (blocks [][2]int64) {
	at, lead := int64(0), s.layout.Lead()
	for run := range s.rows.Grid().Axis(0).Logical() {
		for range run.Count {
			end := min(at+run.Length, s.Rows()+lead)
			if first := max(at, lead); first < end {
				blocks = append(blocks, [2]int64{first - lead, end - lead})
			}
			at = end
		}
	}
	return blocks
}

// Read returns the elements of rows from first on, before end: one slice for each row.
// All are read by one call, and share memory.
func Read[T dtype.Element](ctx context.Context, s *Set, field string, first, end int64) ([][]T, error) {
	if err := s.within(first, end); err != nil {
		return nil, err
	}
	a := s.elements[field]
	if a == nil {
		return nil, fail("read", s.group, fmt.Errorf("%w: there is no field %q; there are %q", zarr.ErrInvalidArgument, field, s.Fields()))
	}
	from := s.offsets[first]
	b, err := zarr.Read[T](ctx, a, selection.Basic{selection.Span(from, s.offsets[end])})
	if err != nil {
		return nil, err
	}
	rows := make([][]T, end-first)
	for i := range rows {
		at, stop := s.offsets[first+int64(i)]-from, s.offsets[first+int64(i)+1]-from
		rows[i] = b.Data[at:stop:stop]
	}
	return rows, nil
}

// Field describes an array of a new set.
type Field struct {
	Name string
	Type dtype.Type
	// PerRow means that the array has one element for each row.
	PerRow bool
	// Attributes of the array, anything that encodes to a JSON object, or nil.
	Attributes any
}

// Create creates an empty contiguous ragged array (CF conventions, section 9.3.3): a
// group with the array row_size, and one for each field. The dimensions are row and obs.
func Create(ctx context.Context, at *zarr.Location, fields []Field, opt *zarr.CreateOptions) (*Set, error) {
	g, err := at.CreateGroup(ctx, map[string]any{"featureType": "trajectory", "Conventions": "CF-1.11"}, opt)
	if err != nil {
		return nil, err
	}
	list := append([]Field{{Name: "row_size", Type: dtype.Int64, PerRow: true, Attributes: map[string]string{
		rowset.SampleDimension: "obs", "long_name": "number of observations of each row",
	}}}, fields...)
	for _, f := range list {
		if err := create(ctx, g, f, 0, opt); err != nil {
			return nil, err
		}
	}
	return Of(ctx, g)
}

// CreateCSR creates an empty matrix of compressed sparse rows, as AnnData has them
// (encoding-type csr_matrix, version 0.1.0), with a number of columns and the data type
// of its elements.
func CreateCSR(ctx context.Context, at *zarr.Location, columns int64, typ dtype.Type, opt *zarr.CreateOptions) (*Set, error) {
	if columns < 0 {
		return nil, fmt.Errorf("%w: %s", zarr.ErrInvalidArgument, quantity.Count(columns, "columns"))
	}
	g, err := at.CreateGroup(ctx, map[string]any{rowset.EncodingType: "csr_matrix", "encoding-version": "0.1.0", "shape": []int64{0, columns}}, opt)
	if err != nil {
		return nil, err
	}
	for _, f := range []Field{{Name: rowset.Pointers, Type: dtype.Int64}, {Name: "indices", Type: dtype.Int64}, {Name: "data", Type: typ}} {
		lead := int64(0)
		if f.Name == rowset.Pointers {
			lead = 1 // the offset 0 of the first row, which is the fill value
		}
		if err := create(ctx, g, f, lead, opt); err != nil {
			return nil, err
		}
	}
	return Of(ctx, g)
}

// create creates one array of a set. A set of AnnData has no names of dimensions.
func create(ctx context.Context, g *zarr.Group, f Field, length int64, opt *zarr.CreateOptions) error {
	spec := zarr.Spec{Shape: []int64{length}, Type: f.Type, Chunks: []grid.Cut{grid.Edges()}}
	if length > 0 {
		spec.Chunks = []grid.Cut{grid.Edges(length)}
	}
	if rowset.Attribute(g.Attributes(), rowset.EncodingType) == "" {
		spec.DimensionNames = []string{"obs"}
		if f.PerRow {
			spec.DimensionNames = []string{"row"}
		}
	}
	spec.Attributes = f.Attributes
	_, err := g.At(f.Name).CreateArray(ctx, spec, opt)
	return err
}

// Compact merges neighbouring blocks of rows, as long as a merged one has at most upTo
// rows. Longer blocks stay. All arrays are rechunked in one transaction, while others
// read and append; see package rechunk.
func (s *Set) Compact(ctx context.Context, upTo int64, opt *rechunk.Options) error {
	if err := s.Refresh(ctx); err != nil {
		return err
	}
	var rows, elements, perRow []grid.Run
	if s.layout.Lead() > 0 {
		rows = append(rows, grid.Run{Length: s.layout.Lead(), Count: 1})
	}
	for _, b := range merged(s.blocks(), upTo) {
		n := b[1] - b[0]
		rows, perRow = append(rows, grid.Run{Length: n, Count: 1}), append(perRow, grid.Run{Length: n, Count: 1})
		// Rows without elements have no chunk of them.
		if n := s.offsets[b[1]] - s.offsets[b[0]]; n > 0 {
			elements = append(elements, grid.Run{Length: n, Count: 1})
		}
	}
	var parts []rechunk.Part
	add := func(a *zarr.Array, edges []grid.Run) {
		if a.Grid().Axis(0).Chunks() > int64(len(edges)) {
			parts = append(parts, rechunk.Part{Array: a, Request: rechunk.Compaction{Edges: edges}})
		}
	}
	add(s.rows, rows)
	for _, a := range s.perRow {
		add(a, perRow)
	}
	for _, a := range s.elements {
		add(a, elements)
	}
	if len(parts) == 0 {
		return nil
	}
	if _, err := rechunk.DoAll(ctx, parts, opt); err != nil {
		return err
	}
	return s.Refresh(ctx)
}

// merged merges neighbouring blocks of at most upTo rows together.
func merged(blocks [][2]int64, upTo int64) (list [][2]int64) {
	for _, b := range blocks {
		if n := len(list); n > 0 && b[1]-list[n-1][0] <= upTo {
			list[n-1][1] = b[1]
			continue
		}
		list = append(list, b)
	}
	return list
}
