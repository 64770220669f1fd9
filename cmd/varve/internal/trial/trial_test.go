// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/observe"
)

func TestJudge(t *testing.T) {
	second := time.Second
	for _, c := range []struct {
		want       string
		raw        float64
		bytes      int64
		io, codecs time.Duration
	}{
		{byCodecs, 1e9, 1e6, second, 3500 * time.Millisecond},
		{byStore, 1e9, 9e8, 10 * second, second},
		{byWaiting, 1e9, 1e6, 15 * second, second}, // as many as there may be
		{byWaiting, 1e9, 1e8, 3 * second, second},  // fewer, and nothing else
		{byChunks, 1e9, 1e6, second, second},
		{byMemory, 1e9, 5e8, second, second},
	} {
		var counter observe.Counter
		counter.Observe(t.Context(), observe.Event{Op: observe.Get, Bytes: c.bytes, Duration: c.io})
		for range 100 {
			counter.Observe(t.Context(), observe.Event{Op: observe.Decode, Duration: c.codecs / 100})
		}
		r := Round{InFlight: 8, Processors: 2, Bytes: c.bytes, Seconds: 2, Chunks: 100, Stats: counter.Stats()}
		r.Finish()
		r.Stored *= 2 // the table has rates
		m := &Measured{Raw: RawRound{Rate: c.raw}, Rounds: []Round{{}, r}}
		if got, why := m.Judge(); got != c.want || why == "" || strings.Contains(why, "%!") {
			t.Errorf("%s, want %s: %s", got, c.want, why)
		}
	}
	nothing := &Measured{Rounds: []Round{{Usual: true}}}
	if what, why := nothing.Judge(); what == "" || strings.Contains(why, "NaN") {
		t.Errorf("%s: %s", what, why)
	}
}
