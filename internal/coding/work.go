// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Work limits the resources that one call of a codec may use. The calls of one operation
// share its cores.
type Work struct {
	Cores Cores
	// Bytes limits the memory that the call holds at once, besides the caller's. A single
	// step that needs more runs alone.
	Bytes int64
	// Memory is the budget of the operation. Elements of variable length take their
	// memory from it.
	Memory   *budget.Budget
	Requests int // largest number of requests in flight, at least 1

	// Two ranges of a stored chunk are read as one if at most Gap bytes lie between them
	// and the joined range has at most Span bytes. A chunk of at most Small bytes is read
	// whole. With an index at the end of a chunk, Guess bytes are read.
	Gap, Span, Small, Guess int64

	// Block is the number of bytes to read at a time if a request costs almost nothing.
	// They are still in the processor's cache when they are moved to their place. 0 reads
	// as many as Span and Bytes permit.
	Block int64

	// Observer, if not nil, gets the events of coding the stored chunk at Key.
	Observer observe.Observer
	Key      store.Key

	// Notes, if not nil, takes the elements of inner chunks that are encoded.
	Notes Notes
}

// Notes takes what inner chunks of a stored chunk hold after an edit. Several goroutines
// may call Note.
type Notes interface {
	// Reset forgets everything: the chunk is encoded again from another version.
	Reset()
	// Note takes the elements of the inner chunk at an index, in its encoded shape. A
	// view without data means that it changes, and that nobody has its elements.
	Note(index []int64, elems strided.View)
}

// Grow is [Chain.Grow] within the memory of the operation, for a chunk with n bytes
// of references. While it runs, decode must not wait for other calls, because these may
// wait for the memory that it holds.
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

// Cores limits the number of goroutines that encode and decode at once. More would only
// take more memory, because every running codec has its own tables. Waiting for the store
// takes no core.
type Cores chan struct{}

// NewCores returns GOMAXPROCS cores.
func NewCores() Cores { return make(Cores, runtime.GOMAXPROCS(0)) }

// Enter waits for a core and takes it.
func (c Cores) Enter() { c <- struct{}{} }

// Leave returns a core.
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

