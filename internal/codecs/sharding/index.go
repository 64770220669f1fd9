// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// absent is the offset and the length of an inner chunk that is not stored.
const absent = math.MaxUint64

// index is the decoded shard index of one version of a shard.
type index struct {
	entries []uint64   // offset and length of every inner chunk, in C order
	info    store.Info // of the shard
	bytes   int64      // of the encoded index
	most    int64      // bytes of an encoded inner chunk, at most
	varies  bool       // elements differ in length, so most depends on the limit of a chunk
	atStart bool
}

// newIndex returns an index without inner chunks.
func newIndex(l *layout) *index {
	x := &index{entries: make([]uint64, 2*l.n), bytes: l.index, most: l.most, varies: l.varies}
	for i := range x.entries {
		x.entries[i] = absent
	}
	return x
}

// decodeIndex decodes the index of a shard from src.
func (c *coder) decodeIndex(l *layout, src []byte, info store.Info) (*index, error) {
	x := &index{entries: make([]uint64, 2*l.n), info: info, bytes: l.index, most: l.most, varies: l.varies, atStart: c.atStart}
	v := strided.View{Data: bytesOf(x.entries), Shape: l.entry, Size: 8}
	if err := c.index.Decode(&v, src); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	// The codecs of the index may have reordered its axes.
	if want := strided.AppendStrides(nil, l.entry, 8); !c.index.InOrder() {
		ordered := make([]uint64, 2*l.n)
		strided.Copy(strided.View{Data: bytesOf(ordered), Shape: l.entry, Strides: want, Size: 8}, v)
		x.entries = ordered
	}
	return x, nil
}

// encodeIndex appends the encoded index to dst.
func (c *coder) encodeIndex(dst []byte, l *layout, x *index) ([]byte, error) {
	out, err := c.index.Encode(dst, strided.Contiguous(bytesOf(x.entries), l.entry, 8))
	if err == nil && int64(len(out)-len(dst)) != l.index {
		err = fmt.Errorf("%s, want %d", quantity.Count(len(out)-len(dst), "bytes"), l.index)
	}
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return out, nil
}

// bytesOf returns the memory of numbers.
func bytesOf(n []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(n))), 8*len(n))
}

// indexOf decodes the index of a shard that is in memory.
func (c *coder) indexOf(l *layout, shard []byte) (*index, error) {
	raw, err := c.cutIndex(l, shard)
	if err != nil {
		return nil, err
	}
	return c.decodeIndex(l, raw, store.Info{Size: int64(len(shard))})
}

// cutIndex returns the encoded index of a shard.
func (c *coder) cutIndex(l *layout, shard []byte) ([]byte, error) {
	if int64(len(shard)) < l.index {
		return nil, l.tooShort(int64(len(shard)))
	}
	if c.atStart {
		return shard[:l.index], nil
	}
	return shard[int64(len(shard))-l.index:], nil
}

func (l *layout) tooShort(n int64) error {
	return fmt.Errorf("%w: the shard has %s, but the index of its %s alone has %d", codec.ErrCorrupt, quantity.Count(n, "bytes"), quantity.Count(l.n, "inner chunks"), l.index)
}

// span returns the range of inner chunk k, and whether it is stored. It returns
// [codec.ErrCorrupt] if the range leaves the shard, overlaps the index, or is longer
// than an inner chunk can be, and [codec.ErrLimit] if the limit of a chunk says how
// long it can be.
func (x *index) span(k int64) (off, n int64, stored bool, err error) {
	o, m := x.entries[2*k], x.entries[2*k+1]
	if o == absent && m == absent {
		return 0, 0, false, nil
	}
	if first, last := x.room(); !x.fits(o, m) {
		return 0, 0, false, &entryError{o, m, first, last, uint64(x.most), x.varies}
	}
	return int64(o), int64(m), true, nil
}

// fits reports whether an inner chunk may have the n bytes from off on.
func (x *index) fits(off, n uint64) bool {
	first, last := x.room()
	return off >= first && off <= last && n <= last-off && n <= uint64(x.most)
}

// isStored reports whether inner chunk k is stored, and its entry fits.
func (x *index) isStored(k int64) bool {
	off, n := x.entries[2*k], x.entries[2*k+1]
	return (off != absent || n != absent) && x.fits(off, n)
}

// isAbsent reports whether the index says that inner chunk k is not stored.
func (x *index) isAbsent(k int64) bool {
	return x.entries[2*k] == absent && x.entries[2*k+1] == absent
}

// set sets the range of inner chunk k.
func (x *index) set(k uint32, to gap) {
	x.entries[2*k], x.entries[2*k+1] = uint64(to.off), uint64(to.n)
}

// entryError is the error of an entry of an index. It builds its text on
// demand, because a damaged index may have millions of them.
type entryError struct {
	off, n      uint64 // from the entry
	first, last uint64 // range of all inner chunks
	most        uint64 // bytes of one
	varies      bool   // elements differ in length, so most depends on the limit
}

