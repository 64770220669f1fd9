// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"context"
	"sync"

	"varve.dev/zarr/store"
)

// locks are the locked directories, each with a channel that is closed on release.
type locks struct {
	mu   sync.Mutex
	held map[store.Path]chan struct{}
}

// Lock implements [store.Locker]. It does not exclude PutIf, which is atomic by itself.
func (s *Store) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		free := s.locks.take(dir)
		if free == nil {
			return sync.OnceValue(func() error { return s.locks.release(dir) }), nil
		}
		select {
		case <-free:
		case <-ctx.Done():
		}
	}
}

// take locks dir and returns nil, or returns a channel that is closed when its holder
// releases it.
func (l *locks) take(dir store.Path) (busy <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if free, held := l.held[dir]; held {
		return free
	}
	l.held[dir] = make(chan struct{})
	return nil
}

func (l *locks) release(dir store.Path) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.held[dir])
	delete(l.held, dir)
	return nil
}
