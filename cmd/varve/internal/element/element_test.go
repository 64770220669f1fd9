// SPDX-License-Identifier: Apache-2.0

package element

import (
	"strings"
	"testing"
)

// TestQuoted checks that control characters are escaped in blocks of values.
func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"it's": `"it's"`, `it's "x"`: `'it\'s "x"'`, "a\x1b[2J\n\t\\": `'a\x1b[2J\n\t\\'`, strings.Repeat("x", 99): "'" + strings.Repeat("x", longestWord) + "…'",
	} {
		if got := quoted(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
