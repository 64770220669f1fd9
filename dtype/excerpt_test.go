// SPDX-License-Identifier: Apache-2.0

package dtype

import "testing"

// TestExcerpt checks that a value that is a JSON string keeps its quotes, and has no
// other ones before them.
func TestExcerpt(t *testing.T) {
	for text, want := range map[string]string{`abc`: `"abc"`, `"abc"`: `'"abc"'`, `"a"c`: `"\"a\"c"`, "\"\u202e\"": `'"\u202e"'`, `5.5`: `"5.5"`} {
		if got := excerpt(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
