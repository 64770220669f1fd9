package budget

import (
	"math"
	"sync/atomic"
)

// Ratio remembers how many bytes values have encoded for each that they have decoded: the most that was seen so far. The zero Ratio
// has seen nothing. It may be used from several goroutines at once.
type Ratio struct {
	bits atomic.Uint64 // of a float64 that is not negative, whose bits are in the same order
	seen atomic.Int64
}

// Learn notes that decoded bytes, at least one, took so many encoded.
func (r *Ratio) Learn(encoded, decoded int64) {
	now := math.Float64bits(float64(max(0, encoded)) / float64(max(1, decoded)))
	if encoded > 0 {
		r.seen.Add(1)
	}
	for old := r.bits.Load(); now > old && !r.bits.CompareAndSwap(old, now); old = r.bits.Load() {
	}
}

// What is expected beyond what was seen: a quarter and some bytes, and the more the fewer values there were.
const (
	spare      = 1.25
	spareFew   = 4
	spareBytes = 4 << 10
)

// Expect returns how many bytes to expect of a value encoded: somewhat more than was seen so far, and no more than most. Where nothing was
// seen it is first.
func (r *Ratio) Expect(decoded, first, most int64) int64 {
	ratio := math.Float64frombits(r.bits.Load())
	if ratio == 0 {
		return first
	}
	times := spare + spareFew/float64(r.seen.Load())
	if likely := times*ratio*float64(decoded) + spareBytes; likely < float64(most) {
		return int64(likely)
	}
	return most
}
