// SPDX-License-Identifier: Apache-2.0

package metadata

import "varve.dev/zarr/internal/nonfinite"

// Own returns the record of the group itself, or nil if there is none. It is for format
// 2.
func (c *Consolidated) Own() []byte { return nonfinite.Bare(c.group) }
