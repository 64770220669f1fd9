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
	"fmt"

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
		configuration = codec.WithoutNulls(configuration, nullable...)
	}
	if err := codec.DecodeConfiguration(configuration, dst); err != nil {
		return fmt.Errorf("%w: %s: %w", codec.ErrConfiguration, id, err)
	}
	return nil
}
