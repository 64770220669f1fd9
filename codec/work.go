package codec

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Work is what one call of a codec may use of the machine. The calls of one operation
// share their cores.
type Work struct {
	Cores    Cores
	Bytes    int64          // held at one time besides what the caller gave; who needs more for a single step takes that step alone
	Memory   *budget.Budget // of the operation; elements that differ in length take theirs from it, in its second step
	Requests int            // to the store at one time, at least 1

	// Ranges of a stored chunk are read as one where at most Gap bytes lie between them
	// and they have at most Span bytes together. A chunk of at most Small bytes is read
	// whole, and Guess bytes are read with an index that stands at an end.
	Gap, Span, Small, Guess int64

	// Block is how many bytes are read at a time where one more request costs next to
	// nothing, so that they are in the processor's caches while they are moved to their
	// place; 0 reads as much at once as Span and Bytes allow.
	Block int64

	// Observer is told of what is done to the stored chunk at Key, unless it is nil.
	Observer observe.Observer
	Key      store.Key
}

// Grow is [Chain.Grow] within the memory of the operation, for a chunk with n bytes of
// references. While decode runs it may wait for nothing but memory of its own: others
// wait for what it holds.
func (w *Work) Grow(ctx context.Context, c *Chain, n int64, src []byte, decode func(room int64) error) error {
	return c.Grow(src, func(room int64) error {
		if w.Memory == nil {
			return decode(room)
		}
		weight, err := w.Memory.AcquireMore(ctx, n*int64(1+c.Buffers())+c.TextWeight(room))
		if err != nil {
			return err
		}
		defer w.Memory.ReleaseMore(weight)
		return decode(room)
	})
}

// Cores is how many goroutines may encode and decode at one time: more would only take
// more memory, since every codec at work has tables of its own. Waiting for the store
// takes no core.
type Cores chan struct{}

// NewCores returns as many cores as Go uses processors.
func NewCores() Cores { return make(Cores, runtime.GOMAXPROCS(0)) }

// Enter waits for a core and takes it.
func (c Cores) Enter() { c <- struct{}{} }

// Leave gives a core back.
func (c Cores) Leave() { <-c }

// tryEnter takes a core if one is free.
func (c Cores) tryEnter() bool {
	select {
	case c <- struct{}{}:
		return true
	default:
		return false
	}
}

// Each calls work for the numbers below n in turn, from the caller's goroutine, which
// holds a core, and from as many others as cores are free; each passes the number of its
// goroutine, from 0. It never waits for a core, so that who has codecs of its own cannot
// block itself. The first error ends it.
func (c Cores) Each(ctx context.Context, n int64, work func(worker int, i int64) error) error {
	if n == 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		return work(0, 0)
	}
	return c.eachOf(ctx, n, work)
}

func (c Cores) eachOf(ctx context.Context, n int64, work func(worker int, i int64) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	drain := func(worker int) {
		for failed.Load() == nil {
			i := next.Add(1) - 1
			if i >= n {
				return
			}
			err := ctx.Err()
			if err == nil {
				err = work(worker, i)
			}
			if err != nil {
				first := err // so that only an error takes memory of its own
				failed.CompareAndSwap(nil, &first)
			}
		}
	}
	var others sync.WaitGroup
	for worker := 1; worker < cap(c) && int64(worker) < n && c.tryEnter(); worker++ {
		others.Go(func() {
			defer c.Leave()
			drain(worker)
		})
	}
	drain(0)
	others.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
