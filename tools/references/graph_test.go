// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

// TestOrder orders a chain given in any order, and counts upward references in a cycle.
func TestOrder(t *testing.T) {
	chain := newGraph([]string{"c", "a", "d", "b"})
	for _, r := range [][2]int{{1, 3}, {3, 0}, {0, 2}, {1, 2}} {
		chain.add(r[0], r[1], "f")
	}
	order := chain.order()
	if !slices.Equal(order, []int{1, 3, 0, 2}) || chain.upward(order) != 0 || chain.count() != 4 {
		t.Errorf("order %v, %d upward of %d", order, chain.upward(order), chain.count())
	}
	chain.add(2, 1, "f")
	if order := chain.order(); chain.upward(order) != 1 {
		t.Errorf("a circle: order %v, %d upward", order, chain.upward(order))
	}
}
