// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/codecs/gzipcodec"
	"varve.dev/zarr/metadata"
)

func init() { register("gzip", newGZip) }

// GZip returns the metadata of numcodecs.gzip, which is the codec "gzip" with the levels
// of [Zlib].
func GZip(level int) metadata.Extension { return extension("gzip", `{"level":%d}`, level) }

func newGZip(configuration []byte) (any, error) {
	level, err := deflateLevel("gzip", configuration)
	if err != nil {
		return nil, err
	}
	return gzipcodec.New(codec.Gzip(level).Configuration)
}

// deflateLevel returns a level from 0 to 9. Level -1 means 6, as in zlib. The default is
// 1, as in numcodecs.
func deflateLevel(id string, configuration []byte) (int, error) {
	c := struct {
		Level codec.Int `json:"level"`
	}{1}
	if err := decode(id, configuration, &c); err != nil {
		return 0, err
	}
	if c.Level < -1 || c.Level > 9 {
		return 0, fmt.Errorf("%w: %s: level %d is not within -1 to 9", codec.ErrConfiguration, id, c.Level)
	}
	if c.Level == -1 {
		c.Level = 6
	}
	return int(c.Level), nil
}
