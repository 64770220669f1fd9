// SPDX-License-Identifier: Apache-2.0

// Package shards_test tests reading, writing, checking and compacting shards, damaged
// shards, and the requests that shards take.
package shards_test

import (
	"testing"

	"varve.dev/zarr/internal/test/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }
