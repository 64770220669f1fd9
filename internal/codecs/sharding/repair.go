// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"bytes"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

// Repaired returns the specified form of the codec, and how codecs of it were repaired.
func (c *coder) Repaired() (metadata.Extension, []codec.Repair) {
	repairs := append(c.chain.Repairs(), c.index.Repairs()...)
	if len(repairs) == 0 {
		return metadata.Extension{}, nil
	}
	now := metadata.Extension{Name: Name, Configuration: bytes.Clone(c.configuration)}
	for member, codecs := range map[string][]metadata.Extension{
		"codecs":       c.chain.Specified(c.inner),
		"index_codecs": c.index.Specified(c.entries),
	} {
		list := []byte{'['}
		for i, e := range codecs {
			if i > 0 {
				list = append(list, ',')
			}
			list = e.Append(list)
		}
		changed, err := metadata.SetAttribute(now.Configuration, member, append(list, ']'))
		if err == nil { // the configuration was read, so it is an object
			now.Configuration = changed
		}
	}
	return now, repairs
}