func (e *entryError) Error() string {
	text := fmt.Sprintf("%v: the index says %s from offset %d on, ", e.Unwrap(), quantity.Count(e.n, "bytes"), e.off)
	if e.leaves() {
		return text + fmt.Sprintf("but inner chunks have the bytes from %d to %d", e.first, e.last)
	}
	if text += fmt.Sprintf("but an inner chunk has at most %d", e.most); e.varies {
		text += " (" + remedy.LimitsChunk + ")"
	}
	return text
}

// leaves reports whether the entry leaves the range of all inner chunks.
func (e *entryError) leaves() bool {
	return e.off < e.first || e.off > e.last || e.n > e.last-e.off
}

// Unwrap returns [codec.ErrCorrupt], or [codec.ErrLimit] if the inner chunk may be sound
// and only longer than a chunk may be.
func (e *entryError) Unwrap() error {
	// With elements of variable length, only the limit of a chunk bounds an inner chunk.
	if e.varies && !e.leaves() {
		return codec.ErrLimit
	}
	return codec.ErrCorrupt
}

// room returns where the range of all inner chunks begins and ends.
func (x *index) room() (first, last uint64) {
	first, last = 0, uint64(x.info.Size)
	if x.atStart {
		first = uint64(x.bytes)
	} else {
		last -= uint64(x.bytes)
	}
	return first, last
}

// InnerError is the error of an operation on one inner chunk of a shard.
type InnerError struct {
	Index []int64 // in the shard, in the order of axes that earlier codecs make
	Err   error
}

// Error returns the index of the inner chunk and the message of Err.
func (e *InnerError) Error() string { return fmt.Sprintf("inner chunk %v: %v", e.Index, e.Err) }

// Unwrap returns Err.
func (e *InnerError) Unwrap() error { return e.Err }

// fail adds the inner chunk to err. It leaves conflicts alone, which the caller retries.
func (l *layout) fail(k int64, err error) error {
	if err == nil || errors.Is(err, store.ErrConflict) {
		return err
	}
	return &InnerError{l.place(nil, k), err}
}

// checkSound returns an error if the index of the stored shard is wrong: if an entry
// leaves the shard, has a length that no inner chunk has, or overlaps another one.
// Compacting such a shard would preserve the fault, and drop bytes that may be the only
// intact copy.
func (d *editor) checkSound() error {
	stop, ascending := int64(0), true
	for k := range d.n {
		off, n, stored, err := d.old.span(k)
		if err == nil && stored {
			err = d.checkLength(k, n)
		}
		if err != nil {
			return d.fail(k, err)
		}
		if stored {
			ascending = ascending && off >= stop
			stop = max(stop, off+n)
		}
	}
	// Fast path: inner chunks in C order do not overlap if none begins before the end of
	// another.
	if ascending {
		return nil
	}
	return d.checkDisjoint(d.old.stored())
}

// checkDisjoint returns an error if inner chunks, in the order of their bytes, overlap.
func (d *editor) checkDisjoint(stored []uint32) error {
	stop, last := int64(0), int64(0)
	for _, k := range stored {
		w := d.old.want(k)
		if w.off < stop {
			return d.fail(w.k, corrupt("it shares bytes with inner chunk %v", d.place(nil, last)))
		}
		stop, last = w.off+w.n, w.k
	}
	return nil
}

// checkLength returns an error if the codecs never encode inner chunk k to n bytes. No
// codec encodes elements to 0 bytes.
func (d *editor) checkLength(k, n int64) error {
	if n == d.fixed {
		return nil
	}
	if d.fixed >= 0 {
		cell, _ := d.grid.Chunk(d.place(nil, k)) // it may be shorter than the longest
		size, _ := checked.Product(append([]int64{d.coder.size}, cell.Encoded...)...)
		want, _ := d.chain.Fixed(cell.Encoded, size)
		if n == want {
			return nil
		}
		return corrupt("the index says %s, but an inner chunk of shape %v has %d", quantity.Count(n, "bytes"), cell.Encoded, want)
	}
	if n == 0 {
		return corrupt("the index says 0 bytes, which no inner chunk has")
	}
	return nil
}

// stored returns the numbers of the stored inner chunks in the order of their bytes,
// except those whose entries do not fit.
func (x *index) stored() []uint32 {
	n := 0
	for k := range int64(len(x.entries) / 2) {
		if x.isStored(k) {
			n++
		}
	}
	list := make([]uint32, 0, n) // only numbers, because a shard may have millions
	for k := range int64(len(x.entries) / 2) {
		if x.isStored(k) {
			list = append(list, uint32(k))
		}
	}
	slices.SortFunc(list, func(a, b uint32) int { return cmp.Or(x.want(a).compare(x.want(b)), cmp.Compare(a, b)) })
	return list
}

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
