// SPDX-License-Identifier: Apache-2.0

// Package observe reports what the library does: every request to a store and every chunk
// that is decoded or encoded, with its key, its bytes, its duration and its outcome.
//
// An [Observer] receives an [Event] for each of them. Set it when nodes are opened
// (zarr.Options.Observer), or wrap it around a single store (package store/observed).
// [Counter] adds events up, [Log] writes them to log/slog, and the module
// varve.dev/zarr/observe/otel passes them to OpenTelemetry.
//
//	var c observe.Counter
//	a, err := zarr.OpenArray(ctx, location, &zarr.Options{Observer: &c})
//	// Use a.
//	fmt.Println(c.Stats())
//
// Without an observer nothing is measured and no clock is read.
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

// Op is an operation.
type Op uint8

// Operations of stores, from Get to Commit, are named after the methods of package store.
// Decode and Encode are the work of codecs.
const (
	Get      Op = iota // a value, or a range of it, was read
	Open               // a value was opened to be read in pieces
	Read               // a range of an opened value was read
	Stat               // size and version of a value were requested
	List               // a directory was listed, for as long as the caller took entries
	Put                // a value was written
	PutIf              // a value was written on a condition
	Delete             // a value was removed
	DeleteIf           // a value was removed on a condition
	Splice             // a value was made of its older version and new bytes
	Assemble           // a value was made of ranges of other values and new bytes
	Patch              // bytes within a value were overwritten
	Copy               // a value was copied without passing through this program
	Clone              // a value was stored under another key as well; Bytes are those that were copied
	Lock               // a lock was acquired, or the wait for it failed
	Commit             // a batch was made durable

	Decode // a chunk, or an inner chunk of a shard, was decoded
	Encode // a chunk, or an inner chunk of a shard, was encoded

	Coalesce  // Count ranges of a shard were read as one
	IndexHit  // the index of a shard was in the cache
	IndexMiss // the index of a shard was read

	ops // number of operations
)

var opNames = [ops]string{
	"get", "open", "read", "stat", "list", "put", "put_if", "delete", "delete_if", "splice", "assemble", "patch", "copy", "clone", "lock", "commit",
	"decode", "encode", "coalesce", "index_hit", "index_miss",
}

// String returns the name of the operation in lower case, such as "get" or "put_if".
func (o Op) String() string {
	if o < ops {
		return opNames[o]
	}
	return "unknown"
}

// IsRequest reports whether the operation is a request to a store, whose time is spent in
// I/O.
func (o Op) IsRequest() bool { return o <= Commit }

// isCodec reports whether the operation is the work of codecs, whose time is spent in the
// processor.
func (o Op) isCodec() bool { return o == Decode || o == Encode }

// reads reports whether the bytes of the event were read from a store.
func (o Op) reads() bool { return o == Get || o == Read }

// copies reports whether the bytes of the event were copied without passing through this
// program.
func (o Op) copies() bool { return o == Copy || o == Clone }

// writes reports whether the bytes of the event were written to a store.
func (o Op) writes() bool {
	return o == Put || o == PutIf || o == Splice || o == Assemble || o == Patch
}
