// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"fmt"
	"math/bits"
	"path"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/rowset"
)

// The attributes of the CF conventions that relate the rows of a table to the dimension
// of their elements (sections 9.3.3 and 9.3.4).
const (
	sampleDimension   = "sample_dimension"
	instanceDimension = "instance_dimension"
)

// set is a ragged set whose rows are filtered.
type set struct {
	path    string // of the array with the lengths or offsets of the rows
	sparse  bool
	offsets []int64 // of the rows of the table, and the end of the last one
}

// offsetBytes bounds the bytes for one row of a set: its offset is held, and read again
// in the end.
const offsetBytes = 32

// newSet reads the lengths or offsets of the rows of a set. The bytes for all sets count
// before anything is read: a document of a few bytes can claim any number of rows.
func (t *table) newSet(ctx context.Context, rows member, sparse bool) (*set, error) {
	if rank := rows.array.Rank(); rank != 1 {
		return nil, fmt.Errorf("%w: it has %s, but a list of rows has one", zarr.ErrUnsupported, quantity.Count(rank, "axes"))
	}
	n := rows.array.Shape()[0]
	bytes, ok := checked.Mul(offsetBytes, n)
	if ok {
		bytes, ok = checked.Add(t.setBytes, bytes)
	}
	if !ok || bytes > t.memory()/2 {
		return nil, fmt.Errorf("%w: the offsets of %s take more than half of the memory ("+remedy.FilterMemory+")", zarr.ErrLimit, quantity.Count(n, "rows"))
	}
	if sparse {
		if n--; n < 0 {
			return nil, fmt.Errorf("%w: it is empty, but begins with 0", zarr.ErrCorrupt)
		}
	}
	t.setBytes = bytes
	s := &set{path: rows.path, sparse: sparse}
	var err error
	s.offsets, err = rowset.Offsets(ctx, rows.array, sparse, n)
	t.sets = append(t.sets, s)
	return s, err
}

// opened opens a member of the source by its document.
func (t *table) opened(ctx context.Context, member string) (*zarr.Array, error) {
	return t.src.Root().At(path.Join(t.src.Path(), member)).OpenArray(ctx, t.reading())
}

// openSets adds the arrays with the elements of the rows, for every member that has the
// lengths of rows of the table. It refuses what cannot be filtered along the dimension:
// the elements of rows, and the numbers of rows.
func (t *table) openSets(ctx context.Context, members []member) error {
	for _, u := range t.unopened {
		if err := t.checkRelations(members, u.path, u.names, u.attributes); err != nil {
			return err
		}
	}
	lengths := map[string]string{} // paths, by the dimension of the elements
	for _, m := range members {
		names, attributes := m.array.DimensionNames(), m.array.Attributes()
		if err := t.checkRelations(members, m.path, names, attributes); err != nil {
			return err
		}
		sample := rowset.Attribute(attributes, sampleDimension)
		if sample == "" || !slices.Contains(names, t.dimension) || isOwn(members, m.path, t.dimension) {
			continue
		}
		if other, ok := lengths[sample]; ok {
			return fmt.Errorf("%w: %s and %s both have the lengths of rows of elements along %s", zarr.ErrUnsupported, other, m.path, sample)
		}
		lengths[sample] = m.path
		if err := t.openSet(ctx, members, m, sample); err != nil {
			return fmt.Errorf("%s, which has the lengths of rows: %w", m.path, err)
		}
	}
	return nil
}

// checkRelations returns an error if the elements of an array would no longer fit when
// the table is filtered.
func (t *table) checkRelations(members []member, at string, names []string, attributes []byte) error {
	switch {
	case isOwn(members, at, t.dimension):
	case rowset.Attribute(attributes, sampleDimension) == t.dimension:
		return fmt.Errorf("%w: %s has the lengths of rows of elements along %s; filter the rows, along %q", zarr.ErrUnsupported, at, t.dimension, names)
	case rowset.Attribute(attributes, instanceDimension) == t.dimension:
		return fmt.Errorf("%w: %s has the numbers of rows along %s, which would not fit the kept ones", zarr.ErrUnsupported, at, t.dimension)
	}
	return nil
}

