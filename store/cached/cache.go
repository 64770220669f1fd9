// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Cache keeps bytes of values up to a limit. Several stores may share one. Its methods
// are safe for concurrent use. Make one with [InMemory] or [Open].
type Cache struct {
	// Warn, unless nil, is called once if the cache cannot be written to. It must not
	// change once the cache is used.
	Warn func(error)

	shelf  shelf
	warned sync.Once

	hits, misses        atomic.Int64
	hitBytes, missBytes atomic.Int64
}

// shelf keeps entries. Each has an identity, which does not contain the version: a new
// version replaces the old one.
type shelf interface {
	// find finds an entry, for r.
	find(id ident, r *reader) bool
	// put keeps an entry, or not: a cache may forget. It does not keep data.
	put(h header, data []byte) error
	// drop removes an entry that r has found to be damaged.
	drop(r *reader)
	close() error
}

// InMemory returns a cache of at most limit bytes in memory.
func InMemory(limit int64) *Cache { return &Cache{shelf: newMemory(limit)} }

// Stats are counts since a cache was opened.
type Stats struct {
	Hits     int64 `json:"hits"`      // reads of blocks that the cache had
	Misses   int64 `json:"misses"`    // requests for bytes that it did not have
	HitBytes int64 `json:"hit_bytes"` // bytes from the cache
	// MissBytes are the bytes of those requests. They can be more than were asked for.
	MissBytes int64 `json:"miss_bytes"`
}

// Stats returns the counts so far.
func (c *Cache) Stats() Stats {
	return Stats{c.hits.Load(), c.misses.Load(), c.hitBytes.Load(), c.missBytes.Load()}
}

// Close ends the use of the cache. A folder keeps its values.
func (c *Cache) Close() error { return c.shelf.close() }

// private reports whether no other process can see the cache.
func (c *Cache) private() bool {
	_, ok := c.shelf.(*memory)
	return ok
}

// put keeps bytes of a value.
func (c *Cache) put(h header, data []byte) {
	if err := c.shelf.put(h, data); err != nil {
		c.warn(err)
	}
}

// warn reports the first failure.
func (c *Cache) warn(err error) {
	c.warned.Do(func() {
		if c.Warn != nil {
			c.Warn(fmt.Errorf("cache: values are read from the store but not kept: %w", err))
		}
	})
}

// missed counts a request for n bytes.
func (c *Cache) missed(n int64) {
	c.misses.Add(1)
	c.missBytes.Add(n)
}

// take appends the bytes [from, to) of a value that the entry of r has. It reports false
// if the entry is damaged.
func (c *Cache) take(r *reader, from, to int64, dst []byte) ([]byte, bool) {
	out, err := r.appendTo(dst, from, to)
	if err != nil {
		if errors.Is(err, errDamaged) {
			c.shelf.drop(r)
		}
		return dst, false
	}
	c.hits.Add(1)
	c.hitBytes.Add(to - from)
	return out, true
}

// errDamaged means that an entry is not what was written.
var errDamaged = errors.New("cache: a damaged entry")
