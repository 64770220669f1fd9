// SPDX-License-Identifier: Apache-2.0

// Package golden_test reads and writes arrays of other programs, and damages them.
package golden_test

import (
	"testing"

	"varve.dev/zarr/internal/test/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }
