// SPDX-License-Identifier: Apache-2.0

package pyramid_test

import (
	"testing"

	"varve.dev/zarr/internal/test/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }
