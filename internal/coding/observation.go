// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"time"

	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

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
