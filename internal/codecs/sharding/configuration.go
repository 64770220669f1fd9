// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

// Complete implements [codec.Completer].
func (c *coder) Complete(e metadata.Extension) metadata.Extension {
	full, err := codec.Shards(codec.Sharding{
		Inner:       c.cut.cuts,
		Codecs:      c.chain.Complete(c.inner),
		IndexCodecs: c.index.Complete(c.entries),
		AtStart:     c.atStart,
	})
	if err != nil {
		return e // Varve reads this cut but does not write it
	}
	return full
}
