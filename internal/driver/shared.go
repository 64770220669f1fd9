// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"sync"
)

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
