// SPDX-License-Identifier: Apache-2.0

package main

// The command opens locations of object stores, and references in Parquet files.
import (
	_ "varve.dev/zarr/store/azure"
	_ "varve.dev/zarr/store/gcs"
	_ "varve.dev/zarr/store/s3"
	_ "varve.dev/zarr/virtual/parquet"
)
