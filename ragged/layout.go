// SPDX-License-Identifier: Apache-2.0

package ragged

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// The names and attributes of the layouts.
const (
	encodingType    = "encoding-type" // AnnData
	sampleDimension = "sample_dimension"
	pointers        = "indptr"
)

// layout says how the rows are stored.
type layout int

const (
	byLength layout = iota // one length for each row
	byOffset               // one offset for each row, after a leading 0
)

// lead returns the number of elements before that of the first row.
func (l layout) lead() int64 {
	if l == byOffset {
		return 1
	}
	return 0
}

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
	if IsSparse(s.group.Attributes()) {
		return s.sparse(arrays)
	}
	return s.contiguous(arrays)
}

// IsSparse reports whether a group with these attributes is a sparse matrix of AnnData.
func IsSparse(attributes []byte) bool {
	kind := attribute(attributes, encodingType)
	return kind == "csr_matrix" || kind == "csc_matrix"
}

// sparse takes the arrays of AnnData's sparse matrices.
func (s *Set) sparse(arrays map[string]*zarr.Array) error {
	s.layout, s.rows = byOffset, arrays[pointers]
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
		if d := attribute(a.Attributes(), sampleDimension); d != "" {
			if s.rows != nil {
				return fmt.Errorf("%w: %q has the attribute %s, and another array, too: open the groups of one set", zarr.ErrUnsupported, name, sampleDimension)
			}
			s.rows, sample = a, d
		}
	}
	if s.rows == nil {
		return fmt.Errorf("%w: neither a sparse matrix (attribute %s) nor a contiguous ragged array (an array with the attribute %s)", zarr.ErrUnsupported, encodingType, sampleDimension)
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

// attribute returns an attribute that is text.
func attribute(object []byte, name string) (text string) {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil || json.Unmarshal(all[name], &text) != nil {
		return ""
	}
	return text
}

// Offsets reads the offsets of the first n rows among their elements, and the end of the
// last one, from the array of the rows: indptr of a sparse matrix, or the lengths of a
// contiguous ragged array. It takes up to 24 bytes for each row. If the array is no list
// of rows, the error wraps [zarr.ErrCorrupt].
func Offsets(ctx context.Context, rows *zarr.Array, sparse bool, n int64) ([]int64, error) {
	l := byLength
	if sparse {
		l = byOffset
	}
	if rows.Rank() != 1 || n < 0 || n > rows.Shape()[0]-l.lead() {
		return nil, fmt.Errorf("%w: %d rows of %q, which has the shape %v", zarr.ErrInvalidArgument, n, rows.Path(), rows.Shape())
	}
	return l.offsets(ctx, rows, nil, n+l.lead())
}

// offsets returns the offsets of the rows among the first n elements of the rows array,
// and of the end. known are those of the first rows, which do not change; only the others
// are read.
func (l layout) offsets(ctx context.Context, rows *zarr.Array, known []int64, n int64) ([]int64, error) {
	if len(known) == 0 {
		known = []int64{0}
	}
	from := int64(len(known)) - 1 + l.lead()
	if l == byOffset && n == 0 {
		return nil, fmt.Errorf("%w: %q is empty, but begins with 0", zarr.ErrCorrupt, rows.Path())
	}
	if from > n {
		return nil, fmt.Errorf("%w: %q has become shorter; open the set again", zarr.ErrConflict, rows.Path())
	}
	b, err := zarr.ReadAs[int64](ctx, rows, selection.Basic{selection.Span(from, n)})
	if err != nil {
		return nil, err
	}
	offsets := append(make([]int64, 0, len(known)+len(b.Data)), known...)
	for i, v := range b.Data {
		last := offsets[len(offsets)-1]
		if l == byLength {
			if v < 0 || v > math.MaxInt64-last {
				return nil, fmt.Errorf("%w: row %d has the length %d", zarr.ErrCorrupt, from+int64(i), v)
			}
			v += last
		}
		if v < last {
			return nil, fmt.Errorf("%w: row %d begins at %d, before the row before it", zarr.ErrCorrupt, from+int64(i), v)
		}
		offsets = append(offsets, v)
	}
	return offsets, nil
}

// stored returns what the rows array gains for rows of some lengths after an offset.
func (l layout) stored(lengths []int64, offset int64) []int64 {
	if l == byLength {
		return lengths
	}
	list := make([]int64, len(lengths))
	for i, n := range lengths {
		offset += n
		list[i] = offset
	}
	return list
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
