// SPDX-License-Identifier: Apache-2.0

package cached_test

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/cached"
)

// TestWaiterBytes uses free buffers again while a flight ends. A waiter must get the
// bytes of the flight nevertheless.
func TestWaiterBytes(t *testing.T) {
	// With one processor, the buffer that was freed last is the one that is taken next.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed := range 8 {
		f := newFar()
		s := cached.New(f, cached.InMemory(8<<20), nil)
		value := pattern(300<<10, seed)
		f.write(t, "c/0", value)
		arrived, leave := make(chan bool, 1), make(chan bool)
		f.wait = func(op stepping.Op) {
			if op.Name == "Get" {
				arrived <- true
				<-leave
			}
		}
		var readers sync.WaitGroup
		read := func(off, n int64) {
			readers.Go(func() {
				got, _, err := s.Get(t.Context(), store.MustKey("c/0"), store.Request{Range: store.Span(off, n)}, nil)
				if err != nil || !bytes.Equal(got, value[off:off+n]) {
					t.Errorf("bytes from %d on: %d bytes that differ, error %v", off, len(got), err)
				}
			})
		}
		read(100, 1000)
		<-arrived
		read(5000, 2000)
		awaits(t, s, 1)
		release := cached.Hold(s)
		close(leave)
		for range 10 {
			time.Sleep(time.Millisecond)
			cached.Spoil()
		}
		release()
		readers.Wait()
	}
}

// TestManyWaiters reads unaligned ranges of many values by many readers, in a cache that
// holds few of them, and compares the bytes.
func TestManyWaiters(t *testing.T) {
	f := newFar()
	s := cached.New(f, cached.InMemory(256<<10), &cached.Options{Immutable: true})
	const keys, size = 40, 70_000
	for k := range keys {
		f.write(t, fmt.Sprint("c/", k), pattern(size, k))
	}
	var readers sync.WaitGroup
	for r := range 12 {
		readers.Go(func() {
			for i := range 10 * keys {
				k, off := i%keys, int64(100+r*5000)
				want := pattern(size, k)[off : off+4000]
				got, _, err := s.Get(t.Context(), store.MustKey(fmt.Sprint("c/", k)), store.Request{Range: store.Span(off, 4000)}, nil)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("c/%d from %d on: %d bytes that differ, error %v", k, off, len(got), err)
				}
			}
		})
	}
	readers.Wait()
}
