// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestFletcherEqualsPlain compares sums that are seldom folded with those of HDF5, among
// them sums of 0 and of 65535.
func TestFletcherEqualsPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x7f, 0x80, 0xfe, 0xff}), 0, 40).Draw(t, "data")
		data := bytes.Repeat(one, rapid.SampledFrom([]int{1, 50, 3000}).Draw(t, "times"))
		if got, want := fletcher32(data), plainFletcher32(data); got != want {
			t.Fatalf("%d bytes: %#x, want %#x", len(data), got, want)
		}
	})
	for _, v := range []byte{0, 1, 0xff} {
		data := bytes.Repeat([]byte{v}, 3<<20+1)
		if got, want := fletcher32(data), plainFletcher32(data); got != want {
			t.Errorf("3 MiB of %#x: %#x, want %#x", v, got, want)
		}
	}
}

// TestJenkinsPieces hashes bytes in one piece and in two.
func TestJenkinsPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "data")
		first := rapid.Uint32().Draw(t, "first")
		want := lookup3(first, nil, data)
		for i := range data {
			if got := lookup3(first, data[:i], data[i:]); got != want {
				t.Fatalf("cut at %d of %d: %#x, want %#x", i, len(data), got, want)
			}
		}
	})
}

// TestShuffleOrder looks for every byte where it belongs.
func TestShuffleOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, count := rapid.IntRange(1, 20).Draw(t, "size"), rapid.IntRange(0, 300).Draw(t, "count")
		src := rapid.SliceOfN(rapid.Byte(), size*count, size*count).Draw(t, "src")
		out, err := (&shuffler{size: int64(size)}).Encode(nil, src)
		if err != nil || len(out) != len(src) {
			t.Fatalf("%d bytes, %v", len(out), err)
		}
		for i := range count {
			for k := range size {
				if out[k*count+i] != src[i*size+k] {
					t.Fatalf("byte %d of element %d is not at %d", k, i, k*count+i)
				}
			}
		}
	})
}
