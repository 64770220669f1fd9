// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"slices"
	"strconv"

	"varve.dev/zarr/strictjson"
)

// WithChecksums returns codecs in which every zstd says whether it stores checksums: as
// its configuration says, or else as on says. It looks into codecs that have a chain of
// their own, such as shards.
//
// A document without the member means no checksums. Whoever asks for zstd and says
// nothing gets them in format 3.
func WithChecksums(codecs []Extension, on bool) []Extension {
	list := slices.Clone(codecs)
	for i, e := range list {
		// The codec reports a configuration that cannot be read.
		if c, err := withChecksums(e, on); err == nil {
			list[i].Configuration = c
		}
	}
	return list
}

// withChecksums returns the configuration of a codec, in which every zstd says whether it
// stores checksums.
func withChecksums(e Extension, on bool) ([]byte, error) {
	if e.Name == "zstd" {
		return withMember(e.Configuration, "checksum", strconv.AppendBool(nil, on))
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
	is := WithChecksums(was, on)
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

// withMember returns a configuration with a member, unless it has one of that name.
func withMember(configuration []byte, name string, value []byte) ([]byte, error) {
	if configuration == nil {
		configuration = []byte("{}")
	}
	if _, ok, err := Attribute(configuration, name); ok || err != nil {
		return configuration, err
	}
	return SetAttribute(configuration, name, value)
}
