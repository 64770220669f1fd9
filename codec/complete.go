// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"slices"

	"varve.dev/zarr/metadata"
)

// Complete returns the specified forms of exts, from which the chain was made, in their
// plain spelling and with all optional members ([Completer]). So equivalent chains become
// equal.
func (c *Chain) Complete(exts []metadata.Extension) []metadata.Extension {
	full := slices.Clone(c.Specified(exts))
	for i := range full {
		optional := full[i].Optional
		if f, ok := c.codec(i).(Completer); ok {
			full[i] = f.Complete(full[i])
		}
		full[i].Optional = optional
		full[i] = full[i].Plain()
	}
	return full
}
