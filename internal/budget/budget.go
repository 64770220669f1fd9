package budget

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Budget limits the bytes that are in use at one time. It may be used from several
// goroutines at once.
//
// Work may have two steps: what it acquires first it holds while it waits for a second
// amount. So that this wait ends, a budget of two steps gives first steps no more than
// what leaves room for one second step, whatever they ask for.
type Budget struct {
	size, second int64
	all          *semaphore.Weighted
	first        *semaphore.Weighted // what first steps may hold; nil where there are no others
}

// New returns a budget of size bytes, at least one.
func New(size int64) *Budget {
	size = max(1, size)
	return &Budget{size: size, all: semaphore.NewWeighted(size)}
}

// NewInTwo returns a budget of size bytes, at least one, for work in two steps, of which
// the second takes at most so many bytes as a rule. First steps get a quarter of the
// budget at least, also where a second one would need all of it.
func NewInTwo(size, second int64) *Budget {
	b := New(size)
	b.second = min(max(0, second), b.size-max(1, b.size/4))
	b.first = semaphore.NewWeighted(b.size - b.second)
	return b
}

// Acquire waits until n bytes are free and takes them. A request for more than the whole
// budget, or all that first steps may have, takes just that, so that its owner is alone
// there. It returns what it took, to be given to Release, or the error of the context.
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

// Release gives bytes of Acquire back.
func (b *Budget) Release(n int64) {
	b.all.Release(n)
	if b.first != nil {
		b.first.Release(n)
	}
}

// AcquireMore is Acquire for the second step of who holds bytes of the first. It does not
// wait for other first steps to end, only for second ones. More than is meant for a
// second step is not counted.
func (b *Budget) AcquireMore(ctx context.Context, n int64) (int64, error) {
	n = min(max(0, n), b.second)
	if err := b.all.Acquire(ctx, n); err != nil {
		return 0, err
	}
	return n, nil
}

// ReleaseMore gives bytes of AcquireMore back.
func (b *Budget) ReleaseMore(n int64) { b.all.Release(n) }
