// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"slices"
	"strconv"

	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// WithChecksums returns codecs in which every zstd says whether it stores checksums: as
// its configuration says, or else as on says. It looks into codecs that have a chain of
// their own, such as shards.
//
// A document without the member means no checksums. New arrays of format 3 have checksums
// unless the user opts out.
func WithChecksums(codecs []metadata.Extension, on bool) []metadata.Extension {
	return eachZstd(codecs, func(configuration []byte) ([]byte, error) {
		if _, ok, err := metadata.Attribute(configuration, checksum); ok || err != nil {
			return configuration, err
		}
		return metadata.SetAttribute(configuration, checksum, strconv.AppendBool(nil, on))
	})
}

// WithoutChecksums returns codecs in which every zstd says that it stores no checksums.
// They decode chunks that have them, and check them.
func WithoutChecksums(codecs []metadata.Extension) []metadata.Extension {
	return eachZstd(codecs, func(configuration []byte) ([]byte, error) {
		return metadata.SetAttribute(configuration, checksum, []byte("false"))
	})
}

const checksum = "checksum" // the member of zstd

// eachZstd returns codecs with another configuration of every zstd.
func eachZstd(codecs []metadata.Extension, change func(configuration []byte) ([]byte, error)) []metadata.Extension {
	list := slices.Clone(codecs)
	for i, e := range list {
		// The codec reports a configuration that cannot be read.
		if c, err := zstdConfiguration(e, change); err == nil {
			list[i].Configuration = c
		}
	}
	return list
}

// zstdConfiguration returns the configuration of a codec, with that of every zstd
// changed.
func zstdConfiguration(e metadata.Extension, change func(configuration []byte) ([]byte, error)) ([]byte, error) {
	switch {
	case e.Name == "zstd" && e.Configuration == nil:
		return change([]byte("{}"))
	case e.Name == "zstd":
		return change(e.Configuration)
	}
	if e.Configuration == nil {
		return nil, nil
	}
	// Shards have a chain of their own, and so may codecs that are not known here.
	raw, ok, err := metadata.Attribute(e.Configuration, "codecs")
	if err != nil || !ok {
		return e.Configuration, err
	}
	stored, err := chainOf(raw)
	if err != nil || stored == nil {
		return e.Configuration, err
	}
	changed := eachZstd(stored, change)
	if slices.EqualFunc(stored, changed, metadata.Extension.Equal) {
		return e.Configuration, nil // in its own spelling
	}
	list := []byte{'['}
	for i, c := range changed {
		if i > 0 {
			list = append(list, ',')
		}
		list = c.Append(list)
	}
	return metadata.SetAttribute(e.Configuration, "codecs", append(list, ']'))
}

// chainOf returns the codecs in a list of them, or nil if raw is not a list.
func chainOf(raw []byte) ([]metadata.Extension, error) {
	v, err := strictjson.Parse(raw, strictjson.Limits{Size: int64(len(raw))})
	if err != nil || v.Kind() != strictjson.Array {
		return nil, err
	}
	codecs := []metadata.Extension{}
	for _, m := range v.Elements() {
		e, err := metadata.ParseExtension(m.Raw(), metadata.Limits{})
		if err != nil {
			return nil, err
		}
		codecs = append(codecs, e)
	}
	return codecs, nil
}