// Each calls work once for each i below n. It stops at the first error and returns it.
// Calls run in the caller's goroutine, which holds a core, and in one more goroutine for
// each free core; worker numbers these from 0. Each never waits for a core, so nested
// codecs cannot deadlock.
func (c Cores) Each(ctx context.Context, n int64, work func(worker int, i int64) error) error {
	// Fast path: a single call needs no other goroutine.
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
	some := func(worker int) (err error) {
		defer parallel.Recover(&err)
		for failed.Load() == nil {
			i := next.Add(1) - 1
			if i >= n {
				return nil
			}
			if err = ctx.Err(); err == nil {
				err = work(worker, i)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	drain := func(worker int) {
		if err := some(worker); err != nil {
			first := err // escapes to the heap, so copy only if there is an error
			failed.CompareAndSwap(nil, &first)
		}
	}
	var others sync.WaitGroup
	// Take only cores that are free now. Waiting for a core while holding one could
	// deadlock.
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

// Source reads ranges of one version of a stored chunk.
type Source interface {
	// Key returns the key of the chunk. A codec may use it as the key of a cache.
	Key() store.Key
	// Expect pins the version of info: reads that find another version fail with
	// [store.ErrConflict]. With the zero Info, the next read pins the version it finds.
	Expect(info store.Info)
	// Read appends the bytes that q selects to dst. All reads come from one version. It
	// fails with [fs.ErrNotExist] if the chunk is not stored, and with
	// [store.ErrConflict] if it was replaced after the first read.
	Read(ctx context.Context, q store.Request, dst []byte) ([]byte, store.Info, error)
}

// Stored is a stored chunk or inner chunk in memory. A caller that passes it as a Source
// holds a core ([Work.Cores]).
type Stored []byte

// Key returns the zero Key.
func (s Stored) Key() store.Key { return store.Key{} }

// Expect does nothing, because the bytes do not change.
func (s Stored) Expect(store.Info) {}

// Read appends the bytes that q selects to dst.
func (s Stored) Read(_ context.Context, q store.Request, dst []byte) ([]byte, store.Info, error) {
	off, n, err := q.Resolve(int64(len(s)))
	if err != nil {
		return nil, store.Info{}, err
	}
	return append(dst, s[off:off+n]...), store.Info{Size: int64(len(s))}, nil
}

// scratch is the small memory that coding one chunk takes. It comes from a pool, so that
// coding a chunk allocates nothing.
type scratch struct {
	numbers        []int64 // of shapes
	shapes         [][]int64
	block          codec.Block // passed to a codec by pointer, so it would escape
	offsets        []int64     // of elements that differ in length
	length, stride [1]int64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func newScratch() *scratch { return scratches.Get().(*scratch) }

// free puts s back; the caller must not use its memory again. It drops references to the
// memory of others.
func (s *scratch) free() {
	clear(s.shapes)
	s.block = codec.Block{}
	scratches.Put(s)
}

// longer is the ratio of decoded to stored length of the last chunk, in units of 1/256.
// It is zero before the first chunk.
type longer struct{ atomic.Int64 }

// times estimates the decoded length of a chunk of n stored bytes, plus an eighth.
func (l *longer) times(n int64) int64 {
	ratio := l.Load()
	if ratio == 0 {
		return firstTry * n
	}
	more, ok := checked.Mul(n, ratio+ratio/8)
	if !ok {
		return math.MaxInt64
	}
	return more>>8 + lengthBytes
}

// saw records the decoded and stored length of a chunk.
func (l *longer) saw(decoded, stored int64) {
	if more, ok := checked.Mul(decoded, 1<<8); ok && stored > 0 {
		l.Store(more/stored + 1)
	}
}

// lengthBytes is the number of bytes in which codecs store the length of an element.
const lengthBytes = 4

// firstTry is the first guess of the ratio of decoded to stored length.
const firstTry = 8

// Start returns the time for [Done]. It reads no clock if o is nil.
func Start(o observe.Observer) time.Time {
	if o == nil {
		return time.Time{}
	}
	return time.Now()
}

// Done reports an operation that began at start and has ended. It does nothing if o is
// nil. After an error bytes are not reported.
func Done(ctx context.Context, o observe.Observer, op observe.Op, key store.Key, bytes int64, start time.Time, err error) {
	if o != nil {
		done(ctx, o, op, key, bytes, start, err)
	}
}

// done is the part of Done that is too long to be inlined.
func done(ctx context.Context, o observe.Observer, op observe.Op, key store.Key, bytes int64, start time.Time, err error) {
	if err != nil {
		bytes = 0
	}
	o.Observe(ctx, observe.Event{Op: op, Key: key, Bytes: bytes, Start: start, Duration: time.Since(start), Err: err})
}

// Begin returns the present time, as the start time for Coded. It reads the clock only if
// there is an observer.
func (w *Work) Begin() time.Time { return Start(w.Observer) }

// Coded reports to the observer, if any, that a chunk with the given bytes of elements
// was decoded or encoded. Codecs call it for inner chunks that they code separately.
// Their caller calls it for the whole chunk.
func (w *Work) Coded(ctx context.Context, op observe.Op, bytes int64, start time.Time, err error) {
	Done(ctx, w.Observer, op, w.Key, bytes, start, err)
}

// report reports an event without a duration to the observer, if any.
func (w *Work) report(ctx context.Context, op observe.Op, count, bytes int64) {
	if w.Observer != nil {
		w.Observer.Observe(ctx, observe.Event{Op: op, Key: w.Key, Count: count, Bytes: bytes})
	}
}

// Coalesced reports to the observer, if any, that several ranges of the stored chunk were
// read as one range of the given bytes. A single range is not an event.
func (w *Work) Coalesced(ctx context.Context, ranges int, bytes int64) {
	if ranges > 1 {
		w.report(ctx, observe.Coalesce, int64(ranges), bytes)
	}
}

// LookedUp reports to the observer, if any, whether the index of the stored chunk was
// cached.
func (w *Work) LookedUp(ctx context.Context, cached bool) {
	op := observe.IndexMiss
	if cached {
		op = observe.IndexHit
	}
	w.report(ctx, op, 0, 0)
}
