// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"runtime/debug"
	"sync"
)

// Machine returns the bytes of memory that this process may use: the least of Go's limit,
// the limit of its control group, and the memory of the machine. If that is unknown, it
// assumes 16 GiB.
func Machine() int64 { return min(installed(), debug.SetMemoryLimit(-1)) }

// guess is the memory of a machine if it is unknown.
const guess = 16 << 30

var installed = sync.OnceValue(func() int64 {
	n := physical()
	if n <= 0 {
		n = guess
	}
	return min(n, grouped())
})

// leastDefault is the least upper bound of a default budget, except on machines with less
// than twice this memory.
const leastDefault = 256 << 20

// Most returns the upper bound of a default budget in bytes. It is a sixteenth of the
// memory, so that several operations and their results fit, but at least leastDefault
// unless that exceeds half of the memory.
func Most() int64 {
	memory := Machine()
	return min(max(memory/16, leastDefault), max(1, memory/2))
}

// unlimited is the limit of a control group that has none.
const unlimited = math.MaxInt64

// Parts is the most bytes that WriteParts of package store holds.
const Parts = 8 << 20
