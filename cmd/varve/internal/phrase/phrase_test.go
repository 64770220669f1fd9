// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"runtime"
	"strings"
	"testing"
	"time"
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

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0s"}, {10 * time.Millisecond, "10ms"}, {90 * time.Second, "1m30s"}, {time.Minute, "1m"}, {10 * time.Minute, "10m"},
		{time.Hour, "1h"}, {24 * time.Hour, "24h"}, {90 * time.Minute, "1h30m"}, {time.Hour + time.Second, "1h0m1s"}, {47*time.Hour + 59*time.Minute, "47h59m"},
		{48 * time.Hour, "2d"}, {7 * 24 * time.Hour, "7d"}, {60 * time.Hour, "2d12h"}, {100*time.Hour + 90*time.Second, "4d4h1m30s"}, {72*time.Hour + time.Minute, "3d1m"},
	} {
		if got := Duration(c.d); got != c.want {
			t.Errorf("%d is %s, want %s", c.d, got, c.want)
		}
	}
}
