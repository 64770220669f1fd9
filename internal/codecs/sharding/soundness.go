// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// sound returns an error if the index of the stored shard is wrong: if an entry leaves
// the shard, has a length that no inner chunk has, or overlaps another one. Compacting
// such a shard would preserve the fault, and drop bytes that may be the only intact copy.
func (d *editor) sound() error {
	stop, ascending := int64(0), true
	for k := range d.n {
		off, n, stored, err := d.old.span(k)
		if err == nil && stored {
			err = d.hasLength(k, n)
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
	return d.apart(d.old.stored())
}

// apart returns an error if inner chunks, in the order of their bytes, overlap.
func (d *editor) apart(stored []uint32) error {
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

// hasLength returns an error if the codecs never encode inner chunk k to n bytes. No
// codec encodes elements to 0 bytes.
func (d *editor) hasLength(k, n int64) error {
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
		return corrupt("the index says %d bytes, but an inner chunk of shape %v has %d", n, cell.Encoded, want)
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
		if x.has(k) {
			n++
		}
	}
	list := make([]uint32, 0, n) // only numbers, because a shard may have millions
	for k := range int64(len(x.entries) / 2) {
		if x.has(k) {
			list = append(list, uint32(k))
		}
	}
	slices.SortFunc(list, func(a, b uint32) int { return cmp.Or(x.want(a).compare(x.want(b)), cmp.Compare(a, b)) })
	return list
}
