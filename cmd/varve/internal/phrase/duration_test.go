// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"testing"
	"time"
)

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
