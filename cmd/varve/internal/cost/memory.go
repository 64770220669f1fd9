// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"math"
	"runtime/debug"
)

// Overhead is what a process needs beside elements and chunks, in bytes: the program, its
// stacks, and what is neither.
const Overhead = 16 << 20

// Least is the smallest bound that [limitHeap] heeds.
const Least = 64 << 20

// LimitHeap makes the garbage collector keep the process near a bound on elements and
// chunks, where it would else let the heap grow to twice what is in use. A limit from the
// environment (GOMEMLIMIT) stays. The caller calls restore at the end.
func LimitHeap(memory int64) (restore func()) {
	was := debug.SetMemoryLimit(-1)
	if was != math.MaxInt64 || memory > math.MaxInt64-Overhead {
		return func() {}
	}
	debug.SetMemoryLimit(max(Least, memory) + Overhead)
	return func() { debug.SetMemoryLimit(was) }
}
