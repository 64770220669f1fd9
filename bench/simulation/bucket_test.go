// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestBucket checks that a bucket gives its rate, and the tokens of one second at once.
func TestBucket(t *testing.T) {
	b := newBucket(100)
	if n := b.take(0, 1000); n != 100 {
		t.Errorf("a full bucket gave %d", n)
	}
	sum := int64(0)
	for at := 0.0; at < 50; at += 0.125 {
		sum += b.take(at, 1000)
	}
	if sum < 4980 || sum > 5000 {
		t.Errorf("%d tokens in 50 s", sum)
	}
	if n := b.take(1e6, 1000); n != 100 {
		t.Errorf("after a long time it gave %d", n)
	}
	if b.taken != sum+200 {
		t.Errorf("%d were taken", b.taken)
	}
}

// TestReserve checks that reservations queue, and that a reservation of nothing does not.
func TestReserve(t *testing.T) {
	b := newBucket(100)
	for k, want := range []float64{0, 1, 2, 3} {
		if s := b.reserve(0, 100); s != want {
			t.Errorf("reservation %d waits for %g s, want %g", k, s, want)
		}
	}
	if s := b.reserve(0, 0); s != 0 {
		t.Errorf("nothing waits for %g s", s)
	}
	if s := b.reserve(2, 100); s != 2 {
		t.Errorf("two seconds later one waits for %g s", s)
	}
}
