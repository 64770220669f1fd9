// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"fmt"

	// So that the package is all that a program has to import.
	_ "varve.dev/zarr/virtual"
	"varve.dev/zarr/virtual/kerchunk"
)

func init() { kerchunk.RegisterParquet(Format{}) }

// Format reads and writes files of records. It is a [kerchunk.RecordFormat].
type Format struct{}

// Decode implements [kerchunk.RecordFormat]. The memory for pages and records is bounded
// by l.Generated.
func (Format) Decode(file []byte, most int, l kerchunk.Limits) (*kerchunk.Records, error) {
	r, err := decode(file, most, l)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	return r, nil
}

// Append implements [kerchunk.RecordFormat].
func (Format) Append(dst []byte, r *kerchunk.Records) ([]byte, error) {
	out, err := appendFile(dst, r)
	if err != nil {
		return dst, fmt.Errorf("parquet: %w", err)
	}
	return out, nil
}
