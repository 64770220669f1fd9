// SPDX-License-Identifier: Apache-2.0

package main

// Workers open locations of object stores, all codecs, and references in Parquet files.
import (
	_ "varve.dev/zarr/codec/extra"
	_ "varve.dev/zarr/store/azure"
	_ "varve.dev/zarr/store/gcs"
	_ "varve.dev/zarr/store/s3"
	_ "varve.dev/zarr/virtual/parquet"
)
