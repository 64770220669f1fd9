package budget

import (
	"math"
	"runtime/debug"
	"sync"
)

// Machine returns the bytes of memory that this process may use: Go's limit, what the
// system sets for a group of processes, or all that the machine has, whichever is least.
// Where nothing is known it is a guess.
func Machine() int64 { return min(installed(), debug.SetMemoryLimit(-1)) }

// guess is what a machine has that does not tell.
const guess = 16 << 30

var installed = sync.OnceValue(func() int64 {
	n := physical()
	if n <= 0 {
		n = guess
	}
	return min(n, grouped())
})

// leastDefault is the upper bound of a default budget on machines with little memory.
const leastDefault = 256 << 20

// Most returns the upper bound of a budget that nobody has chosen: a sixteenth of the
// memory, so that several operations at a time, and the results that they make, fit
// beside it.
func Most() int64 {
	memory := Machine()
	return min(max(memory/16, leastDefault), max(1, memory/2))
}

// unlimited is the limit of a group of processes that has none.
const unlimited = math.MaxInt64
