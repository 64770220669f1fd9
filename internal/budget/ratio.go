// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"sync/atomic"
)

// Ratio learns the ratio of encoded to decoded bytes of values: the largest so far, not
// counting a fixed number of bytes that every value may have. The zero Ratio has seen no
// value. Several goroutines may use it at once.
type Ratio struct {
	bits atomic.Uint64 // of a float64 >= 0; the bits of such numbers sort as the numbers do
	seen atomic.Int64
}

// Learn records a value with so many encoded and decoded bytes.
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

// Expect returns how many bytes the encoded form of a value probably has at most, with a
// margin and never more than most. Before the first value it returns first.
func (r *Ratio) Expect(decoded, first, most int64) int64 {
	return r.expect(decoded, first, most, math.Inf(1))
}

// Ready returns how much memory to take for an encoded value. It is [Ratio.Expect] for
// short values. For long ones its margin is smaller: too much memory costs more there
// than growing it now and then.
func (r *Ratio) Ready(decoded, first, most int64) int64 {
	return r.expect(decoded, first, most, spareReady)
}

// expect is Expect with a margin of at most few bytes because few values were seen.
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
