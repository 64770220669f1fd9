// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"time"

	"varve.dev/zarr/observe"
)

// Begin returns the time at which coding a chunk begins, for Coded. It reads the clock
// only if there is an observer.
func (w *Work) Begin() time.Time { return observe.Start(w.Observer) }

// Coded tells the observer, if any, that a chunk with so many bytes of elements was
// decoded or encoded. Codecs call it for the inner chunks that they code one by one;
// their caller calls it for the chunk as a whole.
func (w *Work) Coded(ctx context.Context, op observe.Op, bytes int64, start time.Time, err error) {
	observe.Done(ctx, w.Observer, op, w.Key, bytes, start, err)
}

// tell tells the observer, if any, of an event without a duration.
func (w *Work) tell(ctx context.Context, op observe.Op, count, bytes int64) {
	if w.Observer != nil {
		w.Observer.Observe(ctx, observe.Event{Op: op, Key: w.Key, Count: count, Bytes: bytes})
	}
}

// Coalesced tells the observer, if any, that so many ranges of the stored chunk were read
// as one of so many bytes. A single range is no event.
func (w *Work) Coalesced(ctx context.Context, ranges int, bytes int64) {
	if ranges > 1 {
		w.tell(ctx, observe.Coalesce, int64(ranges), bytes)
	}
}

// LookedUp tells the observer, if any, whether the index of the stored chunk was cached.
func (w *Work) LookedUp(ctx context.Context, cached bool) {
	op := observe.IndexMiss
	if cached {
		op = observe.IndexHit
	}
	w.tell(ctx, op, 0, 0)
}
