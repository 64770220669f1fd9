// SPDX-License-Identifier: Apache-2.0

package zarr

// The codecs that every program has; importing them registers them.
import (
	_ "varve.dev/zarr/codec/bitround"
	_ "varve.dev/zarr/codec/blosc"
	_ "varve.dev/zarr/codec/castvalue"
	_ "varve.dev/zarr/codec/conditional"
	_ "varve.dev/zarr/codec/crc32c"
	_ "varve.dev/zarr/codec/grib2"
	_ "varve.dev/zarr/codec/gzipcodec"
	_ "varve.dev/zarr/codec/imagecodecs"
	_ "varve.dev/zarr/codec/n5"
	_ "varve.dev/zarr/codec/numcodecs"
	_ "varve.dev/zarr/codec/packbits"
	_ "varve.dev/zarr/codec/reshape"
	_ "varve.dev/zarr/codec/scaleoffset"
	_ "varve.dev/zarr/codec/sharding"
	_ "varve.dev/zarr/codec/transpose"
)
