// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"fmt"
	"testing"
)

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
