// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestClock checks the order of events, and that those of an earlier life do not happen.
func TestClock(t *testing.T) {
	var c clock
	d := newDice(3)
	p, last, n := new(process), -1.0, 0
	for range 1000 {
		at := float64(d.IntN(100))
		c.after(at, nil, func() {
			if n++; c.seconds != at || at < last {
				t.Fatalf("an event of %g happened at %g, after %g", at, c.seconds, last)
			}
			last = at
		})
	}
	c.after(5, p, func() { t.Error("an event of an earlier life") })
	p.life++
	c.after(5, p, func() { n++ })
	if c.run(1000, func() bool { return false }) || n != 1001 {
		t.Errorf("%d events", n)
	}
	var order []int
	for k := range 10 {
		c.after(1, nil, func() { order = append(order, k) })
	}
	c.run(1e9, func() bool { return false })
	for k := range order {
		if order[k] != k {
			t.Fatalf("events of one time in the order %v", order)
		}
	}
}

// TestClockEnds checks that no event happens after the time is over.
func TestClockEnds(t *testing.T) {
	var c clock
	c.after(2, nil, func() { t.Error("it is too late") })
	if c.run(1, func() bool { return false }) || c.seconds != 1 {
		t.Errorf("it is %g", c.seconds)
	}
}
