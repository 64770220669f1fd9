// SPDX-License-Identifier: Apache-2.0

package flagtext

import (
	"testing"
	"time"

	"pgregory.net/rapid"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "30s": 30 * time.Second, "15m": 15 * time.Minute, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute,
		"7d": 7 * day, "2w": 14 * day, "1d12h": 36 * time.Hour, "1d30m": day + 30*time.Minute, "7 days": 7 * day, "0d": 0, "1.5d": 36 * time.Hour,
	} {
		if got, err := ParseDuration(text); got != want || err != nil {
			t.Errorf("%s is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", " ", "7", "d", "1mo", "1y", "-7d", "-1h", "1e9w", "200000w", "99999999999999999999d", "NaNd", "week", "2x"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestParseDurationOfText reads what is printed.
func TestParseDurationOfText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "milliseconds")) * time.Millisecond
		if d < 0 {
			return
		}
		if got, err := ParseDuration(phrase.Duration(d)); got != d || err != nil {
			t.Fatalf("%s is %v (%v), want %v", phrase.Duration(d), got, err, d)
		}
	})
}
