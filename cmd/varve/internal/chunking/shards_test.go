// SPDX-License-Identifier: Apache-2.0

package chunking

import "testing"

func TestDivisor(t *testing.T) {
	for number := int64(0); number < 200; number++ {
		for most := int64(1); most < 220; most++ {
			want := int64(1)
			for d := int64(1); d <= min(number, most); d++ {
				if number%d == 0 {
					want = d
				}
			}
			if got := divisor(number, most); number > 0 && got != want {
				t.Fatalf("divisor(%d, %d) is %d, want %d", number, most, got, want)
			}
		}
	}
	for _, c := range []struct{ number, most, want int64 }{{1<<63 - 1, 1 << 62, 0}, {1 << 62, 1 << 61, 1 << 61}, {1e18, 1e18 - 1, 5e17}} {
		if got := divisor(c.number, c.most); got < 1 || got > c.most || c.number%got != 0 || c.want > 0 && got != c.want {
			t.Errorf("divisor(%d, %d) is %d", c.number, c.most, got)
		}
	}
}
