// SPDX-License-Identifier: Apache-2.0

package scanned

import "testing"

// TestExpected reads what is expected of all files.
func TestExpected(t *testing.T) {
	if n := len(Files(t, "")); n != 160 {
		t.Errorf("%d files, want 160", n)
	}
	for _, stored := range Expected(t, "nc3_classic.nc").Variables["v"].Stored {
		if _, _, n, err := parseStored(stored, []int64{1, 1, 1}); n == 0 || err != nil {
			t.Errorf("%s: %v", stored, err)
		}
	}
}
