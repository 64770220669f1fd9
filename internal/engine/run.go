// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/strided"
)

// minBudget is the smallest default budget, in bytes.
const minBudget = 64 << 20

// run is the state that the workers of one operation share.
type run struct {
	*Array
	requests  requests
	bytes     *budget.Budget
	share     int64 // bytes that each worker may fetch while all cores decode
	cores     coding.Cores
	most      int64 // bytes to read of one shard at once; longer shards are read in ranges
	workers   int
	since     time.Time // chunks that were written before have the shape of the grid
	suspicion atomic.Int32
}

// newRun prepares an operation that touches at most most chunks of the box.
func (a *Array) newRun(cells grid.Box, most int64) *run {
	if n, ok := cells.Len(); ok {
		most = min(most, n)
	}
	r := &run{Array: a, most: math.MaxInt64, cores: coding.NewCores()}
	if size := a.budgetFor(a.largest(cells, nil)); a.Chain.Varies() {
		r.bytes = budget.NewInTwo(size, forText(size))
	} else {
		r.bytes = budget.New(size)
	}
	n := a.concurrency()
	if !a.near() {
		r.requests = make(requests, n)
	}
	r.workers = int(min(int64(n), max(1, most)))
	return r
}

// newReading is newRun for an operation that only reads. It reads encoded chunks in two
// steps: many chunks are in flight, but only as many are decoded as there are cores.
func (a *Array) newReading(cells grid.Box, most int64) *run {
	r := a.newRun(cells, most)
	if n, ok := cells.Len(); ok {
		most = min(most, n)
	}
	if a.Chain.Plain() {
		return r
	}
	// While as many workers as there are cores decode, the others keep all requests in
	// flight.
	if cap(r.requests) > 1 && most > int64(r.workers) {
		r.workers += int(min(int64(cap(r.cores)), most-int64(r.workers)))
	}
	inner := a.Chain.Inner()
	largest := a.largest(cells, inner)
	size, second := a.budgetFor(largest), a.decodeWeight(largest, false)
	all := second * int64(cap(r.cores))
	if inner != nil {
		all = a.innerWeight(cells, cap(r.cores))
		second = all // codecs use it without acquiring it from the budget
	}
	if a.Chain.Varies() {
		second, all = forText(size), forText(size)
	}
	r.bytes = budget.NewInTwo(size, second)
	r.share = max(0, size-all) / int64(r.workers)
	if r.requests != nil {
		r.most = max(leastRange, (size-all)/min(fewShards, max(1, most)))
	}
	return r
}

// forText returns the part of a budget, in bytes, that is reserved for decoded elements
// of variable length. It is more than half, so larger chunks are decoded one at a time.
func forText(size int64) int64 { return size/2 + 1 }

// innerWeight returns the bytes that the cores need to decode inner chunks of the box.
func (a *Array) innerWeight(cells grid.Box, cores int) int64 {
	shape := make([]int64, len(cells))
	for i, in := range cells {
		shape[i] = a.Grid.Axis(i).Longest(in)
	}
	p := coding.Extract{Shape: shape, Part: everything(shape)}
	return a.Chain.Weight(p, cores) - a.Chain.Weight(p, 0)
}

// budgetFor returns the budget of an operation in bytes. By default it is two chunks for
// each processor, encoded and decoded, at least 64 MiB, and at most [budget.Most].
func (a *Array) budgetFor(largest int64) int64 {
	if a.Budget > 0 {
		return a.Budget
	}
	return min(max(minBudget, 2*int64(runtime.GOMAXPROCS(0))*2*largest), budget.Most())
}

// Share returns the part of the budget and of the requests, of 1, that writing the chunks
// of a box takes at most, estimated: each chunk decoded, encoded, and once for every
// codec, and one request for each.
func (a *Array) Share(cells grid.Box) float64 {
	if a.Chain.Varies() {
		return 1
	}
	bytes, chunks := float64(a.Size)*float64(2+a.Chain.Buffers()), 1.0
	for i, in := range cells {
		bytes *= float64(a.Grid.Axis(i).Longest(in)) * float64(in.Len())
		chunks *= float64(in.Len())
	}
	requests := InFlight(a.Store, a.Concurrency, runtime.GOMAXPROCS(0))
	return min(1, max(bytes/float64(a.budgetFor(a.largest(cells, nil))), chunks/float64(requests)))
}

// largest returns the bytes of the largest decoded chunk of the box, at most MaxChunk. If
// inner has the cuts of inner chunks, it returns the bytes of the largest inner chunk.
func (a *Array) largest(cells grid.Box, inner []grid.Cut) int64 {
	n := int64(a.Size)
	for i, in := range cells {
		length := a.Grid.Axis(i).Longest(in)
		if inner != nil {
			if cut, err := grid.NewAxis(length, inner[i]); err == nil {
				length = cut.Longest(grid.Interval{Stop: cut.Chunks()})
			}
		}
		var ok bool
		if n, ok = checked.Mul(n, length); !ok {
			return a.MaxChunk
		}
	}
	return min(n, a.MaxChunk)
}

// each calls work, in several goroutines, for every chunk that next sets. Calls to next
// do not overlap. The first error stops all goroutines and is returned.
func each[W any](ctx context.Context, workers int, next func(*W) bool, newWorker func() *W, work func(context.Context, *W) error) error {
	if workers <= 1 {
		return drain(ctx, newWorker(), next, work)
	}
	var mu sync.Mutex
	locked := func(w *W) bool {
		mu.Lock()
		defer mu.Unlock()
		return next(w)
	}
	group, ctx := parallel.New(ctx)
	for range workers {
		group.Go(func() error { return drain(ctx, newWorker(), locked, work) })
	}
	return group.Wait(nil)
}

func drain[W any](ctx context.Context, w *W, next func(*W) bool, work func(context.Context, *W) error) error {
	for next(w) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := work(ctx, w); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// decodeWeight returns the bytes that decoding a chunk of n bytes takes besides its
// stored form. inPlace means that it is decoded into the caller's memory.
func (a *Array) decodeWeight(n int64, inPlace bool) int64 {
	steps := a.Chain.Buffers()
	if !inPlace {
		steps++
	}
	return n * int64(steps)
}

// everything returns the part that is a whole chunk.
func everything(shape []int64) strided.Part {
	p := strided.Part{Start: make([]int64, len(shape)), Step: make([]int64, len(shape)), Count: shape}
	for i := range p.Step {
		p.Step[i] = 1
	}
	return p
}
