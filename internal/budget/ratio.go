// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"sync/atomic"
)

// Ratio learns the ratio of encoded to decoded bytes of values. It is the largest so far,
// not counting a fixed number of bytes that every value may have. The zero Ratio has seen
// no value. It is safe for concurrent use.
type Ratio struct {
	bits atomic.Uint64 // of a float64 >= 0; the bits of such numbers sort as the numbers do
	seen atomic.Int64
}

// Learn records a value with the given encoded and decoded bytes.
func (r *Ratio) Learn(encoded, decoded int64) {
	now := math.Float64bits(float64(max(0, encoded-spareBytes)) / float64(max(1, decoded)))
	for old := r.bits.Load(); now > old && !r.bits.CompareAndSwap(old, now); old = r.bits.Load() {
	}
	if encoded > 0 {
		r.seen.Add(1) // last, so that a reader which sees the count also sees the ratio
	}
}

// The margin above the learned ratio: a quarter, some bytes, and more if few values were
// seen.
const (
	spare      = 1.25
	spareFew   = 4
	spareBytes = 4 << 10
	// spareReady limits the margin of Ready for few values, in bytes.
	spareReady = 1 << 20
)

// Expect returns a probable upper bound of the encoded bytes of a value. It has a margin
// and is at most most. Before the first value it returns first.
func (r *Ratio) Expect(decoded, first, most int64) int64 {
	return r.expect(decoded, first, most, math.Inf(1))
}

// Ready returns the bytes of memory to take for an encoded value. It is [Ratio.Expect]
// for short values. For long ones its margin is smaller, because unused memory costs
// more there than a rare reallocation.
func (r *Ratio) Ready(decoded, first, most int64) int64 {
	return r.expect(decoded, first, most, spareReady)
}

// expect is Expect. few limits, in bytes, the margin that is due to few values.
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
