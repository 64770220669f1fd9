// SPDX-License-Identifier: Apache-2.0

package phrase

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1B": 1, "1 B": 1, "1kB": 1000, "1KB": 1000, "1KiB": 1024, "1.5 MiB": 3 << 19, "2GB": 2e9, "7EiB": 7 << 60, "0.0015kB": 1,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "8", "MiB", "1iB", "0B", "0.5B", "8EiB", "-1B", "1e3B", "1 MiBs", "1 mib"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}
