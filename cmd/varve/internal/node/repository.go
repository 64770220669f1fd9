// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"

	"varve.dev/zarr/icechunk"
)

// IsRepository reports whether a location is in a repository of Icechunk. What a command
// stores there is to be seen after its commit.
func IsRepository(location string) bool { return strings.HasPrefix(location, "icechunk+") }

// SameBranch reports whether two locations are written as those of one branch of a
// repository, so that one commit has the changes of both.
func SameBranch(a, b string) bool {
	if !IsRepository(a) || !IsRepository(b) {
		return false
	}
	one, at, _, err := icechunk.ParseLocation(a)
	other, otherAt, _, otherErr := icechunk.ParseLocation(b)
	return err == nil && otherErr == nil && one == other && at == otherAt
}
