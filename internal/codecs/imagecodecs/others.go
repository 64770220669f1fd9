// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/metadata"
)

// effort is that of imagecodecs if none is given.
const effort = 6

func init() {
	alias("zlib", numcodecs.Zlib(effort))
	alias("deflate", numcodecs.Zlib(effort))
	alias("zstd", codec.ZstdChecksum(0, false))
	// These are the ones that references to TIFF files have.
	for _, id := range []string{"jetraw", "jpeg", "jpeg2k", "jpeg8", "jpegxl", "jpegxr", "lerc", "png", "webp"} {
		codec.Register(prefix+id, func([]byte) (any, error) {
			return nil, fmt.Errorf("%w: %q stores whole images, and is not read here; %s", codec.ErrUnsupported, prefix+id, Remedy)
		})
	}
}

// Remedy says what to do with TIFF files whose compression no codec decodes.
const Remedy = "write the file again, as with gdal_translate -co COMPRESS=DEFLATE"

// alias registers a codec of imagecodecs that has the same encoded form as another. Its
// configuration has at most a level, which only encoders need.
func alias(id string, same metadata.Extension) {
	codec.Register(prefix+id, func(configuration []byte) (any, error) {
		var m struct {
			Level float64 `json:"level"`
			Raw   bool    `json:"raw"`
		}
		if err := decode(id, configuration, &m); err != nil {
			return nil, err
		}
		if m.Raw {
			return nil, fmt.Errorf("%w: %s%s: raw streams, which have no checksum", codec.ErrUnsupported, prefix, id)
		}
		return codec.Default.New(same)
	})
}
