// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"slices"
	"strconv"

	"varve.dev/zarr/internal/strictjson"
)

// WithChecksums returns codecs in which every zstd says whether it stores checksums: as
// its configuration says, or else as on says. It looks into codecs that have a chain of
// their own, such as shards.
//
// A document without the member means no checksums. Whoever asks for zstd and says
// nothing gets them in format 3.
func WithChecksums(codecs []Extension, on bool) []Extension {
	return eachZstd(codecs, func(configuration []byte) ([]byte, error) {
		if _, ok, err := Attribute(configuration, checksum); ok || err != nil {
			return configuration, err
		}
		return SetAttribute(configuration, checksum, strconv.AppendBool(nil, on))
	})
}

// WithoutChecksums returns codecs in which every zstd says that it stores no checksums.
// They decode chunks that have them, and check them.
func WithoutChecksums(codecs []Extension) []Extension {
	return eachZstd(codecs, func(configuration []byte) ([]byte, error) {
		return SetAttribute(configuration, checksum, []byte("false"))
	})
}

const checksum = "checksum" // the member of zstd

// eachZstd returns codecs with another configuration of every zstd.
func eachZstd(codecs []Extension, change func(configuration []byte) ([]byte, error)) []Extension {
	list := slices.Clone(codecs)
	for i, e := range list {
		// The codec reports a configuration that cannot be read.
		if c, err := changed(e, change); err == nil {
			list[i].Configuration = c
		}
	}
	return list
}

// changed returns the configuration of a codec, with that of every zstd changed.
func changed(e Extension, change func(configuration []byte) ([]byte, error)) ([]byte, error) {
	switch {
	case e.Name == "zstd" && e.Configuration == nil:
		return change([]byte("{}"))
	case e.Name == "zstd":
		return change(e.Configuration)
	}
	if e.Configuration == nil {
		return nil, nil
	}
	v, err := object(e.Configuration)
	if err != nil {
		return nil, err
	}
	chain, ok := v.Member("codecs")
	if !ok || chain.Kind() != strictjson.Array {
		return e.Configuration, nil
	}
	was, err := newExtensions(chain)
	if err != nil {
		return nil, err
	}
	is := eachZstd(was, change)
	if slices.EqualFunc(was, is, Extension.Equal) {
		return e.Configuration, nil // in its own spelling
	}
	list := []byte{'['}
	for i, c := range is {
		if i > 0 {
			list = append(list, ',')
		}
		list = c.Append(list)
	}
	return SetAttribute(e.Configuration, "codecs", append(list, ']'))
}
