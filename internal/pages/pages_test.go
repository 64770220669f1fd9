package pages

import (
	"runtime/debug"
	"testing"
	"unsafe"
)

// TestLarge sees that memory is what it was, whatever the system makes of the advice, and that the neighbours of a slice are left alone.
func TestLarge(t *testing.T) {
	for _, n := range []int{0, 1, least/8 - 1, least / 8, least/8 + 1, 3 * least / 8, 9*least/8 + 511} {
		all := make([]uint64, n+4)
		all[0], all[1], all[n+2], all[n+3] = 1, 2, 3, 4
		s := Large(all[2 : n+2 : n+2])
		if len(s) != n || n > 0 && &s[0] != &all[2] {
			t.Fatalf("%d elements: another slice", n)
		}
		for i := range s {
			if s[i] != 0 {
				t.Fatalf("element %d of %d is %d", i, n, s[i])
			}
			s[i] = uint64(i)
		}
		for i := range s {
			if s[i] != uint64(i) {
				t.Fatalf("element %d of %d is %d", i, n, s[i])
			}
		}
		if all[0] != 1 || all[1] != 2 || all[n+2] != 3 || all[n+3] != 4 {
			t.Fatalf("%d elements: neighbours are %d", n, []uint64{all[0], all[1], all[n+2], all[n+3]})
		}
	}
}

// TestCapacity sees that room beyond the length counts: buffers are made with no length.
func TestCapacity(t *testing.T) {
	b := Large(make([]byte, 0, least))
	if len(b) != 0 || cap(b) != least {
		t.Fatalf("len %d, cap %d", len(b), cap(b))
	}
	b = append(b, 1)
	if *unsafe.SliceData(b) != 1 {
		t.Fatal("nothing is stored")
	}
}

// BenchmarkFirstTouch measures what it takes to fill fresh memory of 256 MiB, with the advice and without.
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
				}
				for i := 0; i < n; i += 4096 {
					s[i] = 1
				}
			}
		})
	}
}
