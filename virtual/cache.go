// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"sync"
)

// cache keeps the values that were used last, up to a bound of their sizes. A value is
// made once, however many callers ask for it at the same time.
type cache[K comparable, V any] struct {
	most int64 // bounds the sizes of all values; 0 is no bound
	each int64 // is counted for each value besides its size

	mu   sync.Mutex
	kept map[K]*kept[V]
	size int64 // of all
	turn int64 // counts uses
}

// kept is a value of a cache. Its gate is held while it is made.
type kept[V any] struct {
	gate       gate
	value      V
	done       bool
	used, size int64 // under the lock of the cache
	callers    int   // that have the entry; the same
}

// get returns the value of a key. Unless it is kept, read returns it with its size. An
// error is not kept.
func (c *cache[K, V]) get(ctx context.Context, key K, read func() (V, int64, error)) (none V, err error) {
	x := c.entry(key)
	defer c.leave(key, x)
	if err := x.gate.lock(ctx); err != nil {
		return none, err
	}
	defer x.gate.unlock()
	if x.done {
		return x.value, nil
	}
	value, size, err := read()
	if err != nil {
		return none, err
	}
	x.value, x.done = value, true
	c.account(key, x, size)
	return value, nil
}

// entry returns the entry of a key.
func (c *cache[K, V]) entry(key K) *kept[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[K]*kept[V]{}
	}
	c.turn++
	x := c.kept[key]
	if x == nil {
		x = &kept[V]{gate: newGate(), size: c.each}
		c.kept[key] = x
		c.size += x.size
		c.shrink(x)
	}
	x.used = c.turn
	x.callers++
	return x
}

// leave ends the use of an entry by one caller. An entry whose value nobody could make
// goes with the last one.
func (c *cache[K, V]) leave(key K, x *kept[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.callers--; x.callers == 0 && !x.done && c.kept[key] == x {
		c.size -= x.size
		delete(c.kept, key)
	}
}

// account adds the size of a value that was made, unless it was dropped meanwhile.
func (c *cache[K, V]) account(key K, x *kept[V], n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[key] != x {
		return
	}
	x.size += n
	c.size += n
	c.shrink(x)
}

// shrink drops the entries that were not used for longest, but not x.
func (c *cache[K, V]) shrink(x *kept[V]) {
	for c.most > 0 && c.size > c.most && len(c.kept) > 1 {
		var oldest K
		least := c.turn + 1
		for key, y := range c.kept {
			if y != x && y.used < least {
				oldest, least = key, y.used
			}
		}
		c.size -= c.kept[oldest].size
		delete(c.kept, oldest)
	}
}

// gate is a lock whose callers give up when their context ends. Whoever holds it may wait
// for a store.
type gate chan struct{}

// lock waits for the gate. It returns the error of the context without it.
func (g gate) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) unlock() { <-g }

func newGate() gate { return make(gate, 1) }
