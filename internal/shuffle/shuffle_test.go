// SPDX-License-Identifier: Apache-2.0

package shuffle

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve.dev/zarr/internal/clock"
	"varve.dev/zarr/internal/racing"
)

// shuffled is a simple implementation of Shuffle.
func shuffled(src []byte, size int) []byte {
	n, out := len(src)/size, bytes.Clone(src)
	for i := range n {
		for j := range size {
			out[j*n+i] = src[i*size+j]
		}
	}
	return out
}

// bitshuffled is a simple implementation of Bitshuffle.
func bitshuffled(src []byte, size int) []byte {
	n, out := len(src)/size, bytes.Clone(src)
	if n%8 != 0 {
		return out
	}
	clear(out[:n*size])
	for i := range n {
		for bit := range 8 * size {
			out[bit*n/8+i/8] |= src[i*size+bit/8] >> (bit % 8) & 1 << (i % 8)
		}
	}
	return out
}

func noise(n int) []byte {
	r, b := rand.New(rand.NewPCG(uint64(n), 1)), make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// same compares the four functions with the simple ones, and checks that they do not
// write beyond dst.
func same(t testing.TB, src []byte, size int) {
	for _, way := range []struct {
		name    string
		shuffle func(dst, src []byte, size int)
		back    func(dst, src []byte, size int)
		model   []byte
	}{
		{"Shuffle", Shuffle, Unshuffle, shuffled(src, size)},
		{"Bitshuffle", Bitshuffle, Bitunshuffle, bitshuffled(src, size)},
	} {
		guarded := func(f func(dst, src []byte, size int), src []byte) []byte {
			buf := bytes.Repeat([]byte{0xa5}, len(src)+128)
			f(buf[64:64+len(src)], src, size)
			if i := bytes.IndexFunc(buf[:64], func(c rune) bool { return c != 0xfffd }); i >= 0 {
				t.Errorf("%s, %d bytes in elements of %d: writes before the beginning", way.name, len(src), size)
			}
			if !bytes.Equal(buf[64+len(src):], bytes.Repeat([]byte{0xa5}, 64)) {
				t.Errorf("%s, %d bytes in elements of %d: writes behind the end", way.name, len(src), size)
			}
			return buf[64 : 64+len(src)]
		}
		got := guarded(way.shuffle, src)
		if !bytes.Equal(got, way.model) {
			t.Errorf("%s of %d bytes in elements of %d differs from its definition", way.name, len(src), size)
		}
		if !bytes.Equal(guarded(way.back, got), src) {
			t.Errorf("%s of %d bytes in elements of %d does not come back", way.name, len(src), size)
		}
	}
}

func TestSizes(t *testing.T) {
	racing.Skip(t)
	for size := 1; size <= 260; size++ {
		for _, n := range []int{0, 1, 7, 8, 31, 32, 33, 64, 100, 256, 264} {
			same(t, noise(n*size+size/2), size)
		}
	}
	same(t, noise(1<<16+3), 1000)
	same(t, noise(16*9000), 9000)
}

func TestLong(t *testing.T) {
	for _, size := range []int{1, 2, 3, 4, 5, 6, 8, 12, 15, 16, 17, 24, 32} {
		for _, n := range []int{2040, 2048, 4065, 4096, 4096 + 72, 8215, 10_000, 33_333} {
			same(t, noise(n*size), size)
		}
	}
}

func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 64).Draw(t, "size")
		n := rapid.IntRange(0, 3000).Draw(t, "bytes")
		skip := rapid.IntRange(0, 33).Draw(t, "alignment")
		tb := new(failures)
		same(tb, noise(n + skip)[skip:], size)
		if tb.text != "" {
			t.Fatal(tb.text)
		}
	})
}

// failures collects the errors of a check.
type failures struct {
	testing.TB
	text string
}

func (f *failures) Errorf(format string, args ...any) { f.text += fmt.Sprintf(format, args...) + "\n" }

// TestPlain checks the code without assembly, which some processors never use.
func TestPlain(t *testing.T) {
	for size := 1; size <= 40; size++ {
		for _, n := range []int{8, 24, 64, 72, 1000} {
			src := noise(n * size)
			out, back := make([]byte, len(src)), make([]byte, len(src))
			shufflePlain(out, src, size, 0, n)
			unshufflePlain(back, out, size, 0, n)
			if !bytes.Equal(out, shuffled(src, size)) || !bytes.Equal(back, src) {
				t.Errorf("%d elements of %d bytes: the plain way differs", n, size)
			}
		}
	}
	for _, n := range []int{8, 56, 64, 72, 1000} {
		src := noise(n)
		out, back := make([]byte, n), make([]byte, n)
		splitBitsPlain(out, n/8, src, 0)
		joinBitsPlain(back, out, n/8, 0)
		if !bytes.Equal(out, bitshuffled(src, 1)) || !bytes.Equal(back, src) {
			t.Errorf("bits of %d bytes: the plain way differs", n)
		}
	}
}

func FuzzShuffle(f *testing.F) {
	f.Add(noise(512), uint8(4))
	f.Add(noise(1000), uint8(3))
	f.Fuzz(func(t *testing.T, src []byte, size uint8) { same(t, src, max(1, int(size))) })
}

func Benchmark(b *testing.B) {
	src, dst := noise(256<<10), make([]byte, 256<<10)
	all := src
	measure := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
			took, copied := clock.Beside(f, func() { copy(dst, src) }, time.Second/8)
			b.ReportMetric(float64(len(src))/took.Seconds()/1e6, "best-MB/s")
			b.ReportMetric(copied.Seconds()/took.Seconds(), "of-copy")
		})
	}
	measure("copy", func() { copy(dst, src) })
	for _, size := range []int{1, 2, 3, 4, 8, 12, 16, 24} {
		n := len(all) / size / 8 * 8
		src = all[:n*size]
		name := func(way string) string { return fmt.Sprintf("%s/%d", way, size) }
		if size > 1 {
			measure(name("shuffle"), func() { Shuffle(dst, src, size) })
			measure(name("unshuffle"), func() { Unshuffle(dst, src, size) })
			measure(name("plain shuffle"), func() { shufflePlain(dst, src, size, 0, n) })
			measure(name("plain unshuffle"), func() { unshufflePlain(dst, src, size, 0, n) })
		}
		measure(name("bitshuffle"), func() { Bitshuffle(dst, src, size) })
		measure(name("bitunshuffle"), func() { Bitunshuffle(dst, src, size) })
	}
}
