// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"time"

	"varve.dev/zarr/store"
)

// Start returns the time for [Done]. It reads no clock if o is nil.
func Start(o Observer) time.Time {
	if o == nil {
		return time.Time{}
	}
	return time.Now()
}

// Done reports an operation that began at start and has ended. It does nothing if o is
// nil. After an error bytes are not reported.
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
