// SPDX-License-Identifier: Apache-2.0

// Package imagecodecs has the codecs of the Python package imagecodecs that TIFF files
// need, under the names that references to such files have (kerchunk, tifffile and
// virtual-tiff): imagecodecs_lzw, imagecodecs_packbits, and the predictors
// imagecodecs_delta and imagecodecs_floatpred. Importing the package registers them.
//
// HorizontalDeltaCodec and ChunkyCodec are those of virtual-tiff. imagecodecs_zlib,
// imagecodecs_deflate and imagecodecs_zstd are other names of numcodecs.zlib and zstd.
// Codecs of whole images, such as JPEG, are registered too, but refuse with what helps.
//
// Section numbers in comments are those of "TIFF Revision 6.0" (Adobe, 1992).
package imagecodecs

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

// prefix is the prefix of names in the metadata of both formats.
const prefix = metadata.ImagecodecsPrefix

// corrupt returns a [codec.ErrCorrupt] of a codec with a reason.
func corrupt(id, format string, args ...any) error {
	return fmt.Errorf("%w: %s%s: %s", codec.ErrCorrupt, prefix, id, fmt.Sprintf(format, args...))
}

// misfit returns a [codec.ErrConfiguration] of a codec with a reason.
func misfit(id, format string, args ...any) error {
	return fmt.Errorf("%w: %s%s: %s", codec.ErrConfiguration, prefix, id, fmt.Sprintf(format, args...))
}

// decode decodes a configuration into dst. imagecodecs writes every option that is not
// set as null.
func decode(id string, configuration []byte, dst any) error {
	if err := codec.DecodeConfiguration(codec.WithoutNulls(configuration), dst); err != nil {
		return fmt.Errorf("%w: %s%s: %w", codec.ErrConfiguration, prefix, id, err)
	}
	return nil
}
