// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"path"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/ragged"
)

// The attributes of the CF conventions that relate the rows of a table to the dimension
// of their elements (sections 9.3.3 and 9.3.4).
const (
	sampleDimension   = "sample_dimension"
	instanceDimension = "instance_dimension"
)

// set is a ragged set whose rows are filtered.
type set struct {
	group   *zarr.Group
	offsets []int64 // of the rows of the table, and the end of the last one
}

// newSet opens the set in a group below the node, and reads the lengths of its rows.
func (t *table) newSet(ctx context.Context, dir string) (*set, error) {
	at := path.Join(t.src.Path(), dir)
	if at == "." {
		at = "" // the root of the store
	}
	g, err := t.src.Root().At(at).OpenGroup(ctx, t.reading())
	if err != nil {
		return nil, err
	}
	s := &set{group: g}
	s.offsets, err = s.read(ctx)
	t.sets = append(t.sets, s)
	return s, err
}

// read returns the offsets of all rows, and the end of the last one.
func (s *set) read(ctx context.Context) ([]int64, error) {
	r, err := ragged.Of(ctx, s.group)
	if err != nil {
		return nil, err
	}
	lengths, err := r.Lengths(0, r.Rows())
	if err != nil {
		return nil, err
	}
	offsets := make([]int64, 1, len(lengths)+1)
	for i, n := range lengths {
		offsets = append(offsets, offsets[i]+n)
	}
	return offsets, nil
}

// openSets adds the arrays with the elements of the rows, for every member that has the
// lengths of rows of the table. It refuses what cannot be filtered along the dimension:
// the elements of rows, and the numbers of rows.
func (t *table) openSets(ctx context.Context, members []member) error {
	for _, m := range members {
		sample, names := attribute(m.array, sampleDimension), m.array.DimensionNames()
		switch {
		case isOwn(members, m.path, t.dimension):
		case sample == t.dimension:
			return fmt.Errorf("%w: %s has the lengths of rows of elements along %s; filter the rows, along %q", zarr.ErrUnsupported, m.path, t.dimension, names)
		case attribute(m.array, instanceDimension) == t.dimension:
			return fmt.Errorf("%w: %s has the numbers of rows along %s, which would not fit the kept ones", zarr.ErrUnsupported, m.path, t.dimension)
		case sample != "" && slices.Contains(names, t.dimension):
			if err := t.openSet(ctx, members, path.Dir(m.path), sample); err != nil {
				return fmt.Errorf("%s, which has the lengths of rows: %w", m.path, err)
			}
		}
	}
	return nil
}

// openSet adds the arrays along the sample dimension of the set in a group.
func (t *table) openSet(ctx context.Context, members []member, dir, sample string) error {
	s, err := t.newSet(ctx, dir)
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
		case path.Dir(m.path) != dir || slices.Contains(names, t.dimension) || slices.Contains(names[axis+1:], sample):
			return fmt.Errorf("%w: %s has the dimensions %q, in place of %s alone, or is in another group", zarr.ErrUnsupported, m.path, names, sample)
		}
		if err := t.addElements(s, m.array, m.path, axis); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

// addElements adds an array with the elements of rows.
func (t *table) addElements(s *set, a *zarr.Array, at string, axis int) error {
	err := t.add(a, at, axis)
	if err == nil {
		t.arrays[len(t.arrays)-1].elementsOf = s
	}
	return err
}

// openSparse opens a sparse matrix of AnnData. Its rows are those of indptr.
func (t *table) openSparse(ctx context.Context, members []member) error {
	s, err := t.newSet(ctx, "")
	if err != nil {
		return err
	}
	for _, m := range members {
		switch m.path {
		case "indptr":
			if err = t.add(m.array, m.path, 0); err == nil {
				t.arrays[len(t.arrays)-1].offsetsOf = s
				t.n = m.array.Shape()[0] - 1
			}
		case "indices", "data":
			err = t.addElements(s, m.array, m.path, 0)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

// checkSets returns an error unless the sets have all rows of the table, and the arrays
// all elements. Rows that were appended since the table was opened are forgotten.
func (t *table) checkSets() error {
	for _, s := range t.sets {
		if n := int64(len(s.offsets)) - 1; n < t.n {
			return fmt.Errorf("%w: %s has %d rows, and the table has %d; if they are growing, filter again", zarr.ErrInvalidArgument, s.group.Location(), n, t.n)
		}
		s.offsets = s.offsets[:t.n+1]
	}
	for _, a := range t.arrays {
		if s := a.elementsOf; s != nil && s.end() > a.extent() {
			return fmt.Errorf("%w: the rows have %d elements, and %s has %d; if they are growing, filter again", zarr.ErrInvalidArgument, s.end(), t.nameOf(a), a.extent())
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
			return map[string]func([]byte) ([]byte, error){"": func(object []byte) ([]byte, error) { return ragged.WithRows(object, kept) }}
		}
	}
	return nil
}

// confirmSets returns an error if rows have other lengths than those that were read.
func (t *table) confirmSets(ctx context.Context) error {
	for _, s := range t.sets {
		now, err := s.read(ctx)
		if err != nil {
			return err
		}
		if len(now) < len(s.offsets) || !slices.Equal(now[:len(s.offsets)], s.offsets) {
			return fmt.Errorf("%w: the lengths of rows in %s have changed since filtering began; filter again", zarr.ErrSourceChanged, s.group.Location())
		}
	}
	return nil
}

// attribute returns an attribute of an array that is text.
func attribute(a *zarr.Array, name string) (text string) {
	var all map[string]json.RawMessage
	if json.Unmarshal(a.Attributes(), &all) != nil || json.Unmarshal(all[name], &text) != nil {
		return ""
	}
	return text
}
