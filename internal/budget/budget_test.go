// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<40).Draw(t, "n")
		class, size := classOf(n)
		if size < n {
			t.Fatalf("class %d holds %d bytes, %d were asked for", class, size, n)
		}
		if n > 1<<minShift && size > n+n/4+1 {
			t.Fatalf("%d bytes for %d", size, n)
		}
		if again, same := classOf(size); again != class || same != size {
			t.Fatalf("a buffer of class %d (%d bytes) is put to class %d (%d bytes)", class, size, again, same)
		}
	})
}

func TestBufferIsUsedAgain(t *testing.T) {
	for _, n := range []int64{0, 1, 512, 513, 4 << 20, 4<<20 + 1} {
		b := Get(n)
		if len(b.B) != 0 || int64(cap(b.B)) < n {
			t.Fatalf("Get(%d): len %d, cap %d", n, len(b.B), cap(b.B))
		}
		b.B = append(b.B, 1)
		b.Put()
	}
	(*Buffer)(nil).Put()
}

func TestGrownBufferIsDropped(t *testing.T) {
	b := Get(100)
	b.B = make([]byte, 0, 1000)
	b.Put()
	if c := Get(100); cap(c.B) != 512 {
		t.Fatalf("the pool of 512 bytes gave %d", cap(c.B))
	}
}

func TestBudget(t *testing.T) {
	b := New(100)
	ctx := context.Background()
	all, err := b.Acquire(ctx, 1000)
	if err != nil || all != 100 {
		t.Fatalf("a request beyond the budget took %d (%v), want all 100", all, err)
	}
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if _, err := b.Acquire(short, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("an empty budget gave %v", err)
	}
	b.Release(all)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 100 {
				n, err := b.Acquire(ctx, 60)
				if err != nil {
					t.Error(err)
				}
				b.Release(n)
			}
		})
	}
	wg.Wait()
	if n, err := b.Acquire(ctx, 100); err != nil || n != 100 {
		t.Fatalf("after all was released %d (%v)", n, err)
	}
}

// TestMost bounds default budgets by the memory of the machine, and by Go's limit.
func TestMost(t *testing.T) {
	if n := Machine(); n < 64<<20 || installed() < n {
		t.Errorf("a machine of %d bytes, of which %d are installed", n, installed())
	}
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for limit, want := range map[int64]int64{
		1 << 20: 512 << 10, 128 << 20: 64 << 20, 512 << 20: 256 << 20, 1 << 30: 256 << 20, 2 << 30: 256 << 20,
	} {
		debug.SetMemoryLimit(limit)
		if got := Most(); got != want && limit <= installed() {
			t.Errorf("with %d MiB: %d bytes, want %d", limit>>20, got, want)
		}
	}
}
