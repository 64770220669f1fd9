package codec

import (
	"context"
	"time"

	"varve.dev/zarr/observe"
)

// Begin returns the time at which a chunk begins to be decoded or encoded, for Coded.
// Where nobody observes it reads no clock.
func (w *Work) Begin() time.Time { return observe.Start(w.Observer) }

// Coded tells the observer, if there is one, that a chunk of so many bytes of elements
// was decoded or encoded. Codecs call it for the chunks that are coded one by one within
// one, as inner chunks are; for the chunk as a whole their caller does.
func (w *Work) Coded(ctx context.Context, op observe.Op, bytes int64, start time.Time, err error) {
	observe.Done(ctx, w.Observer, op, w.Key, bytes, start, err)
}

// tell tells the observer, if there is one, of what takes no time.
func (w *Work) tell(ctx context.Context, op observe.Op, count, bytes int64) {
	if w.Observer != nil {
		w.Observer.Observe(ctx, observe.Event{Op: op, Key: w.Key, Count: count, Bytes: bytes})
	}
}

// Coalesced tells the observer, if there is one, that so many ranges of the stored chunk
// were read as one of so many bytes. One range is none of its business.
func (w *Work) Coalesced(ctx context.Context, ranges int, bytes int64) {
	if ranges > 1 {
		w.tell(ctx, observe.Coalesce, int64(ranges), bytes)
	}
}

// LookedUp tells the observer, if there is one, whether the index of the stored chunk was
// known.
func (w *Work) LookedUp(ctx context.Context, known bool) {
	op := observe.IndexMiss
	if known {
		op = observe.IndexHit
	}
	w.tell(ctx, op, 0, 0)
}
