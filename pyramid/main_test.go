// SPDX-License-Identifier: Apache-2.0

package pyramid_test

import (
	"testing"

	"varve.dev/zarr/test/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }
