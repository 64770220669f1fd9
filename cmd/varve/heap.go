// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"runtime/debug"
)

// overhead is what a process needs beside elements and chunks, in bytes: the program, its
// stacks, and what is neither.
const overhead = 16 << 20

// least is the smallest bound that [limitHeap] heeds.
const least = 64 << 20

// limitHeap makes the garbage collector keep the process near a bound on elements and
// chunks, where it would else let the heap grow to twice what is in use. A limit from the
// environment (GOMEMLIMIT) stays. The caller calls restore at the end.
func limitHeap(memory int64) (restore func()) {
	was := debug.SetMemoryLimit(-1)
	if was != math.MaxInt64 || memory > math.MaxInt64-overhead {
		return func() {}
	}
	debug.SetMemoryLimit(max(least, memory) + overhead)
	return func() { debug.SetMemoryLimit(was) }
}
