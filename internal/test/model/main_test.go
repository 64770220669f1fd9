// SPDX-License-Identifier: Apache-2.0

// Package model_test compares random sequences of operations with the same operations on
// arrays without chunks.
package model_test

import (
	"testing"

	"varve.dev/zarr/internal/test/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }
