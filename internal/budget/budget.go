package budget

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Budget limits the bytes that are in use at one time. It may be used from several goroutines at once.
type Budget struct {
	size int64
	sem  *semaphore.Weighted
}

// New returns a budget of size bytes, at least one.
func New(size int64) *Budget {
	size = max(1, size)
	return &Budget{size, semaphore.NewWeighted(size)}
}

// Size returns the budget in bytes.
func (b *Budget) Size() int64 { return b.size }

// Acquire waits until n bytes are free and takes them. A request for more than the whole budget takes all of it,
// so that its owner runs alone. It returns what it took, to be given to Release, or the error of the context.
func (b *Budget) Acquire(ctx context.Context, n int64) (int64, error) {
	n = min(max(0, n), b.size)
	if err := b.sem.Acquire(ctx, n); err != nil {
		return 0, err
	}
	return n, nil
}

// Release gives bytes back.
func (b *Budget) Release(n int64) { b.sem.Release(n) }
