package zarr

import (
	"sync"
	"sync/atomic"
)

const (
	// batchesAhead is how many of the things that are opened at a time make a batch, so
	// that few wait for the last of it.
	batchesAhead = 4
	// bytesAhead is how many bytes a batch may come to: when it has so many, no more is
	// opened for it.
	bytesAhead = 1 << 20
)

// inBatches calls open for the numbers below n, several at a time, and then yield with
// what it returned, in order, until that is false. It reports whether yield never was.
// Batches begin short, since a caller may want the first few only, and while yield runs
// nothing else does. open also returns how many bytes of memory its result takes.
func inBatches[T any](n, atATime int, open func(i int) (v T, bytes int), yield func(T) bool) bool {
	atATime = min(atATime, n)
	longest := min(n, atATime*batchesAhead)
	if atATime == 1 {
		longest = 1
	}
	results := make([]T, 0, longest)
	for done, length := 0, 1; done < n; length = min(2*length, longest) {
		results = results[:min(length, n-done)]
		opened := batch(results, atATime, func(i int) (T, int) { return open(done + i) })
		for i := range opened {
			if !yield(results[i]) {
				return false
			}
		}
		clear(results)
		done += opened
	}
	return true
}

// batch opens as many results as have their place in the memory that there is for a
// batch, the first in any case, and returns how many.
func batch[T any](results []T, atATime int, open func(i int) (v T, bytes int)) int {
	var claimed, taken atomic.Int64
	work := func() {
		for taken.Load() < bytesAhead {
			i := int(claimed.Add(1)) - 1
			if i >= len(results) {
				return
			}
			var bytes int
			results[i], bytes = open(i)
			taken.Add(int64(bytes))
		}
	}
	var others sync.WaitGroup
	for range min(atATime, len(results)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return min(int(claimed.Load()), len(results))
}
