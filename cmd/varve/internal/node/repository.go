// SPDX-License-Identifier: Apache-2.0

package node

import "strings"

// IsRepository reports whether a location is in a repository of Icechunk. What a command
// stores there is to be seen after its commit.
func IsRepository(location string) bool { return strings.HasPrefix(location, "icechunk+") }
