// SPDX-License-Identifier: Apache-2.0

package parallel

import (
	"sync"
	"sync/atomic"
)

const (
	// batchesAhead is the length of a batch in multiples of the calls that run at once.
	// Longer batches wait less often for their slowest call.
	batchesAhead = 4
	// bytesAhead bounds the memory of a batch: no more calls start once it holds so much.
	bytesAhead = 1 << 20
)

// Prefetch calls open for the numbers below n, at most atATime at once, and passes the
// results to yield in order until yield returns false. It reports whether yield always
// returned true. It works in batches: no call of open runs while yield does. The first
// batch has first calls, and the next ones are longer, because a caller may want few
// results. open also returns the size of its result in bytes.
func Prefetch[T any](n, first, atATime int, open func(i int) (v T, bytes int), yield func(T) bool) bool {
	atATime = min(atATime, n)
	longest := min(n, atATime*batchesAhead)
	if atATime == 1 {
		// Without concurrency, a longer batch would only delay the first result.
		longest = 1
	}
	results := make([]T, 0, longest)
	for done, length := 0, min(first, longest); done < n; length = min(2*length, longest) {
		results = results[:min(length, n-done)]
		opened := batch(results, atATime, func(i int) (T, int) { return open(done + i) })
		for i := range opened {
			if !yield(results[i]) {
				return false
			}
		}
		// The caller has the results now. Do not keep them in memory.
		clear(results)
		done += opened
	}
	return true
}

// batch fills results from the front until they hold bytesAhead bytes, at least the
// first one, and returns how many it filled.
func batch[T any](results []T, atATime int, open func(i int) (v T, bytes int)) int {
	var claimed, taken atomic.Int64
	work := func() {
		for taken.Load() < bytesAhead {
			// Claims are in order, so the results before the last claimed one have no
			// gap.
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
	// The calling goroutine works, too, so one call at a time needs no goroutine.
	work()
	others.Wait()
	// A goroutine that finds no more work has advanced the counter, perhaps past the end.
	return min(int(claimed.Load()), len(results))
}
