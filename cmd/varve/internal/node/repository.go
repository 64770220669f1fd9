// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"

	"varve.dev/zarr/cmd/varve/internal/failure"
)

// IsRepository reports whether a location is in a repository of Icechunk. What a command
// stores there is to be seen after its commit.
func IsRepository(location string) bool { return strings.HasPrefix(location, "icechunk+") }

// OutsideRepository returns an error with a remedy if a location is in a repository of
// Icechunk, where a command has nothing to do.
func OutsideRepository(location, remedy string) error {
	if !IsRepository(location) {
		return nil
	}
	return failure.Unsupported("a repository of Icechunk %s", remedy)
}
