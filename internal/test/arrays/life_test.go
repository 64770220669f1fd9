// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"fmt"
	"path/filepath"
	"testing"

	"varve.dev/zarr/internal/test/fixture"
)

// TestMain lets the test binary be a process of a life.
func TestMain(m *testing.M) {
	if !Main() {
		NoGoroutines(m)
	}
}

// TestSoakLife lets processes change and read arrays in directories.
func TestSoakLife(t *testing.T) {
	for seed := range fixture.Soaked(t, 4, 40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			Life(t, "", 0, func(_, name string) string { return filepath.Join(dir, name) }, uint64(seed))
		})
	}
}
