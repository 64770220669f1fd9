// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"

	"varve.dev/zarr/store"
)

// source is a [coding.Source] that reads one version of a stored chunk.
type source struct {
	store    store.Store
	key      store.Key
	requests requests

	mu     sync.Mutex
	pinned *store.Pinned
	expect store.Info
	info   store.Info // of the version that was read
}

// source returns the source of the chunk at key.
func (w *worker) source(key store.Key) *source {
	return &source{store: w.Store, key: key, requests: w.requests}
}

// Key implements [coding.Source].
func (s *source) Key() store.Key { return s.key }

// Expect implements [coding.Source].
func (s *source) Expect(info store.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pinned != nil {
		s.pinned.Close()
	}
	s.pinned, s.expect, s.info = nil, info, store.Info{}
}

// Read implements [coding.Source].
func (s *source) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, store.Info, error) {
	s.mu.Lock()
	if s.pinned == nil {
		s.pinned = store.Pin(s.store, s.key, s.expect)
	}
	// Do not hold the lock during the request.
	pinned := s.pinned
	s.mu.Unlock()
	if err := s.requests.enter(ctx); err != nil {
		return nil, store.Info{}, err
	}
	out, info, err := pinned.Read(ctx, q, dst)
	s.requests.leave()
	if err == nil {
		s.mu.Lock()
		s.info = info
		s.mu.Unlock()
	}
	return out, info, err
}

// close closes the pinned version, and returns the information about it.
func (s *source) close() (store.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pinned == nil {
		return s.info, nil
	}
	return s.info, s.pinned.Close()
}
