// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"varve.dev/zarr/store"
)

// Observer receives events.
type Observer interface {
	// Observe is called when an operation has ended, with its context and in its
	// goroutine. It may be called concurrently. The operation returns only after it. It
	// must not use the store that it observes.
	Observe(ctx context.Context, e Event)
}

// Event describes an operation that has ended. It is passed by value, so that reporting
// it allocates no memory.
type Event struct {
	Op Op
	// Key is the key of the value. For a chunk that is decoded or encoded it is that of
	// the chunk or its shard. For List and Lock it is the path of the directory as a key.
	// For Commit it is empty.
	Key store.Key
	// Bytes is the number of bytes read or written. For a chunk that is decoded or
	// encoded it is the size of its decoded elements. After an error it is 0.
	Bytes int64
	// Count is the number of ranges that were merged into one, for [Coalesce] only.
	Count int64
	// Start is when the operation began, and Duration is how long it took. Both are zero
	// for [Coalesce], [IndexHit] and [IndexMiss], which take no time of their own.
	Start    time.Time
	Duration time.Duration
	// Err is nil if the operation succeeded.
	Err error
}

// Outcome classifies how an operation ended.
type Outcome uint8

// The outcomes.
const (
	OK       Outcome = iota // success
	Absent                  // the key has no value, as for a chunk of fill values only
	Conflict                // a concurrent writer was first
	Canceled                // the context was canceled or its deadline passed
	Failed                  // any other error
)

// String returns the outcome in lower case.
func (o Outcome) String() string {
	return [...]string{"ok", "absent", "conflict", "canceled", "failed"}[min(o, Failed)]
}

// Outcome returns how the operation ended.
func (e *Event) Outcome() Outcome {
	switch {
	case e.Err == nil:
		return OK
	case errors.Is(e.Err, fs.ErrNotExist):
		return Absent
	case errors.Is(e.Err, store.ErrConflict):
		return Conflict
	case errors.Is(e.Err, context.Canceled), errors.Is(e.Err, context.DeadlineExceeded):
		return Canceled
	}
	return Failed
}

// All returns an observer that passes events to several observers, in order. Nil
// observers are skipped. All returns nil if no observer remains.
func All(observers ...Observer) Observer {
	var list all
	for _, o := range observers {
		if o != nil {
			list = append(list, o)
		}
	}
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return list
}

type all []Observer

func (a all) Observe(ctx context.Context, e Event) {
	for _, o := range a {
		o.Observe(ctx, e)
	}
}
