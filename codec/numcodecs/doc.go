// Package numcodecs has the codecs of the Python package of that name, under the names
// that zarr-python gives them: numcodecs.zlib, numcodecs.shuffle and so on
// (zarr-extensions, branch "numcodecs"; numcodecs 0.17 for the layout of bytes).
// Importing the package registers them all.
//
// Some are known by further names, under which zarrs wrote them. Those whose formats
// belong to no maintained Go library, and those that run code which a chunk brings along,
// are registered too, and refuse with a reason.
//
// The filters turn an array into another one: [Delta], [FixedScaleOffset], [Quantize],
// [BitRound], [PackBits] and [AsType]. They compute as NumPy does, which wraps integers
// around and cuts off what a type has no room for: no value is an error.
//
// LZMA, and writing bzip2, take more: import varve.dev/zarr/codec/extra, a module of its
// own.
package numcodecs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/config"
	"varve.dev/zarr/metadata"
)

// prefix is what names begin with in the metadata.
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

// decode stores the members of a configuration. Members of the given names may be null,
// which is to leave them out: numcodecs spells options that way in version 2 of the
// format.
func decode(id string, configuration []byte, dst any, nullable ...string) error {
	if len(nullable) > 0 {
		configuration = withoutNulls(configuration, nullable)
	}
	if err := config.Decode(configuration, dst); err != nil {
		return fmt.Errorf("%w: %s: %w", codec.ErrConfiguration, id, err)
	}
	return nil
}

// withoutNulls returns a configuration without members of these names that are null. What
// is no object stays as it is.
func withoutNulls(configuration []byte, names []string) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(configuration, &members) != nil || members == nil {
		return configuration
	}
	maps.DeleteFunc(members, func(name string, v json.RawMessage) bool {
		return string(v) == "null" && slices.Contains(names, name)
	})
	out, err := json.Marshal(members)
	if err != nil {
		return configuration
	}
	return out
}
