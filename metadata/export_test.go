// SPDX-License-Identifier: Apache-2.0

package metadata

// Own returns the record of the group itself, or nil if there is none. It is for format
// 2.
func (c *Consolidated) Own() []byte { return bareNonFinite(c.group) }
