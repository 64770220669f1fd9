// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/internal/driver"
)

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999999999": 24 * time.Hour,
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 0,
	} {
		if got := driver.RetryAfter(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	date := time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)
	if got := driver.RetryAfter(http.Header{"Retry-After": {date}}); got < 50*time.Second || got > time.Minute {
		t.Errorf("a date in a minute: %v", got)
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		" a\r\nb\x1b[31m ": "a  b [31m", "\xff": "?", "ääää": "ää…", "12345": "1234…",
	} {
		if got := driver.Printable(text, 4+len(text)/9*5); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestClockAdvice(t *testing.T) {
	for ago, want := range map[time.Duration]bool{0: false, time.Minute: false, -time.Hour: true, time.Hour: true} {
		h := http.Header{"Date": {time.Now().Add(-ago).UTC().Format(http.TimeFormat)}}
		if got := driver.ClockAdvice(h); strings.Contains(got, "set it") != want {
			t.Errorf("%v ago: %q", ago, got)
		}
	}
	if got := driver.ClockAdvice(http.Header{}); got != "" {
		t.Errorf("without a date: %q", got)
	}
}
