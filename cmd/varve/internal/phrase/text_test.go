// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"runtime"
	"strings"
	"testing"
)

// TestShorten cuts texts of more than n characters, however many bytes these have.
func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 3, "日本語"}, {"日本語x", 3, "日本…"}, {"é", 1, "é"}, {"éé", 1, "…"},
	} {
		if got := Shorten(c.text, c.n); got != c.want {
			t.Errorf("%q in %d is %q, want %q", c.text, c.n, got, c.want)
		}
	}
	long := strings.Repeat("1", 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	runtime.KeepAlive(Shorten(long, 100))
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<16 {
		t.Errorf("%d bytes for the beginning of a text of %d", n, len(long))
	}
}

// TestPrintable escapes characters that could take over a terminal.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[31m\u009b": `a\x1b[31m\u009b`, "é ☃": "é ☃", "a\xff\ufffd": "a\\xff\ufffd", "": "", `a\b`: `a\b`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestName quotes names that do not show what they are.
func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"t2m": "t2m", "T:2m": "T:2m", "a b": "a b", "é": "é", "ta\tb": `"ta\tb"`, `a\b`: `"a\\b"`, " a": `" a"`, "\xff": `"\xff"`, `"`: `"\""`,
	} {
		if got := Name(name); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}
