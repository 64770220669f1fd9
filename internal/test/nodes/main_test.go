// SPDX-License-Identifier: Apache-2.0

// Package nodes_test tests creating, listing, consolidating, copying and removing nodes
// of both formats, in directories, in archives and on servers.
package nodes_test

import (
	"testing"

	"varve.dev/zarr/internal/test/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }
