// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"

	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/parquet"
	"varve.dev/zarr/internal/kerchunk"
)

// schema is that of files of records. It has no schema of pandas, by which paths would
// become categories, whose nulls are NaN; see splitRecords.
var schema = columnar.Schema{Fields: []columnar.Field{
	{Name: pathColumn, Type: columnar.Type{Kind: columnar.String}, Nullable: true},
	{Name: offsetColumn, Type: columnar.Type{Kind: columnar.Int64}},
	{Name: sizeColumn, Type: columnar.Type{Kind: columnar.Int64}},
	{Name: rawColumn, Type: columnar.Type{Kind: columnar.Binary}, Nullable: true},
}}

// sink is what a writer appends to.
type sink []byte

func (s *sink) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}

// appendFile appends a file with one row group.
func appendFile(dst []byte, r *kerchunk.Records) ([]byte, error) {
	out := sink(dst)
	w, err := parquet.NewWriter(&out, &schema, parquet.Options{})
	if err == nil {
		err = w.Write(splitRecords(r))
	}
	if err == nil {
		err = w.Close()
	}
	return out, err
}

// splitRecords returns records by column.
//
// The column with the paths has a dictionary, also if they do not repeat, or if there are
// none: fastparquet makes None of null then, as fsspec expects. Of plain texts it makes a
// column of pandas 3 whose nulls are NaN, and fsspec takes NaN for a path.
func splitRecords(r *kerchunk.Records) *columnar.Batch {
	n := r.Len()
	urls := &columnar.Column{Offsets: []int64{0}}
	path := columnar.Column{Rows: n, Valid: make([]byte, (n+7)/8), Dictionary: urls, Index: make([]uint32, n)}
	raw := columnar.Column{Rows: n, Valid: make([]byte, (n+7)/8), Offsets: []int64{0}}
	offsets, sizes := columnar.Column{Rows: n}, columnar.Column{Rows: n}
	numbers := map[string]uint32{}
	for i := range n {
		x, ok := r.At(i)
		offset, size := x.Offset, x.Length
		switch {
		case !ok:
			offset, size = 0, 0
		case x.URL == "" || size == 0: // a path with a size of 0 is a whole file
			raw.Valid[i/8] |= 1 << (i % 8)
			raw.Data = append(raw.Data, wrapped(x.Data)...)
			offset, size = 0, 0
		default:
			number, known := numbers[x.URL]
			if !known {
				number = uint32(len(numbers))
				numbers[x.URL] = number
				urls.Data = append(urls.Data, x.URL...)
				urls.Offsets = append(urls.Offsets, int64(len(urls.Data)))
			}
			path.Valid[i/8] |= 1 << (i % 8)
			path.Index[i] = number
			if size == kerchunk.Whole {
				offset, size = 0, 0
			}
		}
		offsets.Data = binary.LittleEndian.AppendUint64(offsets.Data, uint64(offset))
		sizes.Data = binary.LittleEndian.AppendUint64(sizes.Data, uint64(size))
		raw.Offsets = append(raw.Offsets, int64(len(raw.Data)))
	}
	if len(numbers) == 0 {
		urls.Offsets = append(urls.Offsets, 0)
	}
	urls.Rows = len(urls.Offsets) - 1
	return &columnar.Batch{Rows: n, Columns: []columnar.Column{path, offsets, sizes, raw}}
}
