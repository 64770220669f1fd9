// SPDX-License-Identifier: Apache-2.0

package phrase

import "testing"

func TestPlural(t *testing.T) {
	for want, got := range map[string]string{
		"1 chunk": Plural(1, "chunk"), "0 chunks": Plural(0, "chunk"), "1,000 cells": Plural(1000, "cell"), "1 axis": Plural(1, "axis"), "2 axes": Plural(2, "axis"),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 23438: "23 KiB", 1 << 30: "1.0 GiB", 1<<63 - 1: "8.0 EiB", 1 << 20: "1.0 MiB", 1<<20 - 1: "1.0 MiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", 1234567: "1,234,567", -100: "-100"} {
		if got := Count(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
