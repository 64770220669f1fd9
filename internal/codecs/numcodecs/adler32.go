// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"hash/adler32"

	"varve.dev/zarr/metadata"
)

func init() { registerChecksum("adler32", Start, adler32.Checksum, "adler32") }

// Adler32 returns the metadata of numcodecs.adler32, the checksum of zlib (RFC 1950). The
// default location is [Start].
func Adler32(at Location) metadata.Extension { return located("adler32", at) }
