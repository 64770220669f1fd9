// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/codecs/zstd"
	"varve.dev/zarr/metadata"
)

func init() { register("zstd", newZstd) }

// Zstd returns the metadata of numcodecs.zstd, which is the codec of package zstd.
func Zstd(level int, checksum bool) metadata.Extension {
	return extension("zstd", `{"level":%d,"checksum":%t}`, level, checksum)
}

// newZstd clamps levels above the highest one, as numcodecs does.
func newZstd(configuration []byte) (any, error) {
	const last = 22
	var c struct {
		Level    codec.Int `json:"level"`
		Checksum bool      `json:"checksum"`
	}
	if err := decode("zstd", configuration, &c); err != nil {
		return nil, err
	}
	// As in the C library, higher levels mean the last one.
	return zstd.New(codec.ZstdChecksum(int(min(c.Level, last)), c.Checksum).Configuration)
}
