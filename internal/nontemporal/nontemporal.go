// SPDX-License-Identifier: Apache-2.0

// Package nontemporal copies rows past the cache, to blocks that are too large for it. A
// processor that writes a part of a cache line reads the line first. Non-temporal stores
// of whole lines avoid that, which halves the time to copy rows of a chunk to a large
// block.
//
// Processors with AVX2 use assembly that tools/nontemporal generates. There are no such
// stores on other processors, with the build tag purego, or under the race detector,
// which does not see the writes of assembly.
package nontemporal

//go:generate go -C ../../tools run ./nontemporal -out ../internal/nontemporal/avx2_amd64.s -stubs ../internal/nontemporal/avx2_amd64.go -pkg nontemporal

const (
	// Large is the size in bytes above which a block does not fit into the caches: its
	// first bytes are evicted before they are read.
	Large = 32 << 20
	// Row is the smallest size in bytes of a row with enough whole cache lines.
	Row = 256
)

// Rows copies count rows of n bytes, at least [Row], from src to dst. The first begin at
// s and d, and the others ss and ds bytes apart. They must not overlap. Rows returns
// false, and copies nothing, if there are no non-temporal stores.
func Rows(dst, src []byte, d, s, ds, ss, count, n int64) bool {
	if !available {
		return false
	}
	for range count {
		row(dst[d:d+n], src[s:s+n])
		d += ds
		s += ss
	}
	fence()
	return true
}
