// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
)

// Checked is the result of checking one stored chunk.
type Checked struct {
	Index []int64
	*codec.Check
}

type watcherKey struct{}

// Watching returns a context for checks that decode chunks, in which r notes what sound
// ones hold, and gets the version that was read. Of a chunk that is not decoded as a
// whole it gets no note.
func Watching(ctx context.Context, r Recorder) context.Context {
	return context.WithValue(ctx, watcherKey{}, r)
}

// Check looks for faults in the stored chunk at index, which must be a chunk of the grid.
// It returns [fs.ErrNotExist] if the chunk is not stored.
func (a *Array) Check(ctx context.Context, index []int64, deep bool) (*codec.Check, error) {
	r := a.newRun(grid.BoxOf(a.Grid.Chunks()), 1)
	w := newWorker(r)
	copy(w.Visit.Chunk, index)
	out, err := w.check(ctx, deep)
	return out, w.fail(err)
}

// Checking says how to check chunks.
type Checking struct {
	Deep bool // decode them
	// Unread is the number of chunks in a row that the store may fail to read.
	Unread int64
	// Sample is the part of the chunks to check, chosen at random; 0 means all.
	Sample float64
	// Numbers are the chunks to check. A sample is taken of these.
	Numbers Numbers
}

// CheckAll checks stored chunks and yields the results in no order. If the store fails to
// read a chunk, CheckAll reports that as a fault of the chunk. If it fails for too many
// chunks in a row, CheckAll yields the error and ends.
func (a *Array) CheckAll(ctx context.Context, how Checking) iter.Seq2[Checked, error] {
	return func(yield func(Checked, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		found, end := make(chan Checked), make(chan error, 1)
		go func() {
			// end has room for the result, so the goroutine ends even if the caller
			// never receives it.
			end <- a.checkAll(ctx, how, found)
			close(found)
		}()
		for c := range found {
			if !yield(c, nil) {
				cancel()
				for range found { // let the workers finish
				}
				return
			}
		}
		if err := <-end; err != nil {
			yield(Checked{}, err)
		}
	}
}

func (a *Array) checkAll(ctx context.Context, how Checking, found chan<- Checked) (err error) {
	defer parallel.Recover(&err)
	boxes, err := how.Numbers.Boxes(a.Grid.Chunks())
	if err != nil {
		return err
	}
	var unread atomic.Int64 // chunks in a row
	r := a.newRun(grid.BoxOf(a.Grid.Chunks()), math.MaxInt64)
	return eachIndex(ctx, r.workers, a.mayBeStoredIn(ctx, boxes),
		func(w *worker, index []int64) bool {
			return (how.Sample <= 0 || rand.Float64() < how.Sample) && w.moveTo(index)
		},
		func() *worker { return newWorker(r) },
		func(ctx context.Context, w *worker) error {
			out, err := w.check(ctx, how.Deep)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			// One unreadable chunk must not end the check. But if the store is down, do
			// not try each of millions of chunks.
			switch {
			case err == nil:
				unread.Store(0)
			case ctx.Err() != nil:
			case how.Unread > 0 && isLost(err), isUnreadable(err) && unread.Add(1) <= how.Unread:
				out, err = &codec.Check{Faults: []codec.Fault{{Err: err}}}, nil
			}
			if err != nil {
				return w.fail(err)
			}
			select {
			case found <- Checked{slices.Clone(w.Visit.Chunk), out}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
}

// isLost reports whether an error means that the foreign file with the bytes of a chunk
// has changed or is missing. It is one error of that file, however many chunks the file
// has.
func isLost(err error) bool {
	var of *fault.Source
	return errors.As(err, &of) && errors.Is(err, store.ErrConflict)
}

// isUnreadable reports whether an error means that the store failed to read a value.
func isUnreadable(err error) bool {
	for _, other := range []error{store.ErrConflict, store.ErrUnsupported, codec.ErrLimit, codec.ErrUnsupported, context.Canceled} {
		if errors.Is(err, other) {
			return false
		}
	}
	return err != nil
}

// checkTries is the number of attempts to check a chunk that concurrent writers replace.
const checkTries = 16

// check looks for faults in the chunk.
func (w *worker) check(ctx context.Context, deep bool) (out *codec.Check, err error) {
	n, err := w.begin()
	if err != nil && !w.Chain.Divided() && !w.Chain.CheckedInRanges() {
		return nil, fmt.Errorf("%w; its codecs decode only whole chunks: raise the limit to check it", err)
	}
	weight, err := w.bytes.Acquire(ctx, w.checkWeight(n))
	if err != nil {
		return nil, err
	}
	defer w.bytes.Release(weight)
	for range checkTries {
		// A source pins the version that it reads first, so each attempt needs a new one.
		src := w.source(w.key)
		if watcher, ok := ctx.Value(watcherKey{}).(Recorder); ok && deep {
			if w.record = watcher.Begin(ctx, w.Visit.Chunk); w.record != nil {
				w.record.Reset()
			}
		}
		out, err = w.Chain.Check(ctx, w.work(weight), w.Cell.Encoded, src, deep)
		info, closeErr := src.close()
		if err == nil && closeErr != nil {
			return nil, closeErr
		}
		if err == nil {
			out.Bytes = info.Size
		}
		if err == nil && len(out.Faults) == 0 && w.record != nil {
			w.record.Stored(ctx, info.Version, store.Version{})
		}
		if !errors.Is(err, store.ErrConflict) || isLost(err) {
			break // else a concurrent writer replaced the chunk during the check
		}
	}
	return out, err
}

// checkWeight estimates the bytes of memory that checking a chunk of n decoded bytes
// takes. n is 0 if these exceed the limit.
func (w *worker) checkWeight(n int64) int64 {
	if w.Chain.CheckedInRanges() && (n == 0 || n > coding.CheckRange) {
		return coding.CheckRange
	}
	if !w.Chain.Divided() {
		return n * int64(2+w.Chain.Buffers())
	}
	one := wholePart(w.Cell.Encoded)
	one.Count = one.Step
	p := coding.Extract{Shape: w.Cell.Encoded, Part: wholePart(w.Cell.Encoded)}
	all := w.Chain.Weight(p, cap(w.cores))
	p.Part = one
	return min(all, w.Chain.Weight(p, cap(w.cores))+4*span)
}
