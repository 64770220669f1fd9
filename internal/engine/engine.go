// Package engine moves elements between memory and chunks: one scheduler for reads and
// writes, with bounded goroutines, a budget of bytes taken from the actual sizes of the
// chunks, and pooled buffers. It knows chunks by their keys and nothing of metadata
// documents.
package engine

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
)

// Array is what the engine has to know of an array. It is immutable and may be used from
// several goroutines at once.
type Array struct {
	Store store.Store
	Path  store.Path
	Grid  *grid.Grid
	Keys  metadata.KeyEncoding
	Chain *codec.Chain
	Fill  []byte        // one element, as it stands in memory ([codec.Spec.Element])
	Size  int           // bytes of it ([codec.Spec.Width])
	Heap  *strided.Heap // an empty one, where elements differ in length

	Concurrency int   // requests in flight, or chunks where the store is near; 0 is chosen from what the store is
	Budget      int64 // bytes in flight; 0 is chosen from the chunks that are touched
	MaxChunk    int64 // most bytes of one decoded chunk
	KeepFill    bool  // chunks that hold only the fill value are stored
	// RequireChunks makes reading a chunk that is not stored [ErrMissing].
	RequireChunks bool
	Block         int64 // bytes of a chunk that is not encoded that are read at a time; 0 is chosen from what the store is
	Gap, Span     int64 // how ranges of one stored chunk are put together; 0 is chosen from what the store is

	Observer observe.Observer // is told of chunks that are coded, unless it is nil; of the store there is one of its own

	ratio budget.Ratio // of stored chunks to decoded ones
}

// ChunkError says which chunk an operation failed on.
type ChunkError struct {
	Key   string
	Index []int64
	Err   error
}

// Error returns index and key of the chunk, and what went wrong.
func (e *ChunkError) Error() string { return fmt.Sprintf("chunk %v (%s): %v", e.Index, e.Key, e.Err) }

// Unwrap returns what went wrong.
func (e *ChunkError) Unwrap() error { return e.Err }

// Key returns the key of the chunk at index.
func (a *Array) Key(index []int64) store.Key {
	var room [64]byte
	return a.Path.MustKey(string(a.Keys.AppendKey(room[:0], index)))
}

// ChunkBytes returns the number of bytes of a decoded chunk of the given shape, or
// [ErrLimit].
func (a *Array) ChunkBytes(shape []int64) (int64, error) {
	n, ok := checked.Product(shape...)
	if ok {
		n, ok = checked.Mul(n, int64(a.Size))
	}
	if !ok || n > a.MaxChunk {
		return 0, fmt.Errorf("%w: a chunk of shape %v has more than %d bytes (Limits.Chunk)", ErrLimit, shape, a.MaxChunk)
	}
	return n, nil
}

// minBudget is the least that is allowed to be in flight where the caller says nothing.
const minBudget = 64 << 20

// run is what the workers of one operation share.
type run struct {
	*Array
	requests  requests
	bytes     *budget.Budget
	share     int64 // what every worker can have of it for what it fetches, while all cores decode
	cores     codec.Cores
	most      int64 // bytes that reading one chunk of inner chunks takes at most: a longer one comes in ranges
	workers   int
	since     time.Time // the grid is known to be right for chunks that were written before
	suspicion atomic.Int32
}

// newRun prepares an operation that touches chunks of the box, at most as many as most.
func (a *Array) newRun(cells grid.Box, most int64) *run {
	if n, ok := cells.Len(); ok {
		most = min(most, n)
	}
	r := &run{Array: a, most: math.MaxInt64, cores: codec.NewCores()}
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

// newReading is newRun of an operation that only reads. What is encoded is read in two
// steps, fetching and decoding, and only as many chunks are decoded as there are cores,
// while others fly in their place.
func (a *Array) newReading(cells grid.Box, most int64) *run {
	r := a.newRun(cells, most)
	if n, ok := cells.Len(); ok {
		most = min(most, n)
	}
	if a.Chain.Plain() {
		return r
	}
	if cap(r.requests) > 1 && most > int64(r.workers) {
		r.workers += int(min(int64(cap(r.cores)), most-int64(r.workers)))
	}
	inner := a.Chain.Inner()
	largest := a.largest(cells, inner)
	size, second := a.budgetFor(largest), a.decodeWeight(largest, false)
	all := second * int64(cap(r.cores))
	if inner != nil {
		all = a.innerWeight(cells, cap(r.cores))
		second = all // which codecs take without asking
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

// forText returns how much of a budget is kept for the elements of chunks that are
// decoded where these differ in length: more than half, so that of chunks that take even
// more there is one at a time.
func forText(size int64) int64 { return size/2 + 1 }

// innerWeight returns the bytes that so many cores take to decode inner chunks of the
// chunks of the box.
func (a *Array) innerWeight(cells grid.Box, cores int) int64 {
	shape := make([]int64, len(cells))
	for i, in := range cells {
		shape[i] = a.Grid.Axis(i).Longest(in)
	}
	p := codec.Part{Shape: shape, Part: everything(shape)}
	return a.Chain.Weight(p, cores) - a.Chain.Weight(p, 0)
}

// budgetFor returns the bytes that an operation may have in flight: what was asked for,
// else twice the processors times the largest chunk, encoded and decoded, at least 64
// MiB, up to what the memory of the machine suggests.
func (a *Array) budgetFor(largest int64) int64 {
	if a.Budget > 0 {
		return a.Budget
	}
	return min(max(minBudget, 2*int64(runtime.GOMAXPROCS(0))*2*largest), budget.Most())
}

// largest returns the bytes of the largest chunk of the box, at most those of the largest
// that is decoded at one time. Where inner says how chunks are cut into inner chunks, it
// is the largest of these.
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

// each calls work for every chunk that next hands out, from as many goroutines as there
// may be chunks in flight. next is called by one goroutine at a time. The first error
// stops all and is returned.
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
