// SPDX-License-Identifier: Apache-2.0

// Package driver has what the drivers of this project share and package store does not
// export: errors, locations, holders of locks, and parts that are read piece by piece.
//
// The drivers in nested modules may be taken at another version than the core, so the
// names of this package stay.
package driver

import (
	"os"
	"sync"
	"time"

	"varve.dev/zarr/store"
)

// Refused returns the error of a write as an error that is [store.ErrRefused],
// too, with the same text. Without it, callers look for the outcome of the write.
//
// Call it only if the service has refused the write for lack of permission, or there are
// no credentials for it, and no earlier attempt may have taken effect.
func Refused(err error) error { return &refused{err} }

// refused is an error that is [store.ErrRefused] as well.
type refused struct{ error }

func (r *refused) Unwrap() error { return r.error }

func (r *refused) Is(target error) bool { return target == store.ErrRefused }

// Continues reports whether p begins where q ends in the same version of the same value,
// so that one copy can make both.
func Continues(p, q store.Part) bool {
	return p.Data == nil && q.Data == nil && p.Key == q.Key && p.Version == q.Version && p.Off == q.Off+q.N
}

// host is the name of this machine, "" where it has none.
var host = sync.OnceValue(func() string {
	name, _ := os.Hostname() // without a name, the holder is described by its process ID
	return name
})

// ThisProcess describes this process as the holder of a lock from now on.
func ThisProcess(operation string) store.Holder {
	return store.Holder{PID: os.Getpid(), Host: host(), Operation: operation, Since: time.Now()}
}
