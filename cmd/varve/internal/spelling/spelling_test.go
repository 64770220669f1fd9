// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"strings"
	"testing"
)

// TestNearest checks the words that are proposed for an unknown one.
func TestNearest(t *testing.T) {
	known := []string{"time", "latitude", "longitude", "t2m", "shape", "shards", "select"}
	for word, want := range map[string]string{
		"tmie": "time", "Time": "time", "shpae": "shape", "lat": "latitude", "long": "longitude", "t2n": "t2m", "selct": "select",
		"x": "", "zzzz": "", "": "", "time": "", "shard": "shards",
	} {
		if got := strings.Join(Nearest(word, known), ","); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