// openSet adds the arrays along the sample dimension of the set whose lengths an array
// has.
func (t *table) openSet(ctx context.Context, members []member, rows member, sample string) error {
	s, err := t.newSet(ctx, rows, false)
	if err != nil {
		return err
	}
	for _, u := range t.unopened {
		if slices.Contains(u.names, sample) {
			return fmt.Errorf("%w: %s has elements of the rows, and cannot be opened", zarr.ErrUnsupported, u.path)
		}
	}
	for _, m := range members {
		names := m.array.DimensionNames()
		axis := slices.Index(names, sample)
		switch {
		case axis < 0 || isOwn(members, m.path, sample):
			continue
		case path.Dir(m.path) != path.Dir(rows.path) || slices.Contains(names, t.dimension) || slices.Contains(names[axis+1:], sample):
			return fmt.Errorf("%w: %s has the dimensions %q, in place of %s alone, or is in another group", zarr.ErrUnsupported, m.path, names, sample)
		}
		if err := t.addElements(ctx, s, m, axis); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

// addElements adds an array with the elements of rows.
func (t *table) addElements(ctx context.Context, s *set, m member, axis int) error {
	// An append publishes the rows last, so what is opened after them has their elements.
	a, err := t.opened(ctx, m.path)
	if err == nil && a.Rank() != m.array.Rank() {
		err = fmt.Errorf("%w: it had %s, and has %d; filter again", zarr.ErrSourceChanged, quantity.Count(m.array.Rank(), "axes"), a.Rank())
	}
	if err == nil {
		err = t.add(a, m.path, axis)
	}
	if err == nil {
		t.arrays[len(t.arrays)-1].elementsOf = s
	}
	return err
}

// openSparse opens a sparse matrix of AnnData. Its rows are those of indptr.
func (t *table) openSparse(ctx context.Context, members []member) error {
	parts := map[string]member{}
	for _, m := range members {
		if m.array.Rank() == 1 {
			parts[m.path] = m
		}
	}
	for _, name := range []string{"indptr", "indices", "data"} {
		if parts[name].array == nil {
			return fmt.Errorf("%w: a sparse matrix has the arrays indptr, indices and data, each with one axis", zarr.ErrInvalidMetadata)
		}
	}
	rows := parts["indptr"]
	s, err := t.newSet(ctx, rows, true)
	if err == nil {
		err = t.add(rows.array, rows.path, 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", rows.path, err)
	}
	t.arrays[len(t.arrays)-1].offsetsOf = s
	t.n = rows.array.Shape()[0] - 1
	for _, name := range []string{"indices", "data"} {
		if err := t.addElements(ctx, s, parts[name], 0); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkSets returns an error unless the sets have all rows of the table, and the arrays
// all elements. Rows that were appended since the table was opened are forgotten.
func (t *table) checkSets() error {
	for _, s := range t.sets {
		if n := int64(len(s.offsets)) - 1; n < t.n {
			return fmt.Errorf("%w: %s has %s, and the table has %d; if they are growing, filter again", zarr.ErrInvalidArgument, s.path, quantity.Count(n, "rows"), t.n)
		}
		s.offsets = s.offsets[:t.n+1]
	}
	for _, a := range t.arrays {
		if s := a.elementsOf; s != nil && s.end() > a.extent() {
			return fmt.Errorf("%w: the rows of %s have %s, but %s has %d", zarr.ErrCorrupt, s.path, quantity.Count(s.end(), "elements"), t.nameOf(a), a.extent())
		}
	}
	return nil
}

// end returns the number of elements of all rows.
func (s *set) end() int64 { return s.offsets[len(s.offsets)-1] }

// keptOf returns what an array keeps along its axis, given the kept rows of the table.
func (r *array) keptOf(kept *rows) *rows {
	switch {
	case r.elementsOf != nil:
		return r.elementsOf.elements(kept, r.extent())
	case r.offsetsOf != nil:
		return kept.shifted(r.extent())
	}
	return kept
}

// elements returns the elements of the kept rows, of an array with n elements.
func (s *set) elements(kept *rows, n int64) *rows {
	r := newRows(n)
	for word, first := range kept.words(grid.Interval{Stop: kept.n}) {
		for ; word != 0; word &= word - 1 {
			row := first + int64(bits.TrailingZeros64(word))
			r.keepRange(grid.Interval{Start: s.offsets[row], Stop: s.offsets[row+1]})
		}
	}
	return r
}

// keptOffsets returns the offsets of the kept rows in the result, and the end of the last
// one.
func (s *set) keptOffsets(kept *rows) []int64 {
	list := []int64{0}
	for word, first := range kept.words(grid.Interval{Stop: kept.n}) {
		for ; word != 0; word &= word - 1 {
			row := first + int64(bits.TrailingZeros64(word))
			list = append(list, list[len(list)-1]+s.offsets[row+1]-s.offsets[row])
		}
	}
	return list
}

// attributes returns the functions that change the attributes of groups: those of sparse
// matrices have the number of rows.
func (t *table) attributes(kept int64) map[string]func([]byte) ([]byte, error) {
	for _, a := range t.arrays {
		if a.offsetsOf != nil {
			return map[string]func([]byte) ([]byte, error){"": func(object []byte) ([]byte, error) { return rowset.WithRows(object, func(int64) int64 { return kept }) }}
		}
	}
	return nil
}

// confirmSets returns an error if rows have other lengths than those that were read.
func (t *table) confirmSets(ctx context.Context) error {
	for _, s := range t.sets {
		same, err := t.confirmSet(ctx, s)
		if err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("%w: the lengths of rows in %s have changed since filtering began; filter again", zarr.ErrSourceChanged, s.path)
		}
	}
	return nil
}

// confirmSet reports whether the rows have the lengths that were read. There may be more.
func (t *table) confirmSet(ctx context.Context, s *set) (bool, error) {
	rows, err := t.opened(ctx, s.path)
	if err != nil {
		return false, err
	}
	n := int64(len(s.offsets))
	if !s.sparse {
		n--
	}
	if rows.Rank() != 1 || rows.Shape()[0] < n {
		return false, nil
	}
	now, err := rowset.Offsets(ctx, rows, s.sparse, int64(len(s.offsets))-1)
	return slices.Equal(now, s.offsets), err
}
