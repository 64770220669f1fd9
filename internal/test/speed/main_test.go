// SPDX-License-Identifier: Apache-2.0

// Package speed_test has the benchmarks of whole calls.
package speed_test

import (
	"testing"

	"varve.dev/zarr/internal/test/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }
