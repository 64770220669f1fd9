// SPDX-License-Identifier: Apache-2.0

// Package engine moves elements between memory and stored chunks. It schedules reads and
// writes with a bounded number of goroutines, a budget of bytes, and pooled buffers. It
// handles the keys of chunks, but no metadata documents.
package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/placement"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// ErrLimit means that a chunk or an operation exceeds a limit of the [Array].
var ErrLimit = codec.ErrLimit

// Array describes an array to the engine. It is immutable and safe for concurrent use.
type Array struct {
	Store store.Store
	Path  store.Path
	Grid  *grid.Grid
	Keys  metadata.KeyEncoding
	Chain *coding.Chain
	Fill  []byte        // one element in memory ([codec.Spec.Element])
	Size  int           // bytes of an element in memory ([codec.Spec.Width])
	Heap  *strided.Heap // an empty heap, nil unless elements differ in length

	// Concurrency is the number of requests in flight or, for a near store, of chunks in
	// work. 0 chooses by the store.
	Concurrency int
	Budget      int64 // bytes in flight; 0 chooses by the touched chunks
	MaxChunk    int64 // largest decoded chunk, in bytes
	KeepFill    bool  // store chunks that hold only the fill value
	Fenced      bool  // other programs may grow the array, and the store has no locks
	// RequireChunks makes reading a chunk that is not stored fail with [ErrMissing].
	RequireChunks bool
	// Block is the number of bytes of an unencoded chunk to read at a time. 0 chooses by
	// the store.
	Block int64
	// Gap and Span control how ranges of one stored chunk are joined ([coding.Work]). 0
	// chooses by the store.
	Gap, Span int64

	// Observer, if not nil, gets an event for each chunk that is decoded or encoded.
	Observer observe.Observer

	// Recorder, if not nil, notes what chunks hold when they are stored.
	Recorder Recorder

	ratio budget.Ratio // of the bytes of stored chunks to those of decoded ones
}

// ChunkError is an error of an operation on one chunk.
type ChunkError struct {
	Key   string
	Index []int64
	Err   error
}

// Error returns the index and the key of the chunk, and the message of Err, which may
// begin with the key, too.
func (e *ChunkError) Error() string {
	return fmt.Sprintf("chunk %v (%s): %s", e.Index, e.Key, strings.TrimPrefix(e.Err.Error(), e.Key+": "))
}

// Unwrap returns Err.
func (e *ChunkError) Unwrap() error { return e.Err }

// Key returns the key of the chunk at index.
func (a *Array) Key(index []int64) store.Key {
	var room [64]byte
	return a.Path.MustKey(string(a.Keys.AppendKey(room[:0], index)))
}

// ChunkBytes returns the bytes of a decoded chunk of the given shape. It returns
// [ErrLimit] if they exceed MaxChunk.
func (a *Array) ChunkBytes(shape []int64) (int64, error) {
	n, ok := checked.Product(shape...)
	if ok {
		n, ok = checked.Mul(n, int64(a.Size))
	}
	if !ok || n > a.MaxChunk {
		return 0, fmt.Errorf("%w: a chunk of shape %v has more than %s ("+remedy.LimitsChunk+")", ErrLimit, shape, quantity.Count(a.MaxChunk, "bytes"))
	}
	return n, nil
}

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
	p := coding.Extract{Shape: shape, Part: wholePart(shape)}
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

// eachIndex is each for the chunks that indices yields. take moves a worker to a chunk,
// or returns false to skip it. An error of indices ends the operation.
func eachIndex[W any](
	ctx context.Context, workers int, indices iter.Seq2[[]int64, error], take func(w *W, index []int64) bool,
	newWorker func() *W, work func(context.Context, *W) error,
) error {
	next, stop := iter.Pull2(indices)
	defer stop()
	var listing error
	err := each(ctx, workers, func(w *W) bool {
		for {
			index, err, more := next()
			if err != nil {
				listing = err // other workers may still call next, which then has no error
			}
			if !more || err != nil {
				return false
			}
			if take(w, index) {
				return true
			}
		}
	}, newWorker, work)
	return errors.Join(listing, err)
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

// wholePart returns the part that is a whole chunk.
func wholePart(shape []int64) strided.Part {
	p := strided.Part{Start: make([]int64, len(shape)), Step: make([]int64, len(shape)), Count: shape}
	for i := range p.Step {
		p.Step[i] = 1
	}
	return p
}

// worker is the state of one goroutine, which handles one chunk at a time.
type worker struct {
	*run
	*placement.Mover
	key   store.Key
	info  store.Info // of the stored chunk that was read last
	names []byte     // memory of keys, which saves one allocation for each key

	within bool  // decode only the part
	text   int64 // room in bytes for elements of variable length; 0 is MaxChunk

	record Record  // of the chunk that is being stored, nil if nothing is noted
	layers []noted // of a shard, which were encoded before
}

func newWorker(r *run) *worker {
	return &worker{run: r, Mover: placement.NewMover(r.Grid.Rank(), r.Size)}
}

// moveTo sets the index of the chunk. It returns true, as [eachIndex] needs.
func (w *worker) moveTo(index []int64) bool {
	copy(w.Visit.Chunk, index)
	return true
}

// begin sets the cell and the key of the chunk, and returns the bytes of the decoded
// chunk. If these exceed the limit, it sets both and returns an error.
func (w *worker) begin() (int64, error) {
	w.Grid.Cell(w.Visit.Chunk, w.Cell)
	w.key, w.record, w.layers = w.cutKey(), nil, nil
	return w.ChunkBytes(w.Cell.Encoded)
}

// keyBlock is the largest size of the memory that keys are cut from, in bytes.
const keyBlock = 8 << 10

// cutKey returns the key of the chunk.
func (w *worker) cutKey() store.Key {
	// A key has the path, a prefix, and up to 20 characters for each number.
	longest := len(w.Path.String()) + 2 + 20*max(1, len(w.Visit.Chunk))
	if cap(w.names)-len(w.names) < longest {
		w.names = make([]byte, 0, max(longest, min(keyBlock, 4*cap(w.names))))
	}
	from := len(w.names)
	if dir := w.Path.String(); dir != "" {
		w.names = append(append(w.names, dir...), '/')
	}
	w.names = w.Keys.AppendKey(w.names, w.Visit.Chunk)
	key := w.names[from:] // never written again, so the unsafe string stays constant
	return store.Path{}.MustKey(unsafe.String(unsafe.SliceData(key), len(key)))
}

// fail adds the chunk to err.
func (w *worker) fail(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, coding.ErrRoom) {
		err = fmt.Errorf("%w: %w ("+remedy.LimitsChunkAndBlock+"); read a part, or raise the limits for trusted data", ErrLimit, err)
	}
	return &ChunkError{w.key.String(), slices.Clone(w.Visit.Chunk), err}
}
