// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"hash/crc32"

	"varve.dev/zarr/metadata"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func init() {
	registerChecksum("crc32c", End, func(data []byte) uint32 { return crc32.Checksum(data, castagnoli) })
}

// CRC32C returns the metadata of numcodecs.crc32c. The default location is [End], which
// makes it the same as the codec "crc32c" of the specification.
func CRC32C(at Location) metadata.Extension { return located("crc32c", at) }
