package budget

import (
	"math"
	"sync/atomic"
)

// Ratio remembers how many bytes values have encoded for each that they have decoded: the
// most that was seen so far, but for a few that every value has, which say nothing of
// longer ones. The zero Ratio has seen nothing. It may be used from several goroutines at
// once.
type Ratio struct {
	bits atomic.Uint64 // of a float64 that is not negative, whose bits are in the same order
	seen atomic.Int64
}

// Learn notes that decoded bytes, at least one, took so many encoded.
func (r *Ratio) Learn(encoded, decoded int64) {
	now := math.Float64bits(float64(max(0, encoded-spareBytes)) / float64(max(1, decoded)))
	for old := r.bits.Load(); now > old && !r.bits.CompareAndSwap(old, now); old = r.bits.Load() {
	}
	if encoded > 0 {
		r.seen.Add(1) // last: who finds that something was seen finds the ratio, too
	}
}

// What is expected beyond what was seen: a quarter and some bytes, and the more the fewer
// values there were.
const (
	spare      = 1.25
	spareFew   = 4
	spareBytes = 4 << 10
	// spareReady is how many bytes are made ready at most because few values were seen.
	spareReady = 1 << 20
)

// Expect returns how many bytes to expect of a value encoded: somewhat more than was seen
// so far, and no more than most. Where nothing was seen it is first.
func (r *Ratio) Expect(decoded, first, most int64) int64 {
	return r.expect(decoded, first, most, math.Inf(1))
}

// Ready returns how many bytes to make ready for an encoded value. That is what
// [Ratio.Expect] returns for short ones. Memory for several times a long one costs more
// than to make room for one that is longer still.
func (r *Ratio) Ready(decoded, first, most int64) int64 {
	return r.expect(decoded, first, most, spareReady)
}

// expect returns what to expect, with at most few bytes for want of other values.
func (r *Ratio) expect(decoded, first, most int64, few float64) int64 {
	seen := r.seen.Load()
	if seen == 0 {
		return first
	}
	likely := math.Float64frombits(r.bits.Load()) * float64(decoded)
	likely = spare*likely + min(few, spareFew/float64(seen)*likely) + spareBytes
	if likely < float64(most) {
		return int64(likely)
	}
	return most
}
