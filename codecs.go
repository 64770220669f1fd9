// SPDX-License-Identifier: Apache-2.0

package zarr

// The codecs that every program has; importing them registers them.
import (
	_ "varve.dev/zarr/internal/codecs/bitround"
	_ "varve.dev/zarr/internal/codecs/blosc"
	_ "varve.dev/zarr/internal/codecs/bytescodec"
	_ "varve.dev/zarr/internal/codecs/castvalue"
	_ "varve.dev/zarr/internal/codecs/conditional"
	_ "varve.dev/zarr/internal/codecs/crc32c"
	_ "varve.dev/zarr/internal/codecs/grib2"
	_ "varve.dev/zarr/internal/codecs/gzipcodec"
	_ "varve.dev/zarr/internal/codecs/imagecodecs"
	_ "varve.dev/zarr/internal/codecs/n5"
	_ "varve.dev/zarr/internal/codecs/numcodecs"
	_ "varve.dev/zarr/internal/codecs/packbits"
	_ "varve.dev/zarr/internal/codecs/reshape"
	_ "varve.dev/zarr/internal/codecs/scaleoffset"
	_ "varve.dev/zarr/internal/codecs/sharding"
	_ "varve.dev/zarr/internal/codecs/transpose"
	_ "varve.dev/zarr/internal/codecs/vlen"
	_ "varve.dev/zarr/internal/codecs/zstd"
)
