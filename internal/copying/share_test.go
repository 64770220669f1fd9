// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"testing"
)

// TestSpread has numbers that must never change: processes of different releases may
// share a copy.
func TestSpread(t *testing.T) {
	for key, want := range map[string]uint64{
		"": 17280346270528514342, "c/0": 3419338522807751917, "a/c/0/1": 6328929939662098147, "deep/b/0.0": 17149308802427925573,
	} {
		if got := spread(key); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
	key, sum := "a/c/0/1", uint64(0)
	if n := testing.AllocsPerRun(100, func() { sum += spread(key) }); n != 0 || sum == 0 {
		t.Errorf("%v allocations", n)
	}
}
