// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"math"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Budget limits the bytes that are in use at once. It is safe for concurrent use.
//
// Work may have two steps: it holds the bytes of the first step while it waits for those
// of the second. Such waits could deadlock. So a budget of two steps always keeps enough
// bytes free for one second step.
type Budget struct {
	size, second int64
	all          *semaphore.Weighted
	first        *semaphore.Weighted // for first steps; nil if there is only one step
}

// New returns a budget of size bytes, at least one.
func New(size int64) *Budget {
	size = max(1, size)
	return &Budget{size: size, all: semaphore.NewWeighted(size)}
}

// NewInTwo returns a budget of size bytes, at least one, for work in two steps. It
// reserves second bytes for second steps, but at most three quarters of the budget.
func NewInTwo(size, second int64) *Budget {
	b := New(size)
	b.second = min(max(0, second), b.size-max(1, b.size/4))
	b.first = semaphore.NewWeighted(b.size - b.second)
	return b
}

// Acquire waits until n bytes are free and takes them. If n exceeds the bytes for first
// steps, it takes all of those, and its caller runs alone. It returns the number of bytes
// that it took, for Release, or the error of the context.
func (b *Budget) Acquire(ctx context.Context, n int64) (int64, error) {
	n = min(max(0, n), b.size-b.second)
	if b.first != nil {
		if err := b.first.Acquire(ctx, n); err != nil {
			return 0, err
		}
	}
	if err := b.all.Acquire(ctx, n); err != nil {
		if b.first != nil {
			b.first.Release(n)
		}
		return 0, err
	}
	return n, nil
}

// Release releases n bytes that Acquire took.
func (b *Budget) Release(n int64) {
	b.all.Release(n)
	if b.first != nil {
		b.first.Release(n)
	}
}

// AcquireMore is Acquire for a second step. It waits only for other second steps, not for
// first ones. It takes at most the bytes reserved for second steps.
func (b *Budget) AcquireMore(ctx context.Context, n int64) (int64, error) {
	n = min(max(0, n), b.second)
	if err := b.all.Acquire(ctx, n); err != nil {
		return 0, err
	}
	return n, nil
}

// ReleaseMore releases n bytes that AcquireMore took.
func (b *Budget) ReleaseMore(n int64) { b.all.Release(n) }

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
