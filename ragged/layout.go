// SPDX-License-Identifier: Apache-2.0

package ragged

import (
	"context"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/rowset"
)

// find finds the arrays of the set.
func (s *Set) find(ctx context.Context) error {
	arrays := map[string]*zarr.Array{}
	for m, err := range s.group.Members(ctx, false) {
		if err == nil {
			err = m.Err
		}
		if err != nil {
			return err
		}
		if _, ok := m.Node.(*zarr.Array); !ok {
			continue
		}
		// The documents of consolidated metadata may be stale.
		a, err := s.group.At(m.Path).OpenArray(ctx, nil)
		if err != nil {
			return err
		}
		if a.Rank() == 1 {
			arrays[m.Path] = a
		}
	}
	if rowset.IsSparse(s.group.Attributes()) {
		return s.sparse(arrays)
	}
	return s.contiguous(arrays)
}

// sparse takes the arrays of AnnData's sparse matrices.
func (s *Set) sparse(arrays map[string]*zarr.Array) error {
	s.layout, s.rows = rowset.ByOffset, arrays[rowset.Pointers]
	s.elements, s.perRow = map[string]*zarr.Array{}, map[string]*zarr.Array{}
	for _, name := range []string{"indices", "data"} {
		if s.elements[name] = arrays[name]; arrays[name] == nil || s.rows == nil {
			return fmt.Errorf("%w: a sparse matrix has the arrays indptr, indices and data, each with one axis", zarr.ErrInvalidMetadata)
		}
	}
	return nil
}

// contiguous takes the arrays of a contiguous ragged array.
func (s *Set) contiguous(arrays map[string]*zarr.Array) error {
	sample := ""
	for name, a := range arrays {
		if d := rowset.Attribute(a.Attributes(), rowset.SampleDimension); d != "" {
			if s.rows != nil {
				return fmt.Errorf("%w: %q has the attribute %s, and another array, too: open the groups of one set", zarr.ErrUnsupported, name, rowset.SampleDimension)
			}
			s.rows, sample = a, d
		}
	}
	if s.rows == nil {
		return fmt.Errorf("%w: neither a sparse matrix (attribute %s) nor a contiguous ragged array (an array with the attribute %s)", zarr.ErrUnsupported, rowset.EncodingType, rowset.SampleDimension)
	}
	s.elements, s.perRow = map[string]*zarr.Array{}, map[string]*zarr.Array{}
	for name, a := range arrays {
		switch {
		case a == s.rows || dimension(a) == "":
		case dimension(a) == sample:
			s.elements[name] = a
		case dimension(a) == dimension(s.rows):
			s.perRow[name] = a
		}
	}
	return nil
}

// dimension returns the name of the axis of an array.
func dimension(a *zarr.Array) string {
	if names := a.DimensionNames(); len(names) == 1 {
		return names[0]
	}
	return ""
}

// addRows returns the addition of numbers to the rows array, in its data type.
func addRows(a *zarr.Array, path string, numbers []int64, opt *zarr.AppendOptions) (zarr.Addition, error) {
	switch a.Type() {
	case dtype.Int64:
		return zarr.Add(path, 0, numbers, opt), nil
	case dtype.Int32:
		return addAs[int32](path, numbers, opt)
	case dtype.Uint32:
		return addAs[uint32](path, numbers, opt)
	case dtype.Uint64:
		return addAs[uint64](path, numbers, opt)
	}
	return zarr.Addition{}, fmt.Errorf("%w: %q has the type %s; rows are counted in int32, int64, uint32 or uint64", zarr.ErrUnsupported, path, a.Type())
}

func addAs[T int32 | uint32 | uint64](path string, numbers []int64, opt *zarr.AppendOptions) (zarr.Addition, error) {
	list := make([]T, len(numbers))
	for i, n := range numbers {
		if list[i] = T(n); int64(list[i]) != n {
			return zarr.Addition{}, fmt.Errorf("%w: %d does not fit the type of %q", zarr.ErrOverflow, n, path)
		}
	}
	return zarr.Add(path, 0, list, opt), nil
}
