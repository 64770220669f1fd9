// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"hash/crc32"

	"varve.dev/zarr/metadata"
)

func init() { registerChecksum("crc32", Start, crc32.ChecksumIEEE) }

// CRC32 returns the metadata of numcodecs.crc32, the checksum of zip and PNG files. The
// default location is [Start].
func CRC32(at Location) metadata.Extension { return located("crc32", at) }
