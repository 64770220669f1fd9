// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"fmt"
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

// TestSpellingsOfChunks counts the names that a copy notes: not one for each chunk.
func TestSpellingsOfChunks(t *testing.T) {
	for _, format := range []string{"a/c/0/%d", "a/c.0.%d", "a/0.%d", "a/%d", "a/0/%d", "a/c.%d"} {
		s := new(spellings)
		for i := range 1000 {
			s.add(fmt.Sprintf(format, i))
		}
		if n := len(s.names); n > 2 {
			t.Errorf("%s: %d names of 1000 chunks", format, n)
		}
	}
	s := new(spellings)
	if s.add("c.x"); len(s.names) != 1 {
		t.Error("a name that is none of a chunk is not noted")
	}
}
