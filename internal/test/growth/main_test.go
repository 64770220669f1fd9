// SPDX-License-Identifier: Apache-2.0

// Package growth_test tests appends, resizes, reservations and streams, and counts their
// requests.
package growth_test

import (
	"testing"

	"varve.dev/zarr/internal/test/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }
