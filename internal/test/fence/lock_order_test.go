// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// TestIncomparableStore writes to a store whose type is comparable but whose value is
// not: a wrapper of one with functions.
func TestIncomparableStore(t *testing.T) {
	s := struct{ stepping.ObjectStore }{stepping.Conditional(memtest.New(), stepping.Hooks{})}
	a, err := zarr.At(s, "").CreateArray(t.Context(), fixture.Every(6, 4), nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, selection.Box{{3, 6}}, fixture.Numbers(1, 3))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWriteWaitsForAppend starts a write while an append to the same array is about to
// publish. The write waits for the append, although it would have time to finish first.
func TestWriteWaitsForAppend(t *testing.T) {
	var (
		a         *zarr.Array
		mutex     sync.Mutex
		order     []string
		writing   sync.WaitGroup
		once      sync.Once
		appending bool
	)
	s := stepping.Conditional(memtest.New(), stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if !appending || op.Name == "Get" || op.Name == "Stat" {
			return nil
		}
		if op.Key.Base() == "zarr.json" {
			once.Do(func() {
				done := make(chan bool)
				writing.Go(func() {
					defer close(done)
					if err := zarr.Write(t.Context(), a, selection.Box{{0, 4}}, fixture.Numbers(11, 4)); err != nil {
						t.Error(err)
					}
				})
				select {
				case <-done:
				case <-time.After(50 * time.Millisecond):
				}
			})
		}
		mutex.Lock()
		defer mutex.Unlock()
		order = append(order, op.Key.String())
		return nil
	}})
	made, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.Every(4, 4), nil)
	if err != nil {
		t.Fatal(err)
	}
	a = made
	appending = true
	if err := zarr.Append(t.Context(), a, 0, fixture.Numbers(5, 4), nil); err != nil {
		t.Fatal(err)
	}
	writing.Wait()
	if want := []string{"a/c/1", "a/zarr.json", "a/c/0"}; !slices.Equal(order, want) {
		t.Errorf("written in the order %q, want %q", order, want)
	}
}

// lockedStore is a store that knows whether its lock is held.
type lockedStore struct {
	stepping.ObjectStore
	below memtest.Store
	held  atomic.Bool
}

func (l *lockedStore) Lock(ctx context.Context, dir store.Path) (func() error, error) {
	unlock, err := l.below.Lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	l.held.Store(true)
	return func() error {
		l.held.Store(false)
		return unlock()
	}, nil
}

func (l *lockedStore) LockHolder(dir store.Path) store.Holder { return l.below.LockHolder(dir) }

// TestLockIsShared checks that two writes share the lock of the store: one begins and
// ends during the other, and the lock is held until the other one ends.
func TestLockIsShared(t *testing.T) {
	var a *zarr.Array
	l, writes := &lockedStore{below: memtest.New()}, 0
	write := func(row int64) error {
		return zarr.Write(t.Context(), a, selection.Box{{row, row + 2}, {2, 3}}, fixture.Numbers(1, 2))
	}
	l.ObjectStore = stepping.Conditional(l.below, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if a == nil || !strings.HasPrefix(op.Name, "Put") {
			return nil
		}
		if writes++; writes == 1 {
			if err := write(2); err != nil {
				t.Error(err)
			}
		}
		if !l.held.Load() {
			t.Errorf("%s without the lock", op)
		}
		return nil
	}})
	spec := zarr.Spec{Shape: []int64{4, 3}, Type: dtype.Int32, Chunks: grid.Chunks(2, 2)}
	made, err := zarr.At(l, "a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	a = made
	if err := write(0); err != nil || writes != 2 {
		t.Errorf("%d chunks were written, want 2 (%v)", writes, err)
	}
	if l.held.Load() {
		t.Error("the lock is still held after all writes")
	}
}

// TestTurnsEnd waits for a write of this process that hangs, with a write of the same
// chunk and with an append. Each ends with its context, and after the waiting time of
// its options.
func TestTurnsEnd(t *testing.T) {
	hangs, release := make(chan bool), make(chan bool)
	var hanging atomic.Bool
	s := stepping.Conditional(memtest.New(), stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if strings.HasPrefix(op.Name, "Put") && hanging.CompareAndSwap(true, false) {
			close(hangs)
			<-release
		}
		return nil
	}})
	first, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.Every(4, 4), nil)
	if err != nil {
		t.Fatal(err)
	}
	hanging.Store(true)
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := zarr.Write(t.Context(), first, nil, fixture.Numbers(1, 4)); err != nil {
			t.Error(err)
		}
	})
	<-hangs
	for name, call := range map[string]func(context.Context, *zarr.Array) error{
		"chunk": func(ctx context.Context, a *zarr.Array) error { return zarr.Write(ctx, a, nil, fixture.Numbers(5, 4)) },
		"part": func(ctx context.Context, a *zarr.Array) error {
			return zarr.Write(ctx, a, selection.Box{{0, 2}}, fixture.Numbers(5, 2))
		},
		"append": func(ctx context.Context, a *zarr.Array) error {
			return zarr.Append(ctx, a, 0, fixture.Numbers(5, 4), nil)
		},
	} {
		a, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Locking: store.Locking{Timeout: time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		if err := call(t.Context(), a); !errors.Is(err, zarr.ErrLocked) || !strings.Contains(err.Error(), "another call of this program") {
			t.Errorf("%s: error is %v, want %v", name, err, zarr.ErrLocked)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if err := call(ctx, first); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error is %v, want %v", name, err, context.DeadlineExceeded)
		}
		cancel()
	}
	close(release)
	writing.Wait()
	got, err := zarr.Read[int32](t.Context(), first, nil)
	if err != nil || !slices.Equal(got.Data, fixture.Numbers(1, 4)) {
		t.Errorf("%v, %v", got.Data, err)
	}
}
