// SPDX-License-Identifier: Apache-2.0

// Package values_test tests reading and writing every data type with every Go type.
package values_test

import (
	"testing"

	"varve.dev/zarr/internal/test/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }
