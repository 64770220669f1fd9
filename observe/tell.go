package observe

import (
	"context"
	"time"

	"varve.dev/zarr/store"
)

// Start returns the time, for [Done]. Where nobody observes it reads no clock.
func Start(o Observer) time.Time {
	if o == nil {
		return time.Time{}
	}
	return time.Now()
}

// Done tells o, unless it is nil, of an operation that began at start and is over. After an error bytes do not count.
func Done(ctx context.Context, o Observer, op Op, key store.Key, bytes int64, start time.Time, err error) {
	if o != nil {
		done(ctx, o, op, key, bytes, start, err)
	}
}

func done(ctx context.Context, o Observer, op Op, key store.Key, bytes int64, start time.Time, err error) {
	if err != nil {
		bytes = 0
	}
	o.Observe(ctx, Event{Op: op, Key: key, Bytes: bytes, Start: start, Duration: time.Since(start), Err: err})
}
