package budget

import (
	"math"
	"sync/atomic"
)

// Ratio remembers how many bytes values have encoded for each that they have decoded: the most that was seen so far. The zero Ratio
// has seen nothing. It may be used from several goroutines at once.
type Ratio struct{ bits atomic.Uint64 } // of a float64 that is not negative, whose bits are in the same order

// Learn notes that decoded bytes, at least one, took so many encoded.
func (r *Ratio) Learn(encoded, decoded int64) {
	now := math.Float64bits(float64(max(0, encoded)) / float64(max(1, decoded)))
	for old := r.bits.Load(); now > old && !r.bits.CompareAndSwap(old, now); old = r.bits.Load() {
	}
}

// What is expected beyond what was seen.
const (
	spareFactor = 1.25
	spareBytes  = 4 << 10
)

// Expect returns how many bytes to expect of a value encoded: a little more than was seen so far, and no more than most. Where nothing was
// seen it is first.
func (r *Ratio) Expect(decoded, first, most int64) int64 {
	ratio := math.Float64frombits(r.bits.Load())
	if ratio == 0 {
		return first
	}
	if likely := spareFactor*ratio*float64(decoded) + spareBytes; likely < float64(most) {
		return int64(likely)
	}
	return most
}
