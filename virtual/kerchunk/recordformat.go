// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"sync/atomic"

	"varve.dev/zarr/virtual/scan"
)

// RecordFormat reads and writes files of records. Its methods are safe for concurrent
// use.
type RecordFormat interface {
	// Decode returns the records of a file. It refuses files with more than most records
	// and those that need more memory than the limits. The records do not refer to file.
	// Errors wrap [scan.ErrCorrupt] or [scan.ErrUnsupported].
	Decode(file []byte, most int, l Limits) (*Records, error)
	// Append appends a file with the records to dst.
	Append(dst []byte, r *Records) ([]byte, error)
}

var parquet atomic.Pointer[RecordFormat]

// RegisterParquet makes f the format of files of records. It panics if there is one
// already.
func RegisterParquet(f RecordFormat) {
	if !parquet.CompareAndSwap(nil, &f) {
		panic("kerchunk: parquet is registered twice")
	}
}

// Parquet returns the format of files of records. The core has no library for Parquet:
// the separate module varve.dev/zarr/virtual/parquet registers one. Without it the error
// wraps [scan.ErrUnsupported].
func Parquet() (RecordFormat, error) {
	if f := parquet.Load(); f != nil {
		return *f, nil
	}
	return nil, scan.Unsupportedf(`references in Parquet files need the module varve.dev/zarr/virtual/parquet: import _ "varve.dev/zarr/virtual/parquet"`)
}
