// SPDX-License-Identifier: Apache-2.0

package main

// Workers open locations of object stores, all codecs, and references in Parquet files.
import (
	_ "varve.dev/zarr/cloud/azure"
	_ "varve.dev/zarr/cloud/gcs"
	_ "varve.dev/zarr/cloud/s3"
	_ "varve.dev/zarr/codec/extra"
	_ "varve.dev/zarr/virtual/parquet"
)
