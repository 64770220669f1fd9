// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"bytes"
	"context"
	"sync"

	"varve.dev/zarr/store"
)

// flights are the requests in flight for bytes that the cache does not have.
type flights struct {
	mu     sync.Mutex
	blocks map[place]*flight
	values map[question]*flight
}

// place names a small block of one version.
type place struct {
	key     store.Key
	version store.Version
	index   int64
}

// question names a read of a value whose version is not known yet.
type question struct {
	key store.Key
	q   store.Request
}

// flight is one request, for the bytes [off, end) of a value. Its result is set before
// done is closed.
type flight struct {
	off, end int64
	waiters  int // guarded by flights.mu
	done     chan struct{}
	data     []byte // nil if it failed; a copy, which readers share
	info     store.Info
}

// join returns the flight for the block at off, and whether the caller must make the
// request: then it ends before a block that another flight is for.
func (f *flights) join(key store.Key, v store.Version, off, end int64) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.blocks[place{key, v, off / small}]; other != nil {
		other.waiters++
		return other, false
	}
	if f.blocks == nil {
		f.blocks = map[place]*flight{}
	}
	own := &flight{off: off, done: make(chan struct{})}
	for own.end = off; own.end < end; own.end = min(end, own.end+small) {
		p := place{key, v, own.end / small}
		if f.blocks[p] != nil {
			break
		}
		f.blocks[p] = own
	}
	return own, true
}

// land ends a flight of blocks. A nil data means that it failed.
func (f *flights) land(key store.Key, v store.Version, own *flight, data []byte) {
	f.mu.Lock()
	for at := own.off; at < own.end; at += small {
		delete(f.blocks, place{key, v, at / small})
	}
	f.finish(own, data)
}

// ask returns the flight of a question, and whether the caller must make the request.
func (f *flights) ask(q question) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.values[q]; other != nil {
		other.waiters++
		return other, false
	}
	if f.values == nil {
		f.values = map[question]*flight{}
	}
	own := &flight{done: make(chan struct{})}
	f.values[q] = own
	return own, true
}

// answer ends the flight of a question.
func (f *flights) answer(q question, own *flight, data []byte, info store.Info) {
	f.mu.Lock()
	delete(f.values, q)
	own.info = info
	f.finish(own, data)
}

// finish sets the result of a flight that nobody can join any more. It releases the lock,
// which the caller holds.
func (f *flights) finish(own *flight, data []byte) {
	waited := own.waiters > 0
	f.mu.Unlock()
	if waited {
		own.data = bytes.Clone(data) // the reader owns data
	}
	close(own.done)
}

// wait waits for the end of a flight.
func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
