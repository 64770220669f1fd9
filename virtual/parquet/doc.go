// SPDX-License-Identifier: Apache-2.0

// Package parquet lets every function that opens a location open references in the
// parquet form of kerchunk, which fsspec calls LazyReferenceMapper. Importing it is
// enough:
//
//	import _ "varve.dev/zarr/virtual/parquet"
//
//	a, err := zarr.OpenArray(ctx, "refs.parq/t2m", nil)
//
// A folder of references has a document with the metadata of all nodes. For each array it
// has files of 10,000 references, or another number, which are read when they are needed.
// [varve.dev/zarr/virtual.Manifest.CreateParquet] writes such folders.
//
// The package reads and writes those files: flat tables with the columns path, offset,
// size and raw. Package [varve.dev/zarr/columnar/parquet] has the format. Other tables
// are refused by the name of what they have.
package parquet
