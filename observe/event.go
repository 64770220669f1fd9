package observe

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"varve.dev/zarr/store"
)

// Observer is told what was done.
type Observer interface {
	// Observe is called when something is over, with the context that it was done in, from the goroutine that did it: it may be
	// called from several at once, and what it takes the work takes longer. It must not use the store that it observes.
	Observe(ctx context.Context, e Event)
}

// Event is something that was done. It is passed by value, so that to tell of it takes no memory.
type Event struct {
	Op Op
	// Key is that of the value. A chunk that is coded has that of the chunk, or of its shard; the directory that is listed or locked
	// is its Path as a Key; a batch has none.
	Key store.Key
	// Bytes were read or written; of a chunk that is coded they are those of its elements, decoded. After an error they are 0.
	Bytes int64
	// Count is how many ranges became one, of [Coalesce].
	Count int64
	// Start is when it began, and Duration how long it took. Both are zero of what takes no time of its own: [Coalesce], [IndexHit], [IndexMiss].
	Start    time.Time
	Duration time.Duration
	// Err is nil where it went well.
	Err error
}

// Outcome says in a word how something ended.
type Outcome uint8

// The outcomes.
const (
	OK       Outcome = iota // it went well
	Absent                  // the key has no value, as that of a chunk which holds nothing but the fill value
	Conflict                // somebody else wrote first
	Canceled                // the caller gave up
	Failed                  // anything else
)

// String returns the outcome in lower case.
func (o Outcome) String() string {
	return [...]string{"ok", "absent", "conflict", "canceled", "failed"}[min(o, Failed)]
}

// Outcome says how the event ended.
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

// All returns an observer that tells several, in order. Those that are nil are left out.
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
