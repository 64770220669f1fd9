// SPDX-License-Identifier: Apache-2.0

package joint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// far is a store whose requests take a millisecond, and are counted.
type far struct {
	memtest.Store
	requests, bytes atomic.Int64
	fails           error
}

func (*far) Traits() store.Traits { return store.Traits{Requests: 32} }

func (*far) CheckKey(store.Key) error { return nil }

func (f *far) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	f.requests.Add(1)
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
		return nil, store.Info{}, ctx.Err()
	}
	if f.fails != nil {
		return nil, store.Info{}, f.fails
	}
	out, info, err := f.Store.Get(ctx, key, q, dst)
	f.bytes.Add(int64(len(out) - len(dst)))
	return out, info, err
}

func newFar(t *testing.T, size int) (*far, []byte) {
	t.Helper()
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	f := &far{Store: memtest.New()}
	if _, err := f.Write(t.Context(), store.Put(fileAt, data), store.Flush); err != nil {
		t.Fatal(err)
	}
	return f, data
}

var fileAt = store.MustKey("f")

// TestJoint makes reads of one file at the same time. Those that lie close to each other
// share requests, and each gets its own bytes.
func TestJoint(t *testing.T) {
	f, data := newFar(t, 20<<20)
	var j Reads
	for round := range 20 {
		f.requests.Store(0)
		var all sync.WaitGroup
		for i := range 64 {
			off, n := int64(i)*10_000, int64(10_000)
			if round%2 == 1 {
				off, n = rand.Int64N(19<<20), rand.Int64N(100_000)
			}
			all.Go(func() {
				dst := append(make([]byte, 0, 200_000), "before"...)
				got, info, err := j.Get(t.Context(), File{"f", f, fileAt}, off, n, dst)
				if err != nil || !bytes.Equal(got[6:], data[off:off+n]) || string(got[:6]) != "before" || info.Size != int64(len(data)) {
					t.Errorf("%d bytes at %d: %v", n, off, err)
				}
			})
		}
		all.Wait()
		if n := f.requests.Load(); round%2 == 0 && n > 32 || n > 64 {
			t.Errorf("round %d: %d requests for 64 reads", round, n)
		}
	}
}

// TestJointFails has a caller that gives up, and a store that fails.
func TestJointFails(t *testing.T) {
	f, data := newFar(t, 1<<20)
	var j Reads
	for range 50 {
		var all sync.WaitGroup
		for i := range 8 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			gone, early := i%2 == 0, time.Duration(rand.IntN(1500))*time.Microsecond
			switch i % 4 {
			case 0:
				time.AfterFunc(early, cancel)
			case 2:
				ctx, cancel = context.WithTimeout(ctx, early)
				defer cancel()
			}
			off := int64(i) * 1000
			all.Go(func() {
				got, _, err := j.Get(ctx, File{"f", f, fileAt}, off, 1000, nil)
				if err == nil && !bytes.Equal(got, data[off:off+1000]) || err != nil && (!gone || ctx.Err() == nil) {
					t.Errorf("read %d: %v", i, err)
				}
			})
		}
		all.Wait()
	}
	var beyond sync.WaitGroup
	for i := range 8 { // the last one reads what the file does not have
		off := int64(len(data)) - int64(8-i)*1000 + 1000
		beyond.Go(func() {
			got, _, err := j.Get(t.Context(), File{"f", f, fileAt}, off, 1000, nil)
			if off+1000 > int64(len(data)) {
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("beyond the end: %v", err)
				}
			} else if err != nil || !bytes.Equal(got, data[off:off+1000]) {
				t.Errorf("beside a read beyond the end: %v", err)
			}
		})
	}
	beyond.Wait()
	f.fails = errors.New("broken")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, _, err := j.Get(t.Context(), File{"f", f, fileAt}, int64(i), 10, nil); !errors.Is(err, f.fails) {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// slow is a store that is neither near nor limits its requests.
type slow struct {
	from          memtest.Store
	flying, crowd atomic.Int64
}

func (s *slow) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	n := s.flying.Add(1)
	defer s.flying.Add(-1)
	for most := s.crowd.Load(); n > most && !s.crowd.CompareAndSwap(most, n); most = s.crowd.Load() {
	}
	time.Sleep(time.Millisecond)
	return s.from.Get(ctx, key, q, dst)
}

// TestAlone reads from a store that does not limit its requests: it gets only so many at
// once. A caller that gives up does not wait for others.
func TestAlone(t *testing.T) {
	f, data := newFar(t, 1<<20)
	s := &slow{from: f.Store}
	var j Reads
	var all sync.WaitGroup
	for i := range 4 * mostAlone {
		off := int64(i) * 1000
		all.Go(func() {
			if got, _, err := j.Get(t.Context(), File{"f", s, fileAt}, off, 1000, nil); err != nil || !bytes.Equal(got, data[off:off+1000]) {
				t.Errorf("%d: %v", off, err)
			}
		})
	}
	all.Wait()
	if n := s.crowd.Load(); n > mostAlone {
		t.Errorf("%d requests at once", n)
	}
	for range mostAlone {
		j.slots() <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := j.Get(ctx, File{"f", s, fileAt}, 0, 1, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
