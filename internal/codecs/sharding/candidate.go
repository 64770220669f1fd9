// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"bytes"
	"iter"
	"slices"
)

// gap is a range of bytes of a shard.
type gap struct{ off, n int64 }

// none is the range of an inner chunk that is not stored.
var none = gap{-1, -1}

// mostFree bounds the free ranges that are given to inner chunks in any order. More are
// given in the orders of usual writers only.
const mostFree = 4

// candidates yields what a damaged index may have been. bad are the inner chunks that are
// not sound. A caller that goes on has no use for more than a few.
func (m *mender) candidates(bad []uint32) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if flipped := m.flipped(); flipped != nil && !yield(flipped) {
			return
		}
		free := m.free(bad)
		if len(free) == 0 && len(bad) == 0 {
			return
		}
		if !m.assign(bad, free, yield) {
			return
		}
		// An entry may have become that of an inner chunk which is not stored.
		if open := m.open(bad); len(open) > len(bad) {
			m.assign(open, free, yield)
		}
	}
}

// flipped returns the index with the one bit flipped back that changed it, or nil if more
// was changed.
func (m *mender) flipped() []byte {
	at, mask := flippedBit(len(m.raw)-sumBytes, m.syndrome())
	if mask == 0 {
		return nil
	}
	candidate := bytes.Clone(m.raw)
	candidate[at] ^= mask
	return candidate
}

// flippedBit returns the bit of n bytes whose flip changes their checksum by the
// syndrome. The mask is 0 if there is none. The effect of a flip depends only on how many
// bytes follow.
func flippedBit(n int, syndrome uint32) (at int, mask byte) {
	var effect [8]uint32
	for b := range effect {
		effect[b] = castagnoli[1<<b]
	}
	for at := n - 1; at >= 0; at-- {
		for b, e := range effect {
			if e == syndrome {
				return at, 1 << b
			}
			effect[b] = castagnoli[byte(e)] ^ e>>8
		}
	}
	return 0, 0
}

// open returns the bad inner chunks and those that are not stored, in ascending order.
func (m *mender) open(bad []uint32) []uint32 {
	open := slices.Clone(bad)
	for k := range m.n {
		if m.now.isAbsent(k) {
			open = append(open, uint32(k))
		}
	}
	slices.Sort(open)
	return open
}

// free returns the ranges that belong to no sound inner chunk. If inner chunks have a
// fixed length, longer ranges are divided.
func (m *mender) free(bad []uint32) (free []gap) {
	first, last := m.now.room()
	next := int64(first)
	add := func(stop int64) {
		n := stop - next
		if m.fixed > 0 && n%m.fixed == 0 {
			n = m.fixed
		}
		for ; next < stop && int64(len(free)) <= m.n; next += n {
			free = append(free, gap{next, n})
		}
	}
	for _, k := range m.now.stored() {
		if _, is := slices.BinarySearch(bad, k); is {
			continue
		}
		w := m.now.want(k)
		add(w.off)
		next = w.off + w.n
	}
	add(int64(last))
	return free
}

// assign yields indexes that give free ranges to inner chunks. The others of them are not
// stored. It returns false if yield did.
func (m *mender) assign(open []uint32, free []gap, yield func([]byte) bool) bool {
	x := &index{entries: slices.Clone(m.now.entries), info: m.now.info, bytes: m.now.bytes, most: m.now.most, varies: m.now.varies, atStart: m.now.atStart}
	for _, k := range open {
		x.set(k, none)
	}
	// Usual writers store inner chunks in one of these orders. The checksum decides.
	if len(free) == len(open) {
		for _, order := range m.orders(open) {
			for i, k := range order {
				x.set(k, free[i])
			}
			if !m.try(x, yield) {
				return false
			}
		}
		for _, k := range open {
			x.set(k, none)
		}
	}
	return len(free) > mostFree || m.distribute(x, open, free, yield)
}

// distribute yields every way to give the free ranges to inner chunks.
func (m *mender) distribute(x *index, open []uint32, free []gap, yield func([]byte) bool) bool {
	if len(free) == 0 {
		return m.try(x, yield)
	}
	for _, k := range open {
		if !x.isAbsent(int64(k)) {
			continue // it has an earlier range
		}
		x.set(k, free[0])
		if !m.distribute(x, open, free[1:], yield) {
			return false
		}
		x.set(k, none)
	}
	return m.distribute(x, open, free[1:], yield) // dead bytes
}

// try yields an index.
func (m *mender) try(x *index, yield func([]byte) bool) bool {
	candidate, err := m.encodeIndex(nil, m.layout, x)
	return err == nil && yield(candidate)
}

// orders returns the inner chunks in C order, Fortran order and Morton order.
func (m *mender) orders(open []uint32) [][]uint32 {
	orders := [][]uint32{open}
	if len(m.chunks) < 2 {
		return orders
	}
	for _, fill := range []func(*orderer){func(o *orderer) { o.fortran(len(m.chunks)-1, 0) }, (*orderer).morton} {
		o := orderer{l: m.layout, order: make([]uint32, 0, m.n)}
		fill(&o)
		orders = append(orders, slices.DeleteFunc(o.order, func(k uint32) bool {
			_, is := slices.BinarySearch(open, k)
			return !is
		}))
	}
	return orders
}
