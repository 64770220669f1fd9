// SPDX-License-Identifier: Apache-2.0

package main

// bucket is a token bucket: what a service permits. A bucket without a rate permits
// everything.
type bucket struct {
	rate  float64 // tokens per second; the bucket holds those of one second
	level float64 // below 0 if tokens are reserved
	at    float64 // the time of level
	taken int64
}

func newBucket(rate float64) *bucket { return &bucket{rate: rate, level: rate} }

// take takes up to n tokens, and returns how many it got.
func (b *bucket) take(now float64, n int64) int64 {
	if b.rate > 0 {
		b.level = min(b.rate, b.level+(now-b.at)*b.rate)
		b.at = now
		n = min(n, int64(max(0, b.level)))
		b.level -= float64(n)
	}
	b.taken += n
	return n
}

// reserve takes n tokens in advance, and returns the seconds until the last of them is
// there. So callers come one after the other, as if nobody had to ask twice.
func (b *bucket) reserve(now float64, n int64) float64 {
	b.taken += n
	if b.rate == 0 || n == 0 {
		return 0
	}
	b.level = min(b.rate, b.level+(now-b.at)*b.rate) - float64(n)
	b.at = now
	return max(0, -b.level/b.rate)
}
