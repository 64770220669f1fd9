// Package nontemporal copies rows to memory that is too large for the caches. A processor
// that writes a part of a line of its cache reads the line first; whole lines that go
// past the cache are written and nothing else, so that rows of a chunk reach their places
// in a large block in half of the time.
//
// Processors with AVX2 use assembly that tools/nontemporal generates. Elsewhere, in
// programs built with the tag purego, and under the race detector, which has to see what
// is written, there is no way past the cache.
package nontemporal

//go:generate go -C ../../tools run ./nontemporal -out ../internal/nontemporal/avx2_amd64.s -stubs ../internal/nontemporal/avx2_amd64.go -pkg nontemporal

const (
	// Large is the size in bytes beyond which a block does not stay in the caches anyway:
	// what is written of it first is gone from there before its reader comes.
	Large = 32 << 20
	// Row is the least length in bytes of rows that have whole lines enough.
	Row = 256
)

// Rows copies count rows of n bytes, at least [Row], to dst from d on and from src from s
// on; they begin ds and ss bytes apart and do not overlap. It reports whether it did: not
// where this processor has no way past its cache.
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
