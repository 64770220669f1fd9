// SPDX-License-Identifier: Apache-2.0

package nontemporal

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestRows compares rows that bypass the cache with copied rows, and checks the bytes
// between and around them.
func TestRows(t *testing.T) {
	if !available {
		t.Skip("this processor has no way past its cache, or the program does not use it")
	}
	rapid.Check(t, func(t *rapid.T) {
		count, n := rapid.Int64Range(1, 9).Draw(t, "rows"), rapid.Int64Range(Row, 3*Row).Draw(t, "bytes")
		ds, ss := n+rapid.Int64Range(0, 130).Draw(t, "between"), n+rapid.Int64Range(0, 130).Draw(t, "between in the source")
		d, s := rapid.Int64Range(0, 130).Draw(t, "before"), rapid.Int64Range(0, 130).Draw(t, "before in the source")
		src := make([]byte, s+count*ss)
		for i := range src {
			src[i] = byte(i*7 + i/251)
		}
		got := bytes.Repeat([]byte{0xee}, int(d+count*ds))
		want := bytes.Clone(got)
		for i := range count {
			copy(want[d+i*ds:][:n], src[s+i*ss:])
		}
		if !Rows(got, src, d, s, ds, ss, count, n) {
			t.Fatal("nothing is copied")
		}
		if !bytes.Equal(got, want) {
			t.Fatal("rows differ from those that are copied")
		}
	})
}

// BenchmarkRows copies blocks of 256 KiB to rows that are four times as far apart in 256
// MiB, with and without the cache.
func BenchmarkRows(b *testing.B) {
	dst, src := make([]byte, 256<<20), make([]byte, 256<<10)
	clear(dst)
	for _, n := range []int64{256, 512, 2048, 16 << 10} {
		for _, past := range []bool{false, true} {
			b.Run(fmt.Sprintf("bytes=%d/past=%t", n, past), func(b *testing.B) {
				count := int64(len(src)) / n
				b.SetBytes(int64(len(src)))
				at := int64(0)
				for b.Loop() {
					if !past {
						for i := range count {
							copy(dst[at+4*n*i:][:n], src[n*i:])
						}
					} else if !Rows(dst, src, at, 0, 4*n, n, count, n) {
						b.Skip("no way past the cache")
					}
					if at += 4 * n * count; at+4*n*count > int64(len(dst)) {
						at = 0
					}
				}
			})
		}
	}
}
