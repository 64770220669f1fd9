// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"runtime/debug"
	"testing"
)

// TestMost bounds default budgets by the memory of the machine, and by Go's limit.
func TestMost(t *testing.T) {
	if n := Machine(); n < 64<<20 || installed() < n {
		t.Errorf("a machine of %d bytes, of which %d are installed", n, installed())
	}
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for limit, want := range map[int64]int64{
		1 << 20: 512 << 10, 128 << 20: 64 << 20, 512 << 20: 256 << 20, 1 << 30: 256 << 20, 2 << 30: 256 << 20,
	} {
		debug.SetMemoryLimit(limit)
		if got := Most(); got != want && limit <= installed() {
			t.Errorf("with %d MiB: %d bytes, want %d", limit>>20, got, want)
		}
	}
}
