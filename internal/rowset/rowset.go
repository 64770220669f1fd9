// SPDX-License-Identifier: Apache-2.0

// Package rowset reads the array that says where the rows of a ragged set are: the
// offsets of a sparse matrix of AnnData, or the lengths of a contiguous ragged array of
// the CF conventions (section 9.3.3). Packages ragged and filter share it.
package rowset

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/selection"
)

// The names and attributes of the layouts.
const (
	EncodingType    = "encoding-type" // AnnData
	SampleDimension = "sample_dimension"
	Pointers        = "indptr"
)

// Layout says how the rows are stored.
type Layout int

const (
	ByLength Layout = iota // one length for each row
	ByOffset               // one offset for each row, after a leading 0
)

// Lead returns the number of elements before that of the first row.
func (l Layout) Lead() int64 {
	if l == ByOffset {
		return 1
	}
	return 0
}

// IsSparse reports whether a group with these attributes is a sparse matrix of AnnData.
func IsSparse(attributes []byte) bool {
	kind := Attribute(attributes, EncodingType)
	return kind == "csr_matrix" || kind == "csc_matrix"
}

// Attribute returns an attribute that is text.
func Attribute(object []byte, name string) (text string) {
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
	l := ByLength
	if sparse {
		l = ByOffset
	}
	if rows.Rank() != 1 || n < 0 || n > rows.Shape()[0]-l.Lead() {
		return nil, fmt.Errorf("%w: %s of %q, which has the shape %v", zarr.ErrInvalidArgument, quantity.Count(n, "rows"), rows.Path(), rows.Shape())
	}
	return l.Extend(ctx, rows, nil, n+l.Lead())
}

// Extend returns the offsets of the rows among the first n elements of the rows array,
// and of the end. known are those of the first rows, which do not change; only the others
// are read.
func (l Layout) Extend(ctx context.Context, rows *zarr.Array, known []int64, n int64) ([]int64, error) {
	if len(known) == 0 {
		known = []int64{0}
	}
	from := int64(len(known)) - 1 + l.Lead()
	if l == ByOffset && n == 0 {
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
		if l == ByLength {
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

// Stored returns what the rows array gains for rows of some lengths after an offset.
func (l Layout) Stored(lengths []int64, offset int64) []int64 {
	if l == ByLength {
		return lengths
	}
	list := make([]int64, len(lengths))
	for i, n := range lengths {
		offset += n
		list[i] = offset
	}
	return list
}

// WithRows returns the attributes of a sparse matrix with the number of rows that change
// makes of the present one; of a csc_matrix, these are its columns.
func WithRows(attributes []byte, change func(n int64) int64) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(attributes, &all); err != nil {
		return nil, err
	}
	var shape []int64
	if err := json.Unmarshal(all["shape"], &shape); err != nil || len(shape) != 2 {
		return nil, fmt.Errorf("%w: the attribute shape is %s, not two numbers", zarr.ErrInvalidMetadata, all["shape"])
	}
	axis := 0
	if Attribute(attributes, EncodingType) == "csc_matrix" {
		axis = 1
	}
	if shape[axis] = change(shape[axis]); slices.Contains(shape, -1) {
		return nil, fmt.Errorf("%w: the attribute shape has a negative number", zarr.ErrInvalidMetadata)
	}
	all["shape"], _ = json.Marshal(shape)
	return json.Marshal(all)
}
