// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"container/list"
	"sync"

	"varve.dev/zarr/store"
)

// defaultCache is the default limit of cached indexes in bytes.
const defaultCache = 16 << 20

// cache is an LRU cache of indexes. It is safe for concurrent use.
type cache struct {
	most int64 // bytes

	mu    sync.Mutex
	used  int64
	byKey map[store.Key]*list.Element
	turns list.List // of *cached, the most recently used first
}

type cached struct {
	key store.Key
	*index
}

func newCache(most int64) *cache {
	if most == 0 {
		most = defaultCache
	}
	return &cache{most: most, byKey: map[store.Key]*list.Element{}}
}

// get returns the cached index of a shard, nil if there is none. It may be stale.
func (c *cache) get(key store.Key) *index {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil
	}
	c.turns.MoveToFront(e)
	return e.Value.(*cached).index
}

// put caches the index of a shard. It caches none without a version, because then no read
// could detect that the index is stale.
func (c *cache) put(key store.Key, x *index) {
	if x.info.Version.IsZero() || x.weight() > c.most {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The cache may have an older index of the shard.
	c.remove(key)
	c.byKey[key] = c.turns.PushFront(&cached{key, x})
	c.used += x.weight()
	for c.used > c.most {
		c.remove(c.turns.Back().Value.(*cached).key)
	}
}

// drop removes the index of a shard.
func (c *cache) drop(key store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
}

func (c *cache) remove(key store.Key) {
	if e, ok := c.byKey[key]; ok {
		c.used -= e.Value.(*cached).weight()
		c.turns.Remove(e)
		delete(c.byKey, key)
	}
}

// weight estimates the bytes of an index in the cache.
func (x *index) weight() int64 { return int64(8*len(x.entries)) + 256 }
