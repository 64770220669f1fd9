// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"runtime/debug"
	"testing"
)

// TestLarge checks that the advice does not change memory or its neighbours, before and
// after it is filled.
func TestLarge(t *testing.T) {
	for _, n := range []int{0, 1, least - 1, least, least + 1, 3 * least, 9*least + 511} {
		all := make([]byte, n+4)
		all[0], all[1], all[n+2], all[n+3] = 1, 2, 3, 4
		b := all[2 : n+2 : n+2]
		Large(b)
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("byte %d of %d is %d", i, n, b[i])
			}
			b[i] = byte(i)
		}
		Usual(b)
		for i := range b {
			if b[i] != byte(i) {
				t.Fatalf("byte %d of %d is %d", i, n, b[i])
			}
		}
		if all[0] != 1 || all[1] != 2 || all[n+2] != 3 || all[n+3] != 4 {
			t.Fatalf("%d bytes: neighbours are %d", n, []byte{all[0], all[1], all[n+2], all[n+3]})
		}
	}
}

// BenchmarkFirstTouch measures filling 256 MiB of fresh memory, with and without the
// advice.
func BenchmarkFirstTouch(b *testing.B) {
	const n = 256 << 20
	for _, large := range []bool{false, true} {
		name := "small"
		if large {
			name = "large"
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				b.StopTimer()
				debug.FreeOSMemory() // so that the memory is new to the process
				s := make([]byte, n)
				b.StartTimer()
				if large {
					Large(s)
					defer Usual(s)
				}
				for i := 0; i < n; i += 4096 {
					s[i] = 1
				}
			}
		})
	}
}
