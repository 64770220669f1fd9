// SPDX-License-Identifier: Apache-2.0

// Package driver has what the drivers of this project share and package store does not
// export: locations, holders of locks, answers of services and what became of a change
// whose answer was lost, tokens that requests share, pages of listings, and values made
// of parts.
//
// The drivers in nested modules may be taken at another version than the core, so the
// names of this package stay.
package driver

import (
	"context"
	"io"
	"net/http"
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

// Shared asks a question for all who want its answer at the same time, such as for an
// access token. It may take long, and nobody waits for it longer than its own context.
type Shared[T any] struct {
	mu     sync.Mutex
	asking *question[T] // nil if nothing is asked
}

// question is a question that is asked.
type question[T any] struct {
	done   chan struct{}
	answer T
	err    error
}

// Get returns the answer of known, if it has one, or else that of ask. Neither runs while
// another ask does. ask continues if those who asked give up. known may be nil.
func (s *Shared[T]) Get(ctx context.Context, known func() (T, bool), ask func() (T, error)) (none T, err error) {
	s.mu.Lock()
	if s.asking == nil && known != nil {
		if answer, ok := known(); ok {
			s.mu.Unlock()
			return answer, nil
		}
	}
	q := s.asking
	if q == nil {
		q = &question[T]{done: make(chan struct{})}
		s.asking = q
		go s.ask(q, ask)
	}
	s.mu.Unlock()
	select {
	case <-q.done:
		return q.answer, q.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (s *Shared[T]) ask(q *question[T], ask func() (T, error)) {
	q.answer, q.err = ask()
	s.mu.Lock()
	s.asking = nil
	s.mu.Unlock()
	close(q.done)
}

// Private is a store whose values only its own process reads, such as a transaction. What
// was superseded there needs no grace.
type Private interface{ IsPrivate() bool }

// IsPrivate reports whether only this process reads the values of a store.
func IsPrivate(s store.Store) bool {
	p, ok := store.Driver(s).(Private)
	return ok && p.IsPrivate()
}

// Client is what the store of package httpstore is for a driver of an object store. Its
// requests share the policy, the limiter and the connections with its reads.
type Client interface {
	store.Store
	store.Stater
	store.Describer
	io.Closer
	// Do makes attempts of an operation as Get does: within the policy and its limiter,
	// and ending an attempt in which Send moves no bytes for the time of Options.Stall.
	// Attempts send their requests with the context that they get.
	Do(ctx context.Context, attempt func(ctx context.Context) error) error
	// Send sends one request of an attempt of Do. It neither adds headers of the options
	// nor follows redirections. An error is [Temporary] if the connection was lost: then
	// the service may or may not have acted on the request. The caller closes the body,
	// and passes an error of its reader to [Network].
	Send(r *http.Request) (*http.Response, error)
	// Local returns how times of the service are converted to times of this machine,
	// given the headers of an answer.
	Local(h http.Header) func(at time.Time) time.Time
}

// ClientOf returns a store of package httpstore as a client, or the error of opening it.
func ClientOf(s store.Store, err error) (Client, error) {
	if err != nil {
		return nil, err
	}
	return s.(Client), nil
}
