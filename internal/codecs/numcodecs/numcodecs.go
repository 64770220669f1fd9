// SPDX-License-Identifier: Apache-2.0

// Package numcodecs has the codecs of the Python package numcodecs, under the names that
// zarr-python gives them: numcodecs.zlib, numcodecs.shuffle and so on (zarr-extensions,
// branch "numcodecs"; the layout of bytes is that of numcodecs 0.17). Importing the
// package registers them.
//
// Some also have the names under which zarrs wrote them. Codecs without a maintained Go
// library, and codecs that execute code from a chunk, are registered too, but refuse with
// a reason.
//
// The filters are array-to-array codecs: [Delta], [FixedScaleOffset], [Quantize],
// [BitRound], [PackBits] and [AsType]. They compute as NumPy does: integers wrap around,
// floats are truncated, and no value is an error.
//
// LZMA, and writing bzip2, require an import of the module varve.dev/zarr/codec/extra.
package numcodecs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

// prefix is the prefix of names in the metadata.
const prefix = "numcodecs."

// register registers a factory under the name id of numcodecs, and under other names of
// the same codec.
func register(id string, f codec.Factory, others ...string) {
	for _, name := range append(others, prefix+id) {
		codec.Register(name, f)
	}
}

// extension returns the metadata of a codec.
func extension(id string, configuration string, args ...any) metadata.Extension {
	return metadata.Extension{Name: prefix + id, Configuration: fmt.Appendf(nil, configuration, args...)}
}

// decode decodes a configuration into dst. Members of the given names may be null, which
// is as if they were absent: numcodecs writes such options in format 2.
func decode(id string, configuration []byte, dst any, nullable ...string) error {
	if len(nullable) > 0 {
		configuration = WithoutNulls(configuration, nullable...)
	}
	if err := codec.DecodeConfiguration(configuration, dst); err != nil {
		return fmt.Errorf("%w: %s: %w", codec.ErrConfiguration, id, err)
	}
	return nil
}

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

// WithoutNulls returns a configuration without the members that are null, for programs
// that write so every option that is not set. If there are names, it drops members of
// these only. It returns anything but an object unchanged.
func WithoutNulls(configuration []byte, names ...string) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(configuration, &members) != nil || members == nil {
		return configuration
	}
	maps.DeleteFunc(members, func(name string, v json.RawMessage) bool {
		return string(v) == "null" && (len(names) == 0 || slices.Contains(names, name))
	})
	out, err := json.Marshal(members)
	if err != nil {
		return configuration
	}
	return out
}

// Reordered returns a chain of codecs for elements of size bytes with the same codecs in
// another order, and whether that is needed. netCDF-4 puts the checksum fletcher32 before
// shuffle. HDF5 shuffles whole elements and leaves the bytes after them as they are;
// numcodecs refuses to do so, in both directions. If elements have 8 bytes, a checksum of
// 4 bytes is such a rest. The checksum comes last in the chain that is returned.
func Reordered(chain []metadata.Extension, size int) ([]metadata.Extension, bool) {
	var sums []int // indices of the checksums so far
	longer := int64(0)
	for i, e := range chain {
		c, err := codec.Default.New(e)
		if err != nil {
			return chain, false // nobody knows what it does with lengths
		}
		switch c := c.(type) {
		case checksum:
			sums, longer = append(sums, i), longer+checksumSize
		case *shuffler:
			n := c.size
			if c.guessed || c.zero {
				n = int64(size)
			}
			if n > 1 && longer%n != 0 {
				return behind(chain, sums), true
			}
		}
	}
	return chain, false
}

// behind returns a chain with some of its codecs at the end.
func behind(chain []metadata.Extension, some []int) []metadata.Extension {
	var first, last []metadata.Extension
	for i, e := range chain {
		if slices.Contains(some, i) {
			last = append(last, e)
		} else {
			first = append(first, e)
		}
	}
	return append(first, last...)
}
