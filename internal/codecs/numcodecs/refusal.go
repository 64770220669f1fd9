// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

func init() {
	const own = "is a format of its own, for which there is no maintained library in Go"
	const loose = "stores Python objects without saying what they are; read the array with zarr-python and write it as strings"
	for name, why := range map[string]string{
		"numcodecs.pcodec": own,
		"https://codec.zarrs.dev/array_to_bytes/pcodec": own,
		"numcodecs.zfpy": own,
		"https://codec.zarrs.dev/array_to_bytes/zfpy": own,
		"zfp":       own,
		"zarrs.zfp": own,
		"https://codec.zarrs.dev/array_to_bytes/zfp": own,
		"zarrs.gdeflate": own,
		"https://codec.zarrs.dev/bytes_to_bytes/gdeflate": own,
		"numcodecs.json2":      loose,
		"numcodecs.msgpack2":   loose,
		"numcodecs.categorize": "stores each text as its number in a list of labels and is not read here; read the array with zarr-python and write it without the filter",
		"numcodecs.pickle":     "runs code that the chunk brings along, and is never read",
	} {
		codec.Register(name, func([]byte) (any, error) { return nil, fmt.Errorf("%w: %q %s", codec.ErrUnsupported, name, why) })
	}
	for _, name := range []string{"vlen-utf8", "vlen-bytes"} {
		register(name, func(configuration []byte) (any, error) {
			return codec.Default.New(metadata.Extension{Name: name, Configuration: configuration})
		})
	}
}
